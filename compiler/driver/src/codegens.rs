//! Code generators of others: those that a program registers, and programs.

use hammock_diagnostics::{Diagnostic, codes, count};
use hammock_ir::{
    Module,
    print::{PrintOptions, module_text},
};
use hammock_passes::{CodeGenerators, Generator};
use hammock_runtime::{library::KERNEL_PREFIX, suggest::nearest};
use serde_json::Value;
use std::{
    cell::RefCell,
    collections::BTreeMap,
    io::Write,
    process::{Command, Output, Stdio},
};

/// Compiles functions in a way of its own.
pub trait CodeGenerator {
    /// Object files (ELF, x86-64, position-independent) for the functions of a module that have the attribute `Codegen`.
    ///
    /// For each of them, one object defines `__tvm_ffi_SYMBOL` for its `global_symbol`, a function of tvm-ffi's packed
    /// convention: it gets the arguments, then a tensor for each result, which it writes. `options` is an object.
    ///
    /// # Errors
    /// Why the functions cannot be compiled, in one line.
    fn generate(&self, functions: &Module, options: &Value) -> Result<Vec<Vec<u8>>, String>;
}

/// Code generators by name, and the objects that they have made.
#[derive(Default)]
pub struct Codegens {
    registered: BTreeMap<String, Box<dyn CodeGenerator>>,
    objects: RefCell<Vec<Vec<u8>>>,
}

impl Codegens {
    /// Registers a code generator for functions whose attribute `Codegen` is that name.
    pub fn register(&mut self, name: impl Into<String>, generator: impl CodeGenerator + 'static) {
        self.registered.insert(name.into(), Box::new(generator));
    }

    /// Returns true if anything was made.
    pub fn has_made_objects(&self) -> bool {
        !self.objects.borrow().is_empty()
    }

    /// Takes the objects, for [`Lowered::objects`](crate::Lowered::objects).
    pub fn take_objects(&self) -> Vec<Vec<u8>> {
        self.objects.take()
    }
}

impl CodeGenerators for Codegens {
    fn generate(&self, by: Generator, functions: &Module) -> Result<(), Diagnostic> {
        let made = match (by.program, self.registered.get(by.name)) {
            (Some(program), _) => run(program, functions, by.options),
            (None, Some(generator)) => generator.generate(functions, by.options),
            (None, None) => return Err(self.missing(by.name, functions)),
        };
        let objects = made.map_err(|why| {
            Diagnostic::error(codes::CODE_GENERATOR, format!("the code generator `{}` failed: {why}", by.name))
        })?;
        check(by.name, functions, &objects)?;
        self.objects.borrow_mut().extend(objects);
        Ok(())
    }
}

impl Codegens {
    fn missing(&self, name: &str, functions: &Module) -> Diagnostic {
        let needs = symbols(functions).collect::<Vec<_>>();
        let (first, rest) = (needs.first().copied().unwrap_or_default(), needs.len().saturating_sub(1));
        let more = if rest == 0 { String::new() } else { format!(" and {} more", count(rest, "function")) };
        let message = format!("there is no code generator `{name}` for `{first}`{more}");
        let error = Diagnostic::error(codes::CODE_GENERATOR, message);
        match nearest(name, self.registered.keys().map(String::as_str)) {
            Some(near) => error.help(format!("did you mean `{near}`, which is registered?")),
            None => error.help(format!(
                "name a program, `RunCodegen{{codegens={{\"{name}\": \"./program\"}}}}`, or register one with \
                 `hammock_compiler::Codegens`"
            )),
        }
    }
}

/// The symbols that a code generator is to define.
fn symbols(functions: &Module) -> impl Iterator<Item = &str> {
    let ours =
        functions.functions.values().filter(|function| function.attrs().is_some_and(|a| a.get("Codegen").is_some()));
    ours.filter_map(|function| function.global_symbol())
}

/// Are the objects such, and is everything defined?
fn check(name: &str, functions: &Module, objects: &[Vec<u8>]) -> Result<(), Diagnostic> {
    let error = |why: String| {
        let message = format!("what the code generator `{name}` made cannot be used: {why}");
        Diagnostic::error(codes::CODE_GENERATOR, message)
    };
    let mut defined = Vec::new();
    for object in objects {
        defined.extend(hammock_link::exports(object).map_err(|e| error(e.to_string()))?);
    }
    match symbols(functions).find(|symbol| !defined.contains(&format!("{KERNEL_PREFIX}{symbol}").as_str())) {
        None => Ok(()),
        Some(symbol) => Err(error(format!("it defines no `{KERNEL_PREFIX}{symbol}`"))
            .help("it is a function of C that writes the results: `hammock explain E0310` shows its form")),
    }
}

/// Starts a program, which reads the module's text and prints an object.
fn run(program: &str, functions: &Module, options: &Value) -> Result<Vec<Vec<u8>>, String> {
    let text = module_text(functions, &PrintOptions::default());
    let mut command = Command::new(program);
    command.arg(options.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("cannot start {program}: {e}"))?;
    let Output { status, stdout, stderr } = std::thread::scope(|scope| {
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read everything need not.
            scope.spawn(move || stdin.write_all(text.as_bytes()).ok());
        }
        child.wait_with_output()
    })
    .map_err(|e| e.to_string())?;
    if status.success() {
        return Ok(vec![stdout]);
    }
    let said = String::from_utf8_lossy(&stderr);
    let said = said.trim();
    Err(if said.is_empty() {
        format!("{program} ended with {status}")
    } else {
        format!("{program} ended with {status}: {said}")
    })
}
