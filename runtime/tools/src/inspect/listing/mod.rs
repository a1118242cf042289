//! Listings: complete textual form of executables, which can be assembled to the same bytes.
//!
//! A listing is read line by line; `#` begins a comment, and source lines are shown in comments. Sections may be in any
//! order:
//!
//! ```text
//! bytecode @main(x, y) registers 5        the function table, in order: a kind, a name, names of parameters
//! packed @add                             found by name when loaded
//! compiled @twice(x) registers 2          machine code `__vmtir__twice`
//!
//! c0 = dtype float32                      the constant pool, in order
//! c1 = str "text"
//! c2 = shape (2, 3)
//! c3 = int 1152921504606846976
//! c4 = float 0.5
//! c5 = tensor float32(2) [0.0, 1.5]       numbers, or the bytes in memory: {x"00000000 0000c03f"}
//! c6 = tensor float32(8, 8) from "c6"     stored in a separate file, by name
//! scope c5 "global.texture"
//!
//! code @main:                             instructions; functions' code is stored in the order of the listing
//!    0: %2 = call @add(%0, -3, c5, @main) a number and a colon before an instruction are not read
//!    1: if %2 else L3
//!    2: call @add(%vm, %void)
//! L3:                                     labels belong to their function
//!    3: ret %2
//! ```
//!
//! Rare cases have their own notation: `args 2` if parameters have no names, `range 3 7` if a function without code has
//! a range, and `unused:` before `words 1 2 3`, instructions outside of functions. Functions whose names are not
//! identifiers are written `@"like this"`.
mod constants;
mod instructions;
mod quote;

use hammock_runtime::{
    Image, Tensor,
    executable::{Constant, Executable, FunctionInfo, FunctionKind, Instruction},
};
use quote::{global, parameter, quoted};
use std::{collections::BTreeSet, fmt::Write};

/// The text of an executable, and the tensors that are stored separately.
pub struct Listing {
    /// The text.
    pub text: String,
    /// Tensors that the text refers to by name.
    pub tensors: Vec<(String, Tensor)>,
}

/// Lists the executable of an image; tensors of more than `max_inline` bytes are stored separately.
pub fn list(image: &Image, max_inline: usize) -> Listing {
    let executable = &image.executable;
    let mut listing = Listing { text: String::new(), tensors: Vec::new() };
    listing.put(format_args!(
        "# {} functions, {} constants, {} instructions\n",
        executable.functions.len(),
        executable.constants.len(),
        executable.code.len()
    ));
    for (index, function) in executable.functions.iter().enumerate() {
        listing.put(format_args!("{}", function_line(function, has_block(executable, index))));
    }
    listing.constants(executable, max_inline);
    listing.code(image);
    listing
}

/// Returns true if the function's code is written as a block of the listing.
fn has_block(executable: &Executable, index: usize) -> bool {
    let f = &executable.functions[index];
    f.kind != FunctionKind::Packed && f.start < f.end && f.end <= executable.code.len()
}

/// A line of the function table.
fn function_line(f: &FunctionInfo, has_block: bool) -> String {
    let names: Vec<String> = f.param_names.iter().map(|name| parameter(name)).collect();
    let (kind, natural_args) = match f.kind {
        FunctionKind::Packed => ("packed", FunctionInfo::UNKNOWN_ARITY),
        FunctionKind::Bytecode => ("bytecode", names.len() as i64),
        FunctionKind::Compiled => ("compiled", names.len() as i64),
    };
    let mut out = format!("{kind} {}", global(&f.name));
    if f.kind != FunctionKind::Packed || !names.is_empty() {
        let _ = write!(out, "({})", names.join(", "));
    }
    if f.num_args != natural_args {
        let _ = write!(out, " args {}", f.num_args);
    }
    if f.kind != FunctionKind::Packed || f.register_count != 0 {
        let _ = write!(out, " registers {}", f.register_count);
    }
    if !has_block && (f.start, f.end) != (0, 0) {
        let _ = write!(out, " range {} {}", f.start, f.end);
    }
    out
}

impl Listing {
    fn put(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "{line}");
    }

    fn constants(&mut self, executable: &Executable, max_inline: usize) {
        self.text.push('\n');
        for (index, constant) in executable.constants.iter().enumerate() {
            let mut name = None;
            if let Constant::Tensor(tensor) = constant
                && tensor.nbytes() > max_inline
            {
                name = Some(format!("c{index}"));
                self.tensors.push((format!("c{index}"), tensor.clone()));
            }
            self.put(format_args!("c{index} = {}", constants::write(constant, name.as_deref())));
        }
        for (index, scope) in &executable.memory_scopes {
            self.put(format_args!("scope c{index} {}", quoted(scope)));
        }
    }

    /// The code of all functions in its order, and unused instructions in between.
    fn code(&mut self, image: &Image) {
        let executable = &image.executable;
        let indices = 0..executable.functions.len();
        let mut functions: Vec<&FunctionInfo> =
            indices.filter(|i| has_block(executable, *i)).map(|i| &executable.functions[i]).collect();
        functions.sort_by_key(|f| f.start);
        let mut next = 0;
        for function in functions {
            self.unused(executable, next..function.start);
            self.put(format_args!("\ncode {}:", global(&function.name)));
            self.body(image, function);
            next = function.end;
        }
        self.unused(executable, next..executable.code.len());
    }

    /// Instructions outside of functions, as words, because they may be invalid.
    fn unused(&mut self, executable: &Executable, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.put(format_args!("\nunused:"));
        for at in range {
            let words: Vec<String> = executable.code.words_of(at).iter().map(i64::to_string).collect();
            self.put(format_args!("{at:>4}: words {}", words.join(" ")));
        }
    }

    fn body(&mut self, image: &Image, function: &FunctionInfo) {
        let executable = &image.executable;
        let code: Vec<Instruction> = (function.start..function.end).filter_map(|at| executable.code.get(at)).collect();
        let targets = targets(&code, function.start);
        let mut location = None;
        for (at, instruction) in (function.start..).zip(&code) {
            if targets.contains(&(at as i64)) {
                self.put(format_args!("L{at}:"));
            }
            let here = image.sources.locate(at).map(|l| (l.file, l.line, l.text));
            if let Some((file, line, text)) = &here
                && here != location
            {
                let text = text.trim().replace(['\n', '\r'], " ");
                self.put(format_args!("      # {}:{line}: {text}", file.replace(['\n', '\r'], " ")));
                location = here.clone();
            }
            let target = |offset: i64| format!("L{}", at as i64 + offset);
            self.put(format_args!("{at:>4}: {}", instructions::write(instruction, executable, target)));
        }
    }
}

/// The jump targets in a function's code.
fn targets(code: &[Instruction], start: usize) -> BTreeSet<i64> {
    let jumps = code.iter().enumerate().filter_map(|(position, instruction)| match instruction {
        Instruction::Goto { offset } => Some((start + position) as i64 + offset),
        Instruction::If { false_offset, .. } => Some((start + position) as i64 + false_offset),
        _ => None,
    });
    jumps.collect()
}
