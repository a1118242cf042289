//! E04xx: input files and arguments.

super::codes! {
    NOT_UTF8 = "E0401", "file is not UTF-8", "\
A text module was expected, but the file holds bytes that are not UTF-8 text.

Compiled executables, ONNX models and weights are binary and are recognised by their first bytes; a file that is
neither of them and not UTF-8 cannot be read. If it is text, save it as UTF-8. The message names the first bad byte.",
    wrong r#"$ printf 'caf\351' | hammock check -"#,
    right r#"$ hammock check model.py"#;

    FILE_TOO_LONG = "E0402", "file is too long", "\
Text modules are limited to 4 GiB.

Files of that size hold their weights as text. Keep weights in a `.safetensors` file beside the module and pass it
with `--params`.",
    wrong r#"$ truncate -s 4G long.py && hammock check long.py"#,
    right r#"$ hammock check model.py"#;

    UNREADABLE_FILE = "E0403", "file cannot be read", "\
A file that was named on the command line cannot be opened or read, or is not what its name says.

Check the path and the permissions. Weights are read from `.safetensors` and `.npz` files, arguments from `.npy` and
`.npz` files; one that is cut short or damaged is refused whole.",
    wrong r#"$ hammock check no_such_file.py"#,
    right r#"$ hammock check model.py"#;

    UNWRITABLE_FILE = "E0404", "file cannot be written", "\
The output cannot be written. Nothing was left half-written: results appear whole or not at all.

Check that the folder exists, that it may be written to, and that the disk has room.",
    wrong r#"$ hammock compile model.py -o no_such_folder/model.so"#,
    right r#"$ hammock compile model.py -o again.so"#;

    UNSUPPORTED_FILE = "E0405", "wrong kind of file", "\
The file is of a kind that this command does not take.

Text modules (TVMScript) can be checked, printed, compiled, run and timed; compiled executables can be inspected, run and
timed.",
    wrong r#"$ hammock check model.so"#,
    right r#"$ hammock inspect model.so"#;

    WEIGHT_MISMATCH = "E0406", "weight does not fit", "\
A tensor of the weights file has the name of a parameter, but another dtype or shape than the parameter's type says.

The message names both. Either the weights belong to another version of the model, or the annotation is wrong.",
    wrong r#"$ hammock run model.py --params weights.safetensors"#,
    right r#"$ hammock run model.py --arg 'ones(3):float32'"#;

    UNSUPPORTED_OPTION = "E0407", "option not available", "\
An option was given a value that does not exist, or that this build does not have.

The message says what can be given instead.",
    wrong r#"$ hammock compile model.py -o model2.so --exec-mode fast"#,
    right r#"$ hammock compile model.py -o model2.so --exec-mode compiled"#;

    UNKNOWN_NAME = "E0408", "unknown name", "\
A function, operator, pass, builtin or code was asked for by a name that nothing has.

The message names the command that lists what there is.",
    wrong r#"$ hammock explain E9999"#,
    right r#"$ hammock explain E0408"#;

    BAD_ARGUMENT = "E0409", "bad argument", "\
An argument given with `--arg` is not of a form that can be read, or there are too many or too few.

Forms: `@x.npy`, `@x.npz#name`, `shape(2,3)`, `7`, `1.5`, `true`, `\"text\"`, `null`, `(A, B)`,
`[[1, 2], [3, 4]]:float32`, `2.5:float32`, `zeros(2,3):float32`, `ones(2,3):float32`, `random(2,3):float32`. One `--arg` for each parameter, in order; parameters whose names are in the
file given with `--params` need none.",
    wrong r#"$ hammock run model.py --arg 'ones(3'"#,
    right r#"$ hammock run model.py --arg 'ones(3):float32'"#;

    MODULES_DIFFER = "E0410", "modules differ", "\
`hammock opt A --same-as B` found a difference between the two modules, beyond names of variables, the order of functions
and of attributes.

The message has the way to the first difference, from the outside in, and what each module has there.",
    wrong r#"$ hammock opt model.py --same-as other.py"#,
    right r#"$ hammock opt model.py --same-as model.py"#;

    UNUSED_WEIGHT = "E0411", "weight without a parameter", "\
Tensors of the file given with `--params` have names that no parameter has, and are left out. When that is true of all, the
file belongs to another model, which is an error.

A tensor belongs to the parameter of its name; dots and other marks in it stand for `_`: `fc1.weight` is the tensor of
`fc1_weight`. The message lists the tensors, the parameters that have none, and names that resemble each other.",
    wrong r#"$ hammock compile model.py --params of_another.safetensors -o out.so"#,
    right r#"$ hammock compile model.py -o out.so"#;
}
