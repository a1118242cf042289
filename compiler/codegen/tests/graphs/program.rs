//! Hand-built programs that run in both modes.
use hammock_codegen::native;
pub use hammock_runtime::executable::build::{VM, VOID, branch, goto, int, reg, ret};
use hammock_runtime::executable::{Arg, Executable, FunctionInfo, FunctionKind, Instruction};
use hammock_runtime::ffi::Args;
use hammock_runtime::image::{Integrity, KernelSignature, SourceMap, Span};
use hammock_runtime::vm::Options;
use hammock_runtime::{Any, Error, Function, Image, Library, Tensor, Vm, registry};
use hammock_target::Family;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Once};

/// Builds executables by hand.
#[derive(Default, Clone)]
pub struct Program {
    pub executable: Executable,
    pub kernels: Vec<KernelSignature>,
    pub sources: SourceMap,
}

impl Deref for Program {
    type Target = Executable;

    fn deref(&self) -> &Executable {
        &self.executable
    }
}

impl DerefMut for Program {
    fn deref_mut(&mut self) -> &mut Executable {
        &mut self.executable
    }
}

impl Program {
    /// Returns the argument for a function.
    pub fn value(&mut self, name: &str) -> Arg {
        Arg::Function(self.declare(name))
    }

    /// Adds a function under a name that calls may already use; every instruction has its own source line.
    pub fn function(&mut self, name: &str, num_args: usize, register_count: usize, body: &[Instruction]) {
        let FunctionInfo { start, end, .. } = *self.define(name, num_args, register_count, body);
        let file = self.sources.file("model.py");
        for at in start..end {
            self.sources.set(at, Span { file, line: at as u32 + 1, column: 1 });
        }
    }

    /// Loads the program with some of its functions compiled.
    pub fn load(&self, options: &Options, compiled: impl Fn(&str) -> bool) -> Vm {
        register();
        let Program { mut executable, kernels, sources } = self.clone();
        let mut functions = Vec::new();
        for (index, info) in executable.functions.iter_mut().enumerate() {
            if info.kind == FunctionKind::Bytecode && compiled(&info.name) {
                info.kind = FunctionKind::Compiled;
                functions.push(index);
            }
        }
        let object = native::compile(Family::X86_64, &executable, &kernels, &functions).unwrap();
        let image = Image { executable, kernels, sources, ..Image::default() }.save();
        let library = hammock_link::link(&[&object], &image).unwrap();
        let library = Library::from_bytes(Arc::new(library), Integrity::Check).unwrap();
        Vm::from_library(&Arc::new(library), options.clone()).unwrap()
    }

    /// Returns the result of `main`, which must be the same in both modes and any mixture.
    pub fn run_with(&self, options: &Options, args: &[Any]) -> Result<Any, Error> {
        let [bytecode, compiled, main_only, others_only] =
            [|_: &str| false, |_: &str| true, |name: &str| name == "main", |name: &str| name != "main"]
                .map(|compiled| self.load(options, compiled).call("main", args));
        for other in [compiled, main_only, others_only] {
            match (&bytecode, &other) {
                (Ok(expected), Ok(result)) => assert!(same(expected, result), "{result}, not {expected}"),
                (Err(expected), Err(error)) => assert_eq!(format!("{error:#}"), format!("{expected:#}")),
                _ => panic!("{other:?}, not {bytecode:?}"),
            }
        }
        bytecode
    }

    pub fn run(&self, args: &[Any]) -> Result<Any, Error> {
        self.run_with(&Options::default(), args)
    }
}

fn same(a: &Any, b: &Any) -> bool {
    match (a.get::<&Tensor>(), b.get::<&Tensor>()) {
        (Some(a), Some(b)) => a.shape() == b.shape() && a.as_bytes().unwrap() == b.as_bytes().unwrap(),
        _ => a.to_string() == b.to_string(),
    }
}

/// Registers the functions that programs call.
fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let integers: [(&str, fn(i64, i64) -> i64); 4] = [
            ("add", |a, b| a + b),
            ("sub", |a, b| a - b),
            ("mul", |a, b| a.wrapping_mul(b)),
            ("less", |a, b| i64::from(a < b)),
        ];
        for (name, operation) in integers {
            let function = Function::new(move |values| {
                let args = Args::new(name, values);
                Ok(operation(args.get(0)?, args.get(1)?).into())
            });
            registry::register(name, function);
        }
        registry::register("fail", Function::new(|_| Err(Error::value("on purpose"))));
        registry::register(
            "increment",
            Function::kernel(|args| {
                let input: Vec<f32> = args[0].get::<&Tensor>().unwrap().as_slice::<f32>().unwrap().to_vec();
                let values: Vec<f32> = input.iter().map(|value| value + 1.0).collect();
                let shape = args[1].get::<&Tensor>().unwrap().shape().to_vec();
                let output = Tensor::from_slice(&shape, &values)?;
                Ok((Any::NONE, vec![(1, output)]))
            }),
        );
    });
}
