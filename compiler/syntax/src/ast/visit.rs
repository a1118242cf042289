//! The direct parts of nodes, in source order.

use super::{Expr, ExprKind, Index, Slice, Stmt, StmtKind};

impl Expr {
    /// Calls a function with each direct subexpression.
    pub fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match &self.kind {
            ExprKind::Tuple(items) | ExprKind::List(items) | ExprKind::Set(items) | ExprKind::BoolChain(_, items) => {
                items.iter().for_each(f);
            }
            ExprKind::Dict(items) => items.iter().flat_map(|(key, value)| [key, value]).for_each(f),
            ExprKind::Attribute(attribute) => f(&attribute.value),
            ExprKind::Call(call) => {
                f(&call.func);
                call.args.iter().for_each(|arg| f(&arg.value));
            }
            ExprKind::Subscript(subscript) => {
                f(&subscript.value);
                subscript.indices.iter().for_each(|index| index.each_child(f));
            }
            ExprKind::Unary(_, operand) | ExprKind::Starred(operand) => f(operand),
            ExprKind::Binary(binary) => {
                f(&binary.first);
                binary.rest.iter().for_each(|(_, operand)| f(operand));
            }
            ExprKind::Compare(compare) => {
                f(&compare.first);
                compare.rest.iter().for_each(|(_, operand)| f(operand));
            }
            ExprKind::Lambda(lambda) => f(&lambda.body),
            ExprKind::If(choice) => [&choice.then, &choice.cond, &choice.orelse].into_iter().for_each(f),
            ExprKind::Comprehension(comprehension) => {
                f(&comprehension.element);
                comprehension.value.iter().for_each(&mut *f);
                for clause in &comprehension.clauses {
                    [&clause.target, &clause.iter].into_iter().chain(&clause.conditions).for_each(&mut *f);
                }
            }
            ExprKind::Name(_) | ExprKind::Int(_) | ExprKind::BigInt(_) | ExprKind::Float(_) | ExprKind::Str(_) => {}
            ExprKind::Bytes(_) | ExprKind::Bool(_) | ExprKind::None | ExprKind::Ellipsis | ExprKind::Error => {}
        }
    }
}

impl Index {
    /// Calls a function with each direct subexpression.
    pub fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Index::Expr(expr) => f(expr),
            Index::Slice(slice) => {
                let Slice { start, end, step, .. } = &**slice;
                [start, end, step].into_iter().flatten().for_each(f);
            }
        }
    }
}

impl Stmt {
    /// Calls a function with each expression of the statement itself, not of the statements in its blocks.
    pub fn each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match &self.kind {
            StmtKind::Expr(expr) => f(expr),
            StmtKind::Assign(assign) => assign.targets.iter().chain([&assign.value]).for_each(f),
            StmtKind::AnnAssign(assign) => {
                [&assign.target, &assign.annotation].into_iter().chain(&assign.value).for_each(f)
            }
            StmtKind::AugAssign(assign) => [&assign.target, &assign.value].into_iter().for_each(f),
            StmtKind::With(with) => {
                with.items.iter().flat_map(|(context, target)| [context].into_iter().chain(target)).for_each(f)
            }
            StmtKind::For(each) => [&each.target, &each.iter].into_iter().for_each(f),
            StmtKind::While(repeat) => f(&repeat.cond),
            StmtKind::If(choice) => f(&choice.cond),
            StmtKind::Return(value) => value.iter().for_each(f),
            StmtKind::Assert(assert) => [&assert.cond].into_iter().chain(&assert.msg).for_each(f),
            StmtKind::FunctionDef(function) => {
                function.decorators.iter().for_each(&mut *f);
                function.type_params.iter().filter_map(|param| param.bound.as_ref()).for_each(&mut *f);
                let params = function.params.iter().flat_map(|param| param.annotation.iter().chain(&param.default));
                params.chain(&function.returns).for_each(f);
            }
            StmtKind::ClassDef(class) => {
                class.decorators.iter().chain(class.args.iter().map(|arg| &arg.value)).for_each(f);
            }
            StmtKind::Pass | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Import(_) | StmtKind::FromImport(_) => {}
        }
    }

    /// The statements of its blocks.
    pub fn block(&self) -> impl Iterator<Item = &Stmt> {
        let (body, orelse): (&[Stmt], &[Stmt]) = match &self.kind {
            StmtKind::With(with) => (&with.body, &[]),
            StmtKind::For(each) => (&each.body, &[]),
            StmtKind::While(repeat) => (&repeat.body, &[]),
            StmtKind::If(choice) => (&choice.then, &choice.orelse),
            StmtKind::FunctionDef(function) => (&function.body, &[]),
            StmtKind::ClassDef(class) => (&class.body, &[]),
            _ => (&[], &[]),
        };
        body.iter().chain(orelse)
    }
}
