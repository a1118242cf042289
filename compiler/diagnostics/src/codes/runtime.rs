//! E05xx: run time and executables.

super::codes! {
    DAMAGED_EXECUTABLE = "E0501", "damaged executable", "\
An executable was rejected at load time, because its contents are inconsistent.

A file is verified completely before any of it runs. The message names the section and the violated rule. The file was
truncated, modified, or written by another version: compile the module again.",
    wrong r#"$ head -c 4000 model.so > cut.so && hammock inspect cut.so"#,
    right r#"$ hammock inspect model.so"#;

    RUN_FAILED = "E0502", "run failed", "\
The model stopped with an error at run time: for example, sizes do not match, a check in the model failed, or memory ran
out.

The message names the function and, if known, the line of the model's text.",
    wrong r#"$ hammock run model.py --arg 'ones(3):float32' --max-memory 16"#,
    right r#"$ hammock run model.py --arg 'ones(3):float32'"#;
}
