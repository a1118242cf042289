//! Source files, diagnostics, lexer, grammar and syntax tree of the TVMScript dialect.
