//! E05xx: run time and executables.

super::codes! {
    DAMAGED_EXECUTABLE = "E0501", "damaged executable", "\
An executable was refused when it was loaded, because its contents do not fit together.

Everything in a file is checked before any of it runs. The message names the section and the rule that is broken. The
file was cut short, changed after it was written, or made by another version: compile the module again.";
}
