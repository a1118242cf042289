This is prose, not a program.
