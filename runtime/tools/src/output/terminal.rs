//! How the programs interact with the terminal: flags, colours, final errors.

use super::{print_colored, print_stderr, print_stderr_colored, temporary::handle_signals};
use crate::deprecated::{deprecation_warning, renamed_flags};
use clap::{Args, Parser, ValueEnum};
use hammock_runtime::printable;
use std::{
    env,
    ffi::OsString,
    io::{IsTerminal, stderr, stdout},
};

/// Exit status of a command that failed.
const FAILURE: u8 = 1;

/// When to color messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set; always if CLICOLOR_FORCE is
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Flags of every command.
#[derive(Args, Clone, Copy, Debug)]
pub struct TerminalFlags {
    /// Colour messages
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, hide_possible_values = true, global = true)]
    pub color: Color,
}

impl Color {
    /// Returns true if text for a stream should be colored.
    pub fn applies(self, stream: &impl IsTerminal) -> bool {
        self.decide(|name| env::var(name).ok(), || stream.is_terminal())
    }

    /// The conventions of no-color.org and bixense.com/clicolors.
    fn decide(self, variable: impl Fn(&str) -> Option<String>, is_terminal: impl FnOnce() -> bool) -> bool {
        let is = |name, value: &str| variable(name).is_some_and(|v| v == value);
        let says = |name| variable(name).is_some_and(|v| !v.is_empty());
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if says("NO_COLOR") => false,
            Color::Auto if says("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") => true,
            Color::Auto => is_terminal() && !is("CLICOLOR", "0") && !is("TERM", "dumb"),
        }
    }

    /// The value of `--color` in arguments that may otherwise be invalid.
    fn of_arguments(arguments: impl Iterator<Item = String>) -> Color {
        let mut color = Color::default();
        let mut arguments = arguments.take_while(|argument| argument != "--");
        while let Some(argument) = arguments.next() {
            let value = match argument.strip_prefix("--color") {
                Some("") => arguments.next().unwrap_or_default(),
                Some(rest) => rest.trim_start_matches('=').to_owned(),
                None => continue,
            };
            color = Color::from_str(&value, true).unwrap_or(color);
        }
        color
    }
}

/// Parses a command line, whose first item is the program's name, and warns about deprecated names of flags. For invalid usage, `--help` and `--version`,
/// prints the message and returns the exit status.
pub fn parse<C: Parser>(arguments: impl IntoIterator<Item = OsString>) -> Result<C, u8> {
    handle_signals();
    let given: Vec<OsString> = arguments.into_iter().collect();
    let arguments: Vec<String> = given.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let cli = C::try_parse_from(given).map_err(|error| report_usage(&error, &arguments))?;
    for (old, new) in renamed_flags(&C::command(), &arguments) {
        let warning = deprecation_warning(&format!("--{old}"), &format!("--{new}"));
        print_stderr(&warning).map_err(|error| report_fatal(&error))?;
    }
    Ok(cli)
}

/// Prints what is wrong with the command line, or `--help` or `--version`, and returns the exit status.
fn report_usage(error: &clap::Error, arguments: &[String]) -> u8 {
    let color = Color::of_arguments(arguments.iter().cloned());
    let colored = if error.use_stderr() { color.applies(&stderr()) } else { color.applies(&stdout()) };
    let plain = error.render().to_string();
    // Colors are escape sequences. If an argument contains control characters, the message is printed without
    // colors.
    let pure = arguments.iter().all(|argument| printable(argument) == *argument);
    let text = if colored && pure { error.render().ansi().to_string() } else { printable(&plain).into_owned() };
    let written = if error.use_stderr() { print_stderr_colored(&text) } else { print_colored(&text) };
    match written {
        Ok(()) => error.exit_code() as u8,
        Err(error) => report_fatal(&error),
    }
}

/// Reports a fatal error on standard error and returns the exit status.
pub fn report_fatal(error: &dyn std::fmt::Display) -> u8 {
    // If this fails, there is no way to report it.
    let _ = print_stderr(&format!("error: {error}\n"));
    FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_flag_then_the_environment_then_the_terminal() {
        let decide = |color: Color, set: &[(&str, &str)], terminal| {
            let set: Vec<(String, String)> = set.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
            color.decide(|name| set.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone()), || terminal)
        };
        assert!(decide(Color::Auto, &[], true) && !decide(Color::Auto, &[], false));
        assert!(decide(Color::Always, &[("NO_COLOR", "1")], false) && !decide(Color::Never, &[], true));
        assert!(decide(Color::Auto, &[("CLICOLOR_FORCE", "1")], false));
        assert!(!decide(Color::Auto, &[("CLICOLOR_FORCE", "0")], false));
        assert!(!decide(Color::Auto, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true));
        assert!(decide(Color::Auto, &[("NO_COLOR", "")], true), "empty is unset");
        assert!(!decide(Color::Auto, &[("CLICOLOR", "0")], true) && !decide(Color::Auto, &[("TERM", "dumb")], true));
    }

    #[test]
    fn the_flag_counts_where_others_are_wrong() {
        let of = |text: &str| Color::of_arguments(text.split(' ').map(str::to_owned));
        assert_eq!((of("x --color always --wrong"), of("--color=never")), (Color::Always, Color::Never));
        assert_eq!(
            (of("run -- --color=never"), of("--color pink"), of("--color")),
            (Color::Auto, Color::Auto, Color::Auto)
        );
    }
}
