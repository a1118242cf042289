//! E04xx: input files and arguments.

super::codes! {
    NOT_UTF8 = "E0401", "file is not UTF-8", "\
A text module was expected, but the file holds bytes that are not UTF-8 text.

Compiled executables, ONNX models and weights are binary and are recognised by their first bytes; a file that is
neither of them and not UTF-8 cannot be read. If it is text, save it as UTF-8. The message names the first bad byte.";

    FILE_TOO_LONG = "E0402", "file is too long", "\
Text modules are limited to 4 GiB.

Files of that size hold their weights as text. Keep weights in a `.safetensors` file beside the module and pass it
with `--params`.";
}
