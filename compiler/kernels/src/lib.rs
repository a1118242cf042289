//! From block TIR to scheduled and flat TIR; the reference interpreter.
