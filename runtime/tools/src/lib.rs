//! Code that `hammock-run` and the command line share. A deployed model needs none of it.
//!
//! - `flags`: flags of several commands, such as [`CallFlags`].
//! - `arguments`: the arguments of a call, from text to values that fit the parameters.
//! - `weights`: [`Weights`], tensors by name, matched against the parameters.
//! - `formats`: tensor files: npy, npz, safetensors, ONNX tensors.
//! - `session`: [`Session`], a loaded model: running, timing, profiling, comparing its results.
//! - `inspect`: signatures and [`listing`]s of executables.
//! - `limits`: limits of memory and time, and the watchdog that enforces them.
//! - `output`: files and streams that a command writes; the terminal.
//! - `command_files`: [`CommandFiles`], which rejects outputs that are also inputs.
//! - `command_line`: [`run`], the command line of `hammock-run`.
//! - `deprecated`: old spellings of flags, accepted with a warning.

mod arguments;
mod command_files;
mod command_line;
mod deprecated;
mod error;
mod flags;
mod formats;
mod inspect;
mod limits;
mod output;
mod session;
mod weights;

pub use arguments::{CallSpec, argument::parse_argument, split::split_name};
pub use command_files::CommandFiles;
pub use command_line::{call_weights, command, run};
pub use deprecated::deprecation_warning;
pub use error::{InputError, ToolError};
pub use flags::{BenchFlags, CallFlags, InspectFlags, JsonForm, OutputFlags, RunOptions};
pub use formats::{
    file_kind::FileKind,
    map_file,
    npz::{load_npy, load_npz, save_npz},
    onnx_tensor::{ElementType, load_onnx_tensor},
    safetensors_file::{ExternalWeights, save_safetensors},
};
pub use inspect::{
    View,
    c_header::c_header,
    inspect, listing,
    signature::{signature_json, signature_text, signatures},
};
pub use limits::{BudgetFlags, LimitFlags, parse_bytes, parse_seconds, watchdog::set_timeout_handler};
pub use output::{
    Content, Sink, check_writable, print, print_colored, print_stderr, print_stderr_colored,
    terminal::{Color, TerminalFlags, parse, report_fatal},
    write_file,
};
pub use session::{
    Session, Step,
    expect::ExpectFlags,
    profiling::{ProfileFlags, ProfileForm},
    timing::{Samples, duration_text, sample},
};
pub use weights::{
    Weights,
    fit::{Fit, Wrong},
    save::{WeightsFormat, save_weights},
};
