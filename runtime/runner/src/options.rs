//! The command line: every option is declared once, in [`OPTIONS`].

use hammock_tools::{CallFlags, JsonForm, LimitFlags, OutputFlags, parse_bytes, parse_seconds};
use lexopt::Arg;
use std::{ffi::OsString, path::PathBuf, time::Duration};

/// A request by the command line.
pub struct Request {
    /// The task.
    pub task: Task,
    /// The call.
    pub call: CallFlags,
    /// Where its result goes.
    pub output: OutputFlags,
    /// Time for which calls are repeated and timed.
    pub bench: Option<Duration>,
}

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Calls a function.
    Call,
    /// Prints the help.
    Help,
    /// Prints the signatures as JSON.
    Signatures,
    /// Prints the version.
    Version,
}

/// An option of the command line.
pub struct Opt {
    /// Its letter.
    pub letter: Option<char>,
    /// Its name, without dashes.
    pub name: &'static str,
    /// Name of its value; empty if it has none.
    pub value: &'static str,
    /// Its description.
    pub help: &'static str,
    set: Set,
}

/// How an option changes the request.
enum Set {
    /// Without a value.
    Flag(fn(&mut Request)),
    /// By the path of a file.
    File(fn(&mut Request, PathBuf)),
    /// By a text.
    Text(fn(&mut Request, String)),
    /// By a text that has to be parsed.
    Parsed(fn(&mut Request, &str) -> Result<(), String>),
}

impl Set {
    fn apply(&self, request: &mut Request, value: OsString) -> Result<(), String> {
        match self {
            Set::Flag(set) => set(request),
            Set::File(set) => set(request, value.into()),
            Set::Text(set) => set(request, text(value)?),
            Set::Parsed(set) => set(request, &text(value)?)?,
        }
        Ok(())
    }
}

/// All options.
pub const OPTIONS: &[Opt] = &[
    Opt {
        letter: None,
        name: "func",
        value: "NAME",
        help: "The function to call [default: main]",
        set: Set::Text(|request, name| request.call.func = name),
    },
    Opt {
        letter: None,
        name: "arg",
        value: "ARG",
        help: "An argument, one for each input in order, or NAME=ARG: @x.npy, @x.npz#name, @x.safetensors#name, 7, 1.5, \
               true, \"text\", [[1, 2], [3, 4]]:float32, (A, B), zeros(2,3):float32, random(2,3):float32",
        set: Set::Text(|request, arg| request.call.args.push(arg)),
    },
    Opt {
        letter: None,
        name: "params",
        value: "FILE",
        help: "Weights by name (.safetensors or .npz), for parameters that are not bound",
        set: Set::File(|request, path| request.call.params = Some(path)),
    },
    Opt {
        letter: Some('o'),
        name: "output",
        value: "FILE",
        help: "Write the tensors of the result to this .npz file (`-`: standard output)",
        set: Set::File(|request, path| request.output.output = Some(path)),
    },
    Opt {
        letter: None,
        name: "json",
        value: "",
        help: "Print the result, the times of --bench, or the signatures of --help as JSON",
        set: Set::Flag(|request| request.output.json = Some(JsonForm::Plain)),
    },
    Opt {
        letter: None,
        name: "threads",
        value: "N",
        help: "Number of threads to run kernels on [default: all]",
        set: Set::Parsed(|request, text| {
            request.call.threads = Some(number(text, 1024)?);
            Ok(())
        }),
    },
    Opt {
        letter: None,
        name: "bench",
        value: "SECONDS",
        help: "Repeat the call for this time, and print how long it takes",
        set: Set::Parsed(|request, text| {
            request.bench = Some(parse_seconds(text)?);
            Ok(())
        }),
    },
    Opt {
        letter: None,
        name: "max-memory",
        value: "BYTES",
        help: "Maximum memory for tensors, in bytes, or as 64M or 2G",
        set: Set::Parsed(|request, text| {
            request.call.limits.budget.max_memory = Some(parse_bytes(text)?);
            Ok(())
        }),
    },
    Opt {
        letter: None,
        name: "timeout",
        value: "SECONDS",
        help: "Maximum time of a call, with reading its arguments and writing its result",
        set: Set::Parsed(|request, text| {
            request.call.limits.budget.timeout = Some(parse_seconds(text)?);
            Ok(())
        }),
    },
    Opt {
        letter: None,
        name: "flush-denormals",
        value: "",
        help: "Flush denormals to zero",
        set: Set::Flag(|request| request.call.flush_denormals = true),
    },
    Opt {
        letter: Some('h'),
        name: "help",
        value: "",
        help: "Print the functions and this help",
        set: Set::Flag(|request| request.task = Task::Help),
    },
    Opt {
        letter: Some('V'),
        name: "version",
        value: "",
        help: "Print the version",
        set: Set::Flag(|request| request.task = Task::Version),
    },
];

/// Reads the arguments of the command line.
///
/// # Errors
/// If an option is unknown, given twice, or has no valid value.
pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Request, String> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut request = empty();
    let mut given = [false; OPTIONS.len()];
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        let is_it = |option: &Opt| match argument {
            Arg::Long(name) => name == option.name,
            Arg::Short(letter) => Some(letter) == option.letter,
            Arg::Value(_) => false,
        };
        let Some(position) = OPTIONS.iter().position(is_it) else {
            return Err(match argument {
                Arg::Value(value) => {
                    format!("`{0}` is not an option; an argument of the model is `--arg {0}`", value.display())
                }
                other => other.unexpected().to_string(),
            });
        };
        let option = &OPTIONS[position];
        if std::mem::replace(&mut given[position], true) && option.name != "arg" {
            return Err(format!("--{} is given twice", option.name));
        }
        let value = match option.value {
            "" => OsString::new(),
            _ => parser.value().map_err(|error| error.to_string())?,
        };
        option.set.apply(&mut request, value).map_err(|why| format!("--{}: {why}", option.name))?;
    }
    if request.task == Task::Help && request.output.json.is_some() {
        request.task = Task::Signatures;
    }
    Ok(request)
}

fn empty() -> Request {
    let call = CallFlags {
        func: "main".to_owned(),
        args: Vec::new(),
        params: None,
        threads: None,
        devices: Vec::new(),
        flush_denormals: false,
        limits: LimitFlags::default(),
    };
    Request { task: Task::Call, call, output: OutputFlags { output: None, json: None }, bench: None }
}

fn text(value: OsString) -> Result<String, String> {
    value.into_string().map_err(|value| format!("`{}` is not UTF-8", value.display()))
}

fn number(text: &str, max: u16) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| (1..=max).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a number from 1 to {max}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Request, String> {
        read(text.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_are_read() {
        let request = of("--func f --arg 1 --arg=-x=[2] -oout.npz --threads 3 --timeout 1.5 --max-memory 2K").unwrap();
        assert_eq!(
            (request.call.func.as_str(), request.call.args.as_slice()),
            ("f", &["1".into(), "-x=[2]".into()][..])
        );
        assert_eq!((request.call.threads, request.output.path()), (Some(3), Some("out.npz".as_ref())));
        assert_eq!(request.call.limits.budget.max_memory, Some(2048));
        assert_eq!((of("").unwrap().task, of("-h").unwrap().task), (Task::Call, Task::Help));
        assert_eq!((of("--help --json").unwrap().task, of("-V").unwrap().task), (Task::Signatures, Task::Version));
    }

    #[test]
    fn wrong_options_are_named() {
        for (given, expected) in [
            ("--wrong", "--wrong"),
            ("-x", "-x"),
            ("x.npy", "--arg x.npy"),
            ("--threads", "--threads"),
            ("--threads 0", "1 to 1024"),
            ("--threads x", "`x`"),
            ("--timeout -1", "--timeout"),
            ("--json=3", "json"),
            ("--func f --func g", "twice"),
        ] {
            let error = of(given).err().unwrap_or_else(|| panic!("{given} is accepted"));
            assert!(error.contains(expected), "{given}: {error}");
        }
    }
}
