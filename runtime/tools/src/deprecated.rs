//! Deprecated spellings of flags: accepted, with a warning that says what to write.
//!
//! A flag that was renamed keeps its old name as a hidden alias (clap's `alias`); [`renamed_flags`] finds those that a
//! command line uses. A value that belongs to another flag today is recognized where the values are read.

use clap::Command;

/// Warning about a deprecated spelling, with its replacement.
pub fn deprecation_warning(old: &str, new: &str) -> String {
    format!("warning: `{old}` is deprecated; write `{new}`\n")
}

/// The old names of flags in a valid command line, each with the new name.
pub(crate) fn renamed_flags<'c>(program: &'c Command, arguments: &[String]) -> Vec<(&'c str, &'c str)> {
    let command = arguments.iter().find_map(|argument| program.find_subcommand(argument)).unwrap_or(program);
    let flags = arguments.iter().take_while(|argument| *argument != "--").filter_map(|text| text.strip_prefix("--"));
    let given: Vec<&str> = flags.map(|flag| flag.split('=').next().unwrap_or_default()).collect();
    let renamed = command.get_arguments().flat_map(|flag| {
        let old = flag.get_aliases().unwrap_or_default();
        old.into_iter().filter_map(|old| Some((old, flag.get_long()?)))
    });
    renamed.filter(|(old, _)| given.contains(old)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, ArgAction};

    #[test]
    fn old_names_are_found_in_their_command_only() {
        let flag = |long: &'static str| Arg::new(long).long(long).action(ArgAction::SetTrue);
        let value = Arg::new("plan-out").long("plan-out").alias("plan-file");
        let first = Command::new("first").arg(flag("listing").alias("asm")).arg(value).arg(flag("json"));
        let program = Command::new("program").subcommand(first).subcommand(Command::new("second").arg(flag("asm")));
        let found = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            renamed_flags(&program, &arguments)
        };
        assert_eq!(found("first --asm --json"), [("asm", "listing")]);
        assert_eq!(found("first --plan-file=x --asm"), [("asm", "listing"), ("plan-file", "plan-out")]);
        assert!(["first --listing --plan-out x", "second --asm", "first -- --asm"].iter().all(|l| found(l).is_empty()));
    }
}
