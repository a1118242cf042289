//! Objects and an executable image into one shared library.
