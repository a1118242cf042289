//! The help: the model's functions and the program's options.

use crate::options::{OPTIONS, Opt};
use hammock_runtime::{Image, image::Signature, image::signature::Role};
use hammock_tools::{signature_json, signature_text, signatures};

/// The longest line.
const WIDTH: usize = 100;
/// The column of the descriptions of options.
const HELP_COLUMN: usize = 25;

/// The help for people.
pub fn text(program: &str, image: &Image) -> String {
    let functions: String = signature_text(&callable(image)).lines().map(|line| format!("  {line}\n")).collect();
    let options: String = OPTIONS.iter().map(option).collect();
    format!(
        "{program}: a model compiled by Hammock, with its runtime\n\n\
         Usage: {program} [--func NAME] [--arg ARG]... [OPTIONS]\n\n\
         Functions, with their inputs and outputs:\n{functions}\n\
         Options:\n{options}"
    )
}

/// The signatures as JSON.
pub fn signatures_json(image: &Image) -> String {
    signature_json(&callable(image))
}

/// The signatures, without the weights that are in the program.
fn callable(image: &Image) -> Vec<Signature> {
    let mut all = signatures(image);
    all.iter_mut().for_each(|signature| signature.params.retain(|param| param.role != Role::Bound));
    all
}

/// The lines about an option.
fn option(Opt { letter, name, value, help, .. }: &Opt) -> String {
    let letter = letter.map_or("    ".to_owned(), |letter| format!("-{letter}, "));
    let mut line = format!("  {letter}--{name} {value}");
    let mut text = String::new();
    line = format!("{line:HELP_COLUMN$}");
    for word in help.split(' ') {
        if line.len() + 1 + word.len() > WIDTH {
            text += line.trim_end();
            text += "\n";
            line = " ".repeat(HELP_COLUMN);
        }
        line += " ";
        line += word;
    }
    text + line.trim_end() + "\n"
}
