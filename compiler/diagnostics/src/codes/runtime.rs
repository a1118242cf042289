//! E05xx: run time and executables.

super::codes! {
    DAMAGED_EXECUTABLE = "E0501", "damaged executable", "\
An executable was refused at load, because its contents are inconsistent.

Everything in a file is checked before any of it runs. The message names the section and the rule that it breaks. The
file was truncated, changed after it was written, or made by another version: compile the module again.",
    wrong r#"$ head -c 4000 model.so > cut.so && hammock inspect cut.so"#,
    right r#"$ hammock inspect model.so"#;

    RUN_FAILED = "E0502", "run failed", "\
The model stopped with an error while it ran: for example, sizes that have to agree do not, a check in the model failed,
or memory ran out.

The message names the function and, if known, the line of the model's text.",
    wrong r#"$ hammock run model.py --arg 'ones(3):float32' --max-memory 16"#,
    right r#"$ hammock run model.py --arg 'ones(3):float32'"#;
}
