//! RunCodegen: runs external code generators on the functions annotated for them.
//!
//! All functions with the same attribute `Codegen` are passed to the code generator of that name, as a module with
//! their dependences. Calls of them become calls of its output, found by symbol at run time:
//! `R.call_dps_packed("symbol", (x, y), out_ty=…)`, which gets the arguments, then the result tensors. Functions that
//! are no longer called are removed, as by DeadCodeElimination.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::{attributes::CODEGEN, functions},
    context::Generator,
    libraries::{self, Library, Site},
    rewrite::{self, dead_code},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Function as Global, Module, Name, Span, Type,
    relax::{Call, Callee, Function, Graph, Operand, Value, Var},
};
use indexmap::IndexMap;
use serde_json::Value as Json;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "RunCodegen",
    doc: "Runs external code generators on annotated functions",
    options: &[
        PassOption {
            name: "target_options",
            kind: OptionKind::Objects,
            default: "{}",
            doc: "Options of each code generator",
        },
        PassOption {
            name: "entry_functions",
            kind: OptionKind::Texts,
            default: "[]",
            doc: "Functions to keep, with all that they use, in addition to those that are not private",
        },
        PassOption {
            name: "codegens",
            kind: OptionKind::Names,
            default: "{}",
            doc: "Programs that are code generators: each reads a module's text and prints an object file (see \
                  `hammock explain E0310`)",
        },
    ],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let entries = context.options.texts("entry_functions");
    entries.iter().try_for_each(|name| functions::find(module, &PASS, name).map(drop))?;
    let symbols = symbols(module)?;
    let programs = context.options.entries("codegens");
    let library = |codegen: &str| libraries::find(codegen).filter(|_| programs.iter().all(|(name, _)| name != codegen));
    let mut by_library: IndexMap<Name, Composite> = IndexMap::new();
    let mut of_codegen: IndexMap<String, Vec<Name>> = IndexMap::new();
    for (name, function) in module.relax_functions().filter(|(name, _)| symbols.contains_key(*name)) {
        let codegen = function.lambda.attrs.get(CODEGEN).and_then(|codegen| codegen.as_str()).unwrap_or_default();
        match library(codegen) {
            Some(library) => {
                by_library.insert(name.clone(), Composite::of(module, function, library)?);
            }
            None => of_codegen.entry(codegen.to_owned()).or_default().push(name.clone()),
        }
    }
    for (codegen, names) in &of_codegen {
        generate(module, codegen, names, context)?;
    }
    rewrite::relax_functions(module, |module, _, function| {
        rewrite::bindings(function, &mut |function, mut binding, out| {
            if let Value::Call(call) = &mut binding.value
                && let Callee::Global(name) = &call.callee
                && let Some(symbol) = symbols.get(name)
            {
                let ty = function.ty(binding.var).clone();
                let ty = if is_result(&ty) { ty } else { module.relax(name).map_or(ty, |f| f.lambda.ret_ty.clone()) };
                let args = std::mem::take(&mut call.args);
                let (symbol, args) = match by_library.get(name) {
                    Some(composite) => (composite.builtin.into(), composite.args(&args)),
                    None => (symbol.clone(), args),
                };
                *call = external(symbol, args, ty, binding.span)?;
            }
            out.push(binding);
            Ok(())
        })
    })?;
    for name in symbols.keys() {
        if let Some(Global::Relax(function)) = module.functions.get_mut(name) {
            function.lambda.attrs.remove(CODEGEN);
            function.lambda.attrs.remove("global_symbol");
        }
    }
    dead_code::eliminate(module, entries)
}

/// Returns the symbols of the functions that code generators compile.
fn symbols(module: &Module) -> Result<IndexMap<Name, Name>, Diagnostic> {
    let is_for_one = |function: &Function| function.lambda.attrs.get(CODEGEN).is_some();
    let symbol = |(name, function): (&Name, &Function)| match function.lambda.attrs.get("global_symbol") {
        Some(symbol) => Ok((name.clone(), Name::from(symbol.as_str().unwrap_or(name)))),
        None => Err(Diagnostic::error(
            codes::CODE_GENERATOR,
            format!("function `{name}` is for a code generator, but has no symbol by which to find what that makes"),
        )
        .label(function.lambda.span, "")
        .help("give it the attribute `global_symbol`, as `FuseOpsByPattern{annotate_codegen=true}` does")),
    };
    module.relax_functions().filter(|(_, function)| is_for_one(function)).map(symbol).collect()
}

/// Runs a code generator on its functions.
fn generate(module: &Module, codegen: &str, names: &[Name], context: &Context) -> Result<(), Diagnostic> {
    let programs = context.options.entries("codegens");
    let program = programs.iter().find(|(name, _)| name == codegen).and_then(|(_, program)| program.as_str());
    let options = context.options.entries("target_options").into_iter().find(|(name, _)| name == codegen);
    let options = options.map_or_else(|| Json::Object(Default::default()), |(_, options)| options);
    let used = functions::used_by(module, names.to_vec());
    let mut part = Module::new();
    part.global_infos.clone_from(&module.global_infos);
    let functions = module.functions.iter().filter(|(name, _)| used.contains(*name));
    part.functions.extend(functions.map(|(name, function)| (name.clone(), function.clone())));
    let generator = Generator { name: codegen, program, options: &options };
    match context.environment.codegens {
        Some(codegens) => codegens.generate(generator, &part),
        None => Err(Diagnostic::error(
            codes::CODE_GENERATOR,
            format!("nothing here can link what the code generator `{codegen}` makes"),
        )
        .help("`hammock compile --passes` and `hammock run --passes` do")),
    }
}

/// A function that a library computes.
struct Composite {
    builtin: &'static str,
    params: Vec<Var>,
    /// Arguments of the builtin; the variables among them are parameters.
    args: Vec<Operand>,
}

impl Composite {
    fn of(module: &Module, function: &Function, library: &Library) -> Result<Composite, Diagnostic> {
        let unsupported = || {
            let message = format!("the library `{}` does not compute this function", library.name);
            Diagnostic::error(codes::CODE_GENERATOR, message)
                .label(function.lambda.span, "")
                .help(format!("it computes groups of FuseOpsByPattern: {}", library.doc))
        };
        // A function around a group defines it and calls it.
        let mut values = function.lambda.body.blocks.iter().flat_map(|block| &block.bindings);
        let Some(Value::Function(group)) = values.next().map(|binding| &binding.value) else {
            return Err(unsupported());
        };
        let site = Site { module, function, graph: &Graph::of(function) };
        let root = group.body.result.as_var();
        let call = root.and_then(|root| (library.call)(&site, root)).filter(|_| values.count() == 1);
        let call = call.ok_or_else(unsupported)?;
        Ok(Composite { builtin: call.builtin, params: group.params.clone(), args: call.args })
    }

    /// Returns the arguments of the builtin for those of a call of the function.
    fn args(&self, given: &[Operand]) -> Vec<Operand> {
        let position = |operand: &Operand| self.params.iter().position(|param| operand.as_var() == Some(*param));
        self.args.iter().map(|arg| position(arg).and_then(|at| given.get(at)).unwrap_or(arg).clone()).collect()
    }
}

/// Returns a call of a function that is found by symbol.
fn external(symbol: Name, args: Vec<Operand>, ty: Type, span: Span) -> Result<Call, Diagnostic> {
    if !is_result(&ty) {
        let message =
            format!("the result of `{symbol}` is no tensor of a known shape, so there is nothing to write it into");
        let error = Diagnostic::error(codes::NOT_LOWERABLE, message).label(span, "");
        return Err(error.help("give the model's inputs shapes, with symbolic sizes where they vary"));
    }
    Ok(Call::dps_packed(symbol, args, ty))
}

/// Returns true if values of a type can be written into preallocated memory.
fn is_result(ty: &Type) -> bool {
    match ty {
        Type::Tensor(tensor) => tensor.dims().is_some() && tensor.dtype.is_some(),
        Type::Tuple(members) => members.iter().all(|member| matches!(member, Type::Tensor(_)) && is_result(member)),
        _ => false,
    }
}
