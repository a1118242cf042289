//! Types of operands and of global functions, found without operators' type rules.

use super::{Function, Lambda, Operand};
use crate::{CallableType, Module, Type, module};
use std::sync::Arc;

impl Function {
    /// The type of an operand in this function.
    pub fn operand_ty(&self, module: &Module, operand: &Operand) -> Type {
        match operand {
            Operand::Var(v) => self.ty(*v).clone(),
            Operand::Const(constant) => constant.ty(),
            Operand::Prim(e) => Type::Prim(e.dtype()),
            Operand::Shape(dims) => Type::shape(dims.iter().cloned()),
            Operand::Str(_) => Type::String,
            Operand::Global(name) => module.functions.get(name).map_or(Type::Any, |f| f.ty()),
            Operand::Extern(_) => Type::Callable(Arc::new(CallableType::opaque())),
            Operand::Tuple(members) => Type::Tuple(members.iter().map(|m| self.operand_ty(module, m)).collect()),
            Operand::DType(_) | Operand::Opaque(_) => Type::Any,
        }
    }

    /// The function's own type.
    pub fn callable_ty(&self) -> CallableType {
        self.lambda_ty(&self.lambda)
    }

    /// The type of a nested function.
    pub fn lambda_ty(&self, lambda: &Lambda) -> CallableType {
        let params = lambda.params.iter().map(|p| self.ty(*p).clone()).collect();
        CallableType { params: Some(params), ret: lambda.ret_ty.clone(), pure: lambda.pure, derive: None }
    }
}

impl CallableType {
    /// The type of an unknown function, which may have side effects.
    pub fn opaque() -> Self {
        CallableType { params: None, ret: Type::Any, pure: false, derive: None }
    }
}

impl module::Function {
    /// The type of a reference to the function. Kernels and external functions without a declared type are opaque.
    pub fn ty(&self) -> Type {
        match self {
            module::Function::Relax(f) => Type::Callable(Arc::new(f.callable_ty())),
            module::Function::Extern(e) if e.ty.is_some() => e.ty.clone().unwrap_or(Type::Any),
            _ => Type::Callable(Arc::new(CallableType::opaque())),
        }
    }
}
