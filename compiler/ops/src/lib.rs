//! Every operator, declared once: signature, type rule, legalization.
