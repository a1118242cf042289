//! Prints modules.

use super::{
    Metadata, PrintOptions, literal,
    parts::GraphText,
    printer::{Dialect, Printer, Usage},
};
use crate::{
    Module, Name, Tensor,
    module::{ExternFunc, Function, GlobalInfo},
};
use indexmap::IndexSet;

/// The text of a module, and the constants that it refers to.
pub(super) fn print(module: &Module, options: &PrintOptions) -> (String, Vec<Tensor>) {
    let mut p = Printer::new(Some(module), Dialect::Module);
    let type_vars = if module.bare { p.functions(module) } else { p.class(module) };
    p.used.type_var |= !type_vars.is_empty();
    let mut text = String::new();
    let constants = p.metadata.constants();
    if options.metadata == Metadata::NoConstants {
        p.metadata.drop_constants();
    }
    let has_objects = !p.metadata.is_empty();
    if has_objects && options.metadata != Metadata::Omitted {
        text.push_str(&p.metadata.text());
    }
    for comment in p.used.comments() {
        literal::push(&mut text, format_args!("{comment}\n"));
    }
    text.push('\n');
    for var in &type_vars {
        literal::push(&mut text, format_args!("{var} = TypeVar(\"{var}\")\n"));
    }
    text.push_str(&p.out);
    if text.ends_with("\n\n") {
        text.pop();
    }
    if has_objects && options.metadata == Metadata::Omitted {
        text.push_str("\n# Metadata omitted. Use show_meta=True in script() method to show it.\n");
    }
    (text, constants)
}

/// The graphs of a module in parts.
pub(super) fn graphs(module: &Module) -> Vec<GraphText> {
    let mut p = Printer::new(Some(module), Dialect::Module);
    p.graphs = Some(Vec::new());
    p.indent = usize::from(!module.bare);
    p.functions(module);
    p.graphs.unwrap_or_default()
}

impl Usage {
    /// The comments of a header: the imports of a Python file.
    pub fn comments(self) -> impl Iterator<Item = &'static str> {
        let lines = [
            (self.type_var, "# from typing import TypeVar"),
            (self.ir, "# from tvm.script import ir as I"),
            (self.tir, "# from tvm.script import tirx as T"),
            (self.tir, "# from tvm.tirx.layout import Axis"),
            (self.relax, "# from tvm.script import relax as R"),
        ];
        lines.into_iter().filter(|(used, _)| *used).map(|(_, line)| line)
    }
}

impl<'a> Printer<'a> {
    fn class(&mut self, module: &'a Module) -> IndexSet<String> {
        self.whole_line("@I.ir_module");
        self.whole_line("class Module:");
        self.indent = 1;
        let start = self.out.len();
        if !module.attrs.is_empty() {
            self.ir("module_attrs(");
            self.attr_dict(&module.attrs, |_, _| false);
            self.push(")");
            self.end_line();
        }
        if !module.global_infos.is_empty() {
            self.global_infos(module);
        }
        let type_vars = self.functions(module);
        if self.out.len() == start {
            self.whole_line("pass");
        }
        self.used.ir = true;
        type_vars
    }

    fn global_infos(&mut self, module: &Module) {
        let mut infos: Vec<_> = module.global_infos.iter().collect();
        infos.sort_by(|a, b| a.0.cmp(b.0));
        self.ir("module_global_infos({");
        self.list(infos, |p, (name, list)| {
            p.quote(name);
            p.push(": [");
            p.list(list, |p, info| match info {
                GlobalInfo::VDevice(device) => p.vdevice(device),
                GlobalInfo::DeviceMesh(mesh) => p.mesh(mesh),
                GlobalInfo::Dummy => p.ir("dummy_global_info()"),
            });
            p.push("]");
        });
        self.push("})");
        self.end_line();
    }

    /// Prints functions in their order; returns the names of symbolic variables, without duplicates.
    fn functions(&mut self, module: &'a Module) -> IndexSet<String> {
        let mut functions: Vec<(&Name, &Function)> = module.functions.iter().collect();
        functions.sort_by_key(|(name, function)| (rank(name, function), *name));
        let mut type_vars = IndexSet::new();
        for (name, function) in functions {
            match function {
                Function::Relax(f) => type_vars.extend(self.graph(name, f)),
                Function::Tir(f) => type_vars.extend(self.prim_func(name, f)),
                Function::Extern(f) => self.extern_func(name, f),
            }
        }
        type_vars
    }

    fn extern_func(&mut self, name: &Name, function: &ExternFunc) {
        self.show(format_args!("{name} = "));
        self.relax("ExternFunc(");
        self.quote(&function.symbol);
        if let Some(ty) = &function.ty {
            self.push(", ");
            self.ty(ty);
        }
        self.push(")");
        self.end_line();
    }
}

/// Kernels, then external functions, then graphs; whatever is called `main` comes last.
fn rank(name: &Name, function: &Function) -> u8 {
    match function {
        _ if name == "main" => 3,
        Function::Tir(_) => 0,
        Function::Extern(_) => 1,
        Function::Relax(_) => 2,
    }
}
