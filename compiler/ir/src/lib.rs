//! The intermediate representation: Relax, TIR, types, symbolic integers.
