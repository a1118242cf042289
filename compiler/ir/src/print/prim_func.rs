//! Prints TIR functions.

use super::{
    buffer::{Signature, named_sizes},
    names::Entity,
    printer::{Dialect, Printer},
    stmt::shared_threads,
};
use crate::{
    DType, Name, PrimExpr,
    prim::Var,
    tir::{Block, Param, PrimFunc, StmtKind},
};
use rustc_hash::FxHashSet;

impl Printer<'_> {
    /// Prints a kernel; returns the names of its symbolic variables.
    pub fn prim_func(&mut self, name: &Name, func: &PrimFunc) -> Vec<String> {
        let outside = std::mem::replace(&mut self.dialect, Dialect::Tir);
        self.s_tir = func.s_tir;
        self.shared_threads = shared_threads(&func.body);
        self.names.enter();
        self.enter_function();
        let type_vars = type_vars(func);
        let mut declared: Vec<String> = type_vars.iter().map(|v| self.define_scalar(v).to_string()).collect();
        declared.sort();
        self.kernel_decorator(func);
        self.kernel_header(name, func, &type_vars.into_iter().collect());
        self.begin_body();
        self.indent += 1;
        self.kernel_attrs(name, func);
        self.begin_body();
        let start = self.out.len();
        self.kernel_body(func);
        if self.out.len() == start {
            self.whole_line("pass");
        }
        self.indent -= 1;
        self.leave_function();
        self.names.leave();
        self.s_tir = true;
        self.scalars.clear();
        self.dialect = outside;
        declared
    }

    fn kernel_decorator(&mut self, func: &PrimFunc) {
        let flags = [(func.is_private(), "private=True"), (func.s_tir, "s_tir=True")];
        let flags: Vec<&str> = flags.iter().filter(|(on, _)| *on).map(|(_, text)| *text).collect();
        self.push("@");
        self.tir("prim_func");
        if !flags.is_empty() {
            self.show(format_args!("({})", flags.join(", ")));
        }
        self.end_line();
    }

    fn kernel_header(&mut self, name: &Name, func: &PrimFunc, type_vars: &FxHashSet<Var>) {
        for param in func.params.iter().filter(|p| p.buffer.is_none()) {
            self.define_scalar(&param.var);
        }
        let mut bound = FxHashSet::default();
        self.show(format_args!("def {name}("));
        self.list(&func.params, |p, param| p.param(param, &mut bound, type_vars));
        self.push(")");
        if let Some(ty) = &func.ret_ty {
            self.push(" -> ");
            self.prim_type(ty);
        }
        self.header();
    }

    fn param(&mut self, param: &Param, bound: &mut FxHashSet<Var>, type_vars: &FxHashSet<Var>) {
        let Some(buffer) = &param.buffer else {
            let name = self.define_scalar(&param.var);
            self.push(&name);
            self.push(": ");
            self.prim_type(param.var.ty());
            bound.insert(param.var.clone());
            return;
        };
        let name = self.define_buffer(buffer);
        self.push(&name);
        self.push(": ");
        self.declare_in_body(&named_sizes(buffer));
        self.buffer_type(buffer, &Signature { type_vars, bound });
        for dim in &buffer.shape {
            dim.each_var(&mut |v| {
                bound.insert(v.clone());
            });
        }
    }

    /// Declares the variables that only quoted dimensions of a buffer define, by a first line of the body.
    fn declare_in_body(&mut self, dims: &[PrimExpr]) {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for dim in dims {
            dim.each_var(&mut |var| {
                if self.names.get(&Entity::Scalar(var.clone())).is_none() {
                    names.push(self.define_scalar(var).to_string());
                    values.push(self.capture(|p| p.prim_type(var.ty())) + "()");
                }
            });
        }
        if !names.is_empty() {
            self.preamble_line(&format!("{} = {}", names.join(", "), values.join(", ")));
        }
    }

    fn kernel_attrs(&mut self, name: &Name, func: &PrimFunc) {
        let hidden = |key: &Name, value: &crate::AttrValue| key == "global_symbol" && value.as_str() == Some(name);
        if func.attrs.iter().any(|(k, v)| !hidden(k, v)) {
            self.tir("func_attr(");
            self.attr_dict(&func.attrs, hidden);
            self.push(")");
            self.end_line();
        }
    }

    fn kernel_body(&mut self, func: &PrimFunc) {
        match &func.body.kind {
            StmtKind::Block(root) if is_implied(root) => {
                self.whole_line("# with T.sblock(\"root\"):");
                self.block_allocations(root);
                self.body(&root.body);
            }
            _ => self.body(&func.body),
        }
    }
}

/// Symbolic dimensions: int64 variables that occur in the types of buffer parameters and are no parameters themselves,
/// in order of appearance.
fn type_vars(func: &PrimFunc) -> Vec<Var> {
    let mut known: FxHashSet<Var> = func.params.iter().map(|p| p.var.clone()).collect();
    let mut found = Vec::new();
    let mut collect = |e: &PrimExpr| {
        e.each_var(&mut |v| {
            if v.dtype() == DType::INT64 && known.insert(v.clone()) {
                found.push(v.clone());
            }
        });
    };
    for buffer in func.buffers() {
        buffer.shape.iter().chain(&buffer.strides).for_each(&mut collect);
        // An offset that is only declared a multiple of something has no name.
        buffer.elem_offset.iter().filter(|e| buffer.offset_factor == 0 || e.as_var().is_none()).for_each(&mut collect);
    }
    found
}

/// Returns true if the outermost block is implied: it only allocates buffers, or contains blocks with axes.
fn is_implied(root: &Block) -> bool {
    let nothing = |r: &Option<Vec<_>>| r.as_ref().is_none_or(Vec::is_empty);
    let plain = root.axes.is_empty()
        && !root.no_realize
        && root.predicate.is_none()
        && root.annotations.is_empty()
        && root.match_buffers.is_empty()
        && root.init.is_none()
        && nothing(&root.reads)
        && nothing(&root.writes);
    let has_blocks = match &root.body.kind {
        StmtKind::Block(inner) => !inner.axes.is_empty(),
        _ => {
            let mut found = false;
            root.body.walk(&mut |s| found |= matches!(s.kind, StmtKind::Block(_)));
            found
        }
    };
    plain && (!root.alloc_buffers.is_empty() || has_blocks)
}
