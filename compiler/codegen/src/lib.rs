//! From IR to bytecode and object code.
