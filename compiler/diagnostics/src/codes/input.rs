//! E04xx: input files and arguments.

super::codes! {
    NOT_UTF8 = "E0401", "file is not UTF-8", "\
A text module was expected, but the file holds bytes that are not UTF-8 text.

Compiled executables, ONNX models and weights are binary files, recognised by their first bytes. This file is none of
these. If it is text, save it as UTF-8. The message names the first bad byte.",
    wrong r#"$ printf 'caf\351' | hammock check -"#,
    right r#"$ hammock check model.py"#;

    FILE_TOO_LONG = "E0402", "file is too long", "\
Text modules are limited to 4 GiB, or 256 MiB from standard input and other streams.

A file of that size must hold its weights as text. Keep the weights in a `.safetensors` file beside the module and pass
it with `--params`.",
    wrong r#"$ truncate -s 4G long.py && hammock check long.py"#,
    right r#"$ hammock check model.py"#;

    UNREADABLE_FILE = "E0403", "file cannot be read", "\
A file named on the command line cannot be opened or read, or its contents do not match its name.

Check the path and the permissions. Weights are read from `.safetensors` and `.npz` files, arguments from `.npy` and
`.npz` files. A truncated or damaged file is rejected entirely.",
    wrong r#"$ hammock check no_such_file.py"#,
    right r#"$ hammock check model.py"#;

    UNWRITABLE_FILE = "E0404", "file cannot be written", "\
The output cannot be written. No partial file is left behind: files are written completely or not at all.

Check that the folder exists, that you may write to it, and that the disk has room.",
    wrong r#"$ hammock compile model.py -o no_such_folder/model.so"#,
    right r#"$ hammock compile model.py -o again.so"#;

    UNSUPPORTED_FILE = "E0405", "wrong kind of file", "\
This command does not take this kind of file.

Text modules (TVMScript) can be checked, printed, compiled, run and benchmarked; compiled executables can be inspected,
run and benchmarked.",
    wrong r#"$ hammock check model.so"#,
    right r#"$ hammock inspect model.so"#;

    WEIGHT_MISMATCH = "E0406", "weight does not fit", "\
A tensor in the weights file has the name of a parameter, but its dtype or shape differs from the parameter's type.

The message lists all of them, and other mismatches: tensors without a parameter, and weights without a tensor. Either
the weights belong to another version of the model, or the annotations are wrong (`hammock inspect` shows them).",
    wrong r#"$ hammock run model.py --params weights.safetensors"#,
    right r#"$ hammock run model.py --arg 'ones(3):float32'"#;

    UNSUPPORTED_OPTION = "E0407", "option not available", "\
An option has a value that does not exist or that this build does not support, it has no effect here, or it names an
output that is an input or another output of the same command.

The message says what to write instead.",
    wrong r#"$ hammock compile model.py -o model2.so --exec-mode fast"#,
    right r#"$ hammock compile model.py -o model2.so --exec-mode compiled"#;

    UNKNOWN_NAME = "E0408", "unknown name", "\
There is no function, operator, pass, builtin or code of this name.

The message names the command that lists the names that exist.",
    wrong r#"$ hammock explain E9999"#,
    right r#"$ hammock explain E0408"#;

    BAD_ARGUMENT = "E0409", "bad argument", "\
An argument given with `--arg` cannot be read, or there are too many or too few arguments.

An argument is one of: `@x.npy`, `@x.npz#name`, `@x.safetensors#name`, `@input_0.pb` (a tensor as ONNX writes it),
`shape(2,3)`, `7`, `1.5`, `true`, `\"text\"`, `null`, `(A, B)`, `[[1, 2], [3, 4]]:float32`, `2.5:float32`,
`zeros(2,3):float32`, `ones(2,3):float32`, `random(2,3):float32`. Give one `--arg` for each parameter, in order.
Parameters whose names are in the file given with `--params` need none.",
    wrong r#"$ hammock run model.py --arg 'ones(3'"#,
    right r#"$ hammock run model.py --arg 'ones(3):float32'"#;

    MODULES_DIFFER = "E0410", "modules differ", "\
`hammock opt A --same-as B` found a difference between the two modules. It ignores the names of variables and the order
of functions and attributes.

The message gives the path to the first difference, from the outside in, and what each module has there.",
    wrong r#"$ hammock opt model.py --same-as other.py"#,
    right r#"$ hammock opt model.py --same-as model.py"#;

    UNUSED_WEIGHT = "E0411", "weight without a parameter", "\
The file passed with `--params` has tensors without a parameter of the same name; they are ignored. If no tensor in the
file has a matching name, the file belongs to another model, or the model is compiled and contains its weights: that is
an error.

A tensor belongs to the parameter of the same name; dots and other punctuation count as `_`, so `fc1.weight` is the
tensor for `fc1_weight`. The message lists these tensors, the parameters without a tensor, and names that look alike.",
    wrong r#"$ hammock compile model.py --params of_another.safetensors -o out.so"#,
    right r#"$ hammock compile model.py -o out.so"#;

    BAD_ONNX = "E0412", "damaged ONNX model", "\
An ONNX file cannot be read: it is no ONNX model, it is truncated or damaged, or it is inconsistent.

Names must be defined once, and before they are used; nodes must not form cycles. The size of a tensor's data must match
its shape and dtype. External data must be in the model's folder. The declared type of an output must be that of the
graph's result. The message names the tensor or the nodes. `onnx.checker.check_model` gives more details.",
    wrong r#"$ printf '\010\011' > bad.onnx && hammock check bad.onnx"#,
    right r#"$ hammock check model.onnx"#;

    ONNX_UNSUPPORTED = "E0413", "ONNX feature not supported", "\
An ONNX model uses operators, or kinds of values, that cannot be imported.

The message lists all unsupported operators, with the nodes that use them. `hammock ops --onnx` lists the supported
ones. Models of an opset before 7, or newer than the supported ones, can be converted with `onnx.version_converter`.",
    wrong r#"$ hammock check unsupported.onnx"#,
    right r#"$ hammock check model.onnx"#;

    ONNX_NODE = "E0414", "ONNX node refused", "\
A node of an ONNX model cannot be imported: its inputs or attributes are invalid for its operator, or this form of the
operator is not supported.

The message names the node, its operator and the reason. An attribute must exist in the operator version that the model
uses: none is ignored. The line shown is the node, not a line of the file, which is binary.",
    wrong r#"$ hammock check axis.onnx"#,
    right r#"$ hammock check model.onnx"#;

    OTHER_FILE = "E0415", "file with another SHA-256", "\
The file's SHA-256 digest differs from the one given with `--sha256`: the file is damaged, incomplete, or another
version.

Get the file again. `sha256sum FILE` computes the digest. Weights in other files have digests of their own.",
    wrong r#"$ hammock check model.py --sha256 0000000000000000000000000000000000000000000000000000000000000000"#,
    right r#"$ hammock check model.py --sha256 $(sha256sum < model.py | cut -c -64)"#;
}
