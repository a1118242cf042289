//! Dataflow blocks and branches.

use super::RelaxEval;
use crate::script::{context::Read, path::Space, scope::ClosedScope, value::Value};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{
    Name, TensorShape, TensorType, Type,
    arith::Analyzer,
    relax::{Block, Body, Operand, Value as IrValue},
    types::ShapeType,
};
use hammock_syntax::ast::{self, Stmt, StmtKind};

/// A branch that was read.
struct Branch {
    /// The name that its last statement assigns.
    name: Name,
    /// Its type, declared or inferred.
    ty: Type,
    body: Body,
}

impl RelaxEval<'_, '_> {
    /// `with R.dataflow():`
    pub(super) fn with(&mut self, with: &ast::With) -> Read<()> {
        let [(context, target)] = with.items.as_slice() else {
            let span = with.items.first().map_or(Span::NONE, |(e, _)| e.span);
            return Err(self.unsupported(span, "only one item is allowed after `with`"));
        };
        let mut wrong = Ok(());
        let called = matches!(context.kind, ast::ExprKind::Call(_));
        if !called || !self.is_path(context, Space::Relax, "dataflow") || target.is_some() {
            let message = "only `R.dataflow()` is allowed after `with` in Relax";
            let label = "write `with R.dataflow():`";
            // Its statements are checked as those of a block.
            wrong = Err(self.cx.error(codes::MEANINGLESS_SYNTAX, context.span, message, label));
        }
        if self.dialect.dataflow {
            let message = "dataflow blocks do not nest";
            let label = "the block around goes on; drop this line, or end that block first";
            wrong = wrong.and(Err(self.cx.error(codes::BAD_BLOCK, context.span, message, label)));
            self.statements(&with.body);
            return wrong;
        }
        self.dialect.dataflow = true;
        self.dialect.blocks.push(Block { dataflow: true, bindings: Vec::new() });
        self.scope.push();
        let errors = self.cx.diagnostics.len();
        let end = with.body.iter().position(|stmt| self.is_output(stmt)).map_or(with.body.len(), |at| at + 1);
        self.statements(&with.body[..end]);
        if let Some(after) = with.body.get(end) {
            let message = "nothing can follow `R.output` in its block";
            self.cx.error(codes::BAD_BLOCK, after.span, message, "move it before, or end the block");
        }
        let broken = self.cx.diagnostics.len() > errors;
        let outputs = std::mem::take(&mut self.dialect.outputs);
        // The names at the block's end: a later binding may have shadowed one.
        self.scope.pop(ClosedScope::Dataflow);
        self.dialect.dataflow = false;
        for var in outputs {
            self.dialect.function.vars[var].dataflow = false;
            let name = self.dialect.function.vars[var].name.clone();
            self.scope.define(name, Value::Operand(Operand::Var(var)));
        }
        self.close_block();
        // Variables missing because of an earlier error are not reported again.
        if broken { Err(self.cx.reported_before()) } else { wrong }
    }

    fn is_output(&self, stmt: &Stmt) -> bool {
        matches!(&stmt.kind, StmtKind::Expr(e) if self.is_path(e, Space::Relax, "output"))
    }

    /// Later bindings go into a block of their own.
    fn close_block(&mut self) {
        if self.dialect.blocks.last().is_some_and(|block| block.bindings.is_empty()) {
            self.dialect.blocks.pop();
        }
    }

    /// `if cond: … else: …`; both branches end with an assignment to the same name.
    pub(super) fn if_else(&mut self, choice: &ast::If, span: Span) -> Read<()> {
        let header = Span::new(span.start, choice.cond.span.end);
        if self.dialect.dataflow {
            let message = "a dataflow block has no branches";
            return Err(self.cx.error(codes::BAD_BLOCK, header, message, "close the block before the `if`"));
        }
        let cond = self.arg(&choice.cond);
        let cond = self.to_operand(&cond);
        if choice.orelse.is_empty() {
            let label = "both branches give the same variable a value";
            let reported = self.cx.error(codes::BAD_BINDING, header, "an `if` of Relax needs an `else`", label);
            drop(self.branch(&choice.then, "_then", header));
            return Err(reported);
        }
        let then = self.branch(&choice.then, "_then", header);
        let otherwise = self.branch(&choice.orelse, "_else", header);
        let (cond, then, otherwise) = (cond?, then?, otherwise?);
        if then.name != otherwise.name {
            let message = format!("one branch assigns `{}` last, the other `{}`", then.name, otherwise.name);
            return Err(self.cx.error(
                codes::BAD_BINDING,
                header,
                message,
                "both end with an assignment to the same name",
            ));
        }
        let ty = join(&then.ty, &otherwise.ty);
        let value = IrValue::If { cond, then: then.body, otherwise: otherwise.body };
        let pending = crate::script::value::Pending { value, args: Vec::new(), attrs: Vec::new(), span: header };
        let var = self.emit(&then.name, Some(ty), pending, header)?;
        self.define_var(then.name, var);
        Ok(())
    }

    fn branch(&mut self, stmts: &[Stmt], suffix: &str, header: Span) -> Read<Branch> {
        let errors = self.cx.diagnostics.len();
        let outer_blocks = std::mem::take(&mut self.dialect.blocks);
        let outer_branch = std::mem::replace(&mut self.dialect.branch, true);
        self.scope.push();
        self.statements(stmts);
        self.scope.pop(ClosedScope::Branch);
        self.dialect.branch = outer_branch;
        let blocks = std::mem::replace(&mut self.dialect.blocks, outer_blocks);
        if self.cx.diagnostics.len() > errors {
            return Err(self.cx.reported_before());
        }
        self.branch_result(blocks, suffix, header)
    }

    /// The value of a branch: its last binding, with an alias resolved.
    fn branch_result(&mut self, mut blocks: Vec<Block>, suffix: &str, header: Span) -> Read<Branch> {
        let vars = &mut self.dialect.function.vars;
        let last = blocks.last_mut().and_then(|block| block.bindings.pop());
        let Some(binding) = last.filter(|binding| !vars[binding.var].dataflow) else {
            let branch = if suffix == "_then" { "first" } else { "second" };
            let message = format!("the {branch} branch does not end with an assignment");
            let diagnostic = Diagnostic::error(codes::BAD_BINDING, message).label(header, "");
            let help = "both branches end with an assignment to the same name, which `R.output` names if it is in a \
                        dataflow block";
            return Err(self.cx.report(diagnostic.help(help)));
        };
        let info = &mut vars[binding.var];
        let (name, ty) = (info.name.clone(), info.ty.clone());
        let result = match binding.value {
            IrValue::Operand(operand) if !matches!(operand, Operand::Tuple(_)) => {
                operand.each_var(&mut |var| vars[var].dataflow = false);
                operand
            }
            _ => {
                info.name = Name::from(format!("{name}{suffix}"));
                let var = binding.var;
                if let Some(block) = blocks.last_mut() {
                    block.bindings.push(binding);
                }
                Operand::Var(var)
            }
        };
        blocks.retain(|block| !block.bindings.is_empty());
        Ok(Branch { name, ty, body: Body { blocks, result } })
    }
}

/// The least upper bound of two types.
pub(super) fn join(a: &Type, b: &Type) -> Type {
    match (a, b) {
        (Type::Prim(x), Type::Prim(y)) if x == y => a.clone(),
        (Type::String, Type::String) => Type::String,
        (Type::Error, _) | (_, Type::Error) => Type::Error,
        (Type::Tuple(x), Type::Tuple(y)) if x.len() == y.len() => {
            Type::Tuple(x.iter().zip(y).map(|(x, y)| join(x, y)).collect())
        }
        (Type::Tensor(x), Type::Tensor(y)) => Type::Tensor(join_tensors(x, y)),
        (Type::Shape(x), Type::Shape(y)) => Type::Shape(match (x.dims(), y.dims()) {
            (Some(p), Some(q)) if same_dims(p, q) => x.clone(),
            _ if x.ndim() == y.ndim() => x.ndim().map_or(ShapeType::Unknown, ShapeType::Rank),
            _ => ShapeType::Unknown,
        }),
        (Type::Callable(x), Type::Callable(y)) if std::sync::Arc::ptr_eq(x, y) => a.clone(),
        (Type::DTensor(x), Type::DTensor(y)) if x.mesh == y.mesh && x.placement == y.placement => a.clone(),
        _ => Type::Any,
    }
}

fn join_tensors(x: &TensorType, y: &TensorType) -> TensorType {
    let shape = match (x.dims(), y.dims()) {
        (Some(p), Some(q)) if same_dims(p, q) => x.shape.clone(),
        _ if x.ndim() == y.ndim() => x.ndim().map_or(TensorShape::Unknown, TensorShape::Rank),
        _ => TensorShape::Unknown,
    };
    let vdevice = x.vdevice.clone().filter(|d| y.vdevice.as_ref().is_some_and(|e| std::sync::Arc::ptr_eq(d, e)));
    TensorType { shape, dtype: x.dtype.filter(|t| y.dtype == Some(*t)), vdevice }
}

fn same_dims(a: &[hammock_ir::PrimExpr], b: &[hammock_ir::PrimExpr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Analyzer::new().prove_eq(a, b))
}
