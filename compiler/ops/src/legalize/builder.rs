//! The kernel under construction: its parameters, symbolic variables and stages.

use super::{
    Legalized,
    input::{Input, scalar_constant},
};
use crate::{CallContext, text::kind_text};
use hammock_ir::{
    Attrs, PrimExpr, Span, TensorType, Type,
    prim::{Substitution, Var},
    relax::{InferError, Operand},
    tir::{Block, Buffer, Param, PrimFunc, Stmt, StmtKind},
    types::ShapeType,
};

/// Builds one PrimFunc for a call.
pub struct Builder<'a> {
    pub(super) cx: &'a CallContext<'a>,
    name: &'a str,
    pub(super) out_ty: Type,
    /// The kernel's variables for those of the Relax function, in order of first use.
    symbols: Vec<(Var, Var)>,
    values: Substitution,
    inputs: Vec<(Operand, Buffer)>,
    outputs: Vec<Buffer>,
    allocs: Vec<Buffer>,
    stages: Vec<Stmt>,
}

impl<'a> Builder<'a> {
    /// Starts a function of that name.
    ///
    /// # Errors
    /// When the call has no type.
    pub fn new(cx: &'a CallContext<'a>, name: &'a str) -> Result<Self, InferError> {
        let out_ty = cx.result_ty()?;
        Ok(Builder {
            cx,
            name,
            out_ty,
            symbols: Vec::new(),
            values: Substitution::default(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            allocs: Vec::new(),
            stages: Vec::new(),
        })
    }

    /// A scalar expression of the Relax function, in the variables of this one.
    pub fn dim(&mut self, expr: &PrimExpr) -> PrimExpr {
        expr.each_var(&mut |v| {
            if !self.values.contains_key(v) {
                let own = v.fresh();
                self.values.insert(v.clone(), own.expr());
                self.symbols.push((v.clone(), own));
            }
        });
        expr.substitute(&self.values)
    }

    /// Dimensions of the Relax function, in the variables of this one.
    pub fn dims(&mut self, dims: &[PrimExpr]) -> Vec<PrimExpr> {
        dims.iter().map(|d| self.dim(d)).collect()
    }

    /// A tensor or scalar operand. Rank-0 constants become immediates.
    ///
    /// # Errors
    /// When it is missing, something else, or of unknown shape or dtype.
    pub fn input(&mut self, param: &str) -> Result<Input, InferError> {
        let operand = self.cx.operand(param)?;
        self.bind(param, param, operand)
    }

    /// A tensor operand that may be absent.
    ///
    /// # Errors
    /// As for [`Builder::input`].
    pub fn optional_input(&mut self, param: &str) -> Result<Option<Input>, InferError> {
        self.cx.optional(param).map(|operand| self.bind(param, param, operand)).transpose()
    }

    /// The members of a tuple-of-tensors operand.
    ///
    /// # Errors
    /// When it is missing, no tuple literal, or a member has an unknown shape or dtype.
    pub fn inputs(&mut self, param: &str) -> Result<Vec<Input>, InferError> {
        match self.cx.operand(param)? {
            Operand::Tuple(members) => {
                let bind = |(i, m)| self.bind(param, &format!("{param}_{i}"), m);
                members.iter().enumerate().map(bind).collect()
            }
            _ => Err(self.cx.error_at(param, format_args!("`{param}` must be written out as a tuple"))),
        }
    }

    fn bind(&mut self, param: &str, name: &str, operand: &Operand) -> Result<Input, InferError> {
        if let Some(value) = self.cx.scalar(operand) {
            return Ok(Input::Scalar(self.dim(&value)));
        }
        if let Operand::Const(c) = operand
            && let Some(value) = scalar_constant(&c.tensor)
        {
            return Ok(Input::Scalar(value));
        }
        match self.cx.type_of(operand) {
            Type::Tensor(t) => self.buffer(param, name, operand, &t),
            Type::DTensor(t) => self.buffer(param, name, operand, &t.tensor),
            other => {
                Err(self.cx.error_at(param, format_args!("`{param}` must be a tensor, not {}", kind_text(&other))))
            }
        }
    }

    /// A parameter for a tensor; the same variable given twice is one parameter.
    fn buffer(&mut self, param: &str, name: &str, operand: &Operand, ty: &TensorType) -> Result<Input, InferError> {
        let before = |o: &Operand| o.as_var().is_some() && o.as_var() == operand.as_var();
        if let Some((_, buffer)) = self.inputs.iter().find(|(o, _)| before(o)) {
            return Ok(Input::Buffer(buffer.clone()));
        }
        let (Some(shape), Some(dtype)) = (ty.dims(), ty.dtype) else {
            return Err(self.unknown(param));
        };
        let buffer = Buffer::new(name, self.dims(shape), dtype);
        self.inputs.push((operand.clone(), buffer.clone()));
        Ok(Input::Buffer(buffer))
    }

    /// A scalar operand.
    ///
    /// # Errors
    /// When it is missing or no scalar.
    pub fn prim(&mut self, param: &str) -> Result<PrimExpr, InferError> {
        let value = self.cx.prim(param)?;
        Ok(self.dim(&value))
    }

    /// The scalars of a tuple operand.
    ///
    /// # Errors
    /// When it is missing, something else, or a variable.
    pub fn prims(&mut self, param: &str) -> Result<Vec<PrimExpr>, InferError> {
        match self.cx.prims(param)? {
            Some(values) => Ok(self.dims(&values)),
            None => Err(self.cx.error_at(param, format_args!("`{param}` must be written out as a tuple"))),
        }
    }

    /// The dimensions of a shape operand.
    ///
    /// # Errors
    /// When it is missing, no shape, or not known.
    pub fn shape(&mut self, param: &str) -> Result<Vec<PrimExpr>, InferError> {
        match self.cx.shape(param)? {
            ShapeType::Known(dims) => Ok(self.dims(&dims)),
            _ => Err(self.unknown(param)),
        }
    }

    pub(super) fn unknown(&self, param: &str) -> InferError {
        self.cx
            .error_at(param, format_args!("cannot be compiled while shape and dtype of `{param}` are not known"))
            .help("give them with R.match_cast")
    }

    /// The type of the call's result.
    pub fn out_ty(&self) -> &Type {
        &self.out_ty
    }

    /// The buffer of the call's result, or of its next member if it is a tuple.
    ///
    /// # Errors
    /// When its shape or dtype is not known, or there is no further one.
    pub fn output(&mut self, name: &str) -> Result<Buffer, InferError> {
        let ty = match &self.out_ty {
            Type::Tuple(members) => members.get(self.outputs.len()).cloned(),
            ty => Some(ty.clone()),
        };
        let known = ty.as_ref().and_then(Type::as_tensor).and_then(|t| Some((t.dims()?.to_vec(), t.dtype?)));
        let Some((dims, dtype)) = known else {
            return Err(self
                .cx
                .error("cannot be compiled while shape and dtype of its result are not known")
                .help("give shapes of operands with R.match_cast"));
        };
        let buffer = Buffer::new(name, self.dims(&dims), dtype);
        self.outputs.push(buffer.clone());
        Ok(buffer)
    }

    pub(super) fn alloc(&mut self, buffer: Buffer) -> Buffer {
        self.allocs.push(buffer.clone());
        buffer
    }

    pub(super) fn push(&mut self, stage: Stmt) {
        self.stages.push(stage);
    }

    /// Adds an annotation to the last block.
    pub(super) fn annotate_last(&mut self, name: &str, value: i64) {
        let mut inner = self.stages.last_mut();
        while let Some(stmt) = inner {
            inner = match &mut stmt.kind {
                StmtKind::For(l) => Some(&mut l.body),
                StmtKind::Block(block) => {
                    block.annotations.set(name, value);
                    None
                }
                _ => None,
            };
        }
    }

    /// Finishes the function.
    pub fn finish(self) -> Legalized {
        let mut args: Vec<Operand> = self.inputs.iter().map(|(o, _)| o.clone()).collect();
        let mut params: Vec<Param> = self.inputs.iter().map(|(_, b)| Param::buffer(b.clone())).collect();
        let buffers = || self.inputs.iter().map(|(_, b)| b).chain(&self.outputs);
        let defined = |v: &Var| buffers().any(|b| b.shape.iter().any(|d| d.as_var() == Some(v)));
        for (theirs, own) in self.symbols.iter().filter(|(_, own)| !defined(own)) {
            let var = self.cx.function.var_of_scalar(theirs);
            args.push(var.map_or_else(|| Operand::Prim(theirs.expr()), Operand::Var));
            params.push(Param::scalar(own.clone()));
        }
        params.extend(self.outputs.iter().map(|b| Param::buffer(b.clone())));
        let body = Block::root(self.allocs, Stmt::seq(self.stages)).into();
        let attrs = Attrs::new().with("tirx.noalias", true);
        let func = PrimFunc { params, ret_ty: None, body, attrs, s_tir: true, span: Span::default() };
        Legalized { name: self.name.to_owned(), func, args, out_ty: self.out_ty }
    }
}
