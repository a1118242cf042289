//! Conversion of tensors (to another layout, dtype or device), also inside tuples.

use crate::rewrite::Emitter;
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, Span, TensorType, Type,
    relax::{Call, Function, Operand, Value, Var},
};

/// A converted operand.
pub enum Converted {
    /// An operand: an unchanged tensor, or a tuple.
    Is(Operand),
    /// The result of this call.
    By(Call),
}

impl From<Converted> for Value {
    fn from(converted: Converted) -> Self {
        match converted {
            Converted::Is(operand) => Value::Operand(operand),
            Converted::By(call) => Value::Call(call),
        }
    }
}

/// Returns the call that converts a tensor, or `None` if it stays unchanged. The arguments are the position of the
/// tensor (empty, or the indices into nested tuples), the operand and its type.
pub type Conversion<'a> = dyn Fn(&[usize], &Operand, &TensorType) -> Option<Call> + 'a;

/// Insertion point of conversions.
pub struct Site<'a> {
    /// The module.
    pub module: &'a Module,
    /// Function that gets new variables.
    pub function: &'a mut Function,
    /// Receives the bindings.
    pub out: &'a mut Emitter,
    /// Span of the new bindings.
    pub span: Span,
}

impl Site<'_> {
    /// Converts each tensor in an operand and binds the conversions. A tuple that is not a literal is taken apart if
    /// something in it is converted.
    ///
    /// # Errors
    /// If a conversion breaks its operator's type rule.
    pub fn convert(&mut self, operand: Operand, conversion: &Conversion) -> Result<Operand, Diagnostic> {
        let converted = self.convert_unbound(operand, conversion)?;
        self.bind_converted(converted)
    }

    /// Like [`Site::convert`], but the conversion of a single tensor is not bound.
    ///
    /// # Errors
    /// As for [`Site::convert`].
    pub fn convert_unbound(&mut self, operand: Operand, conversion: &Conversion) -> Result<Converted, Diagnostic> {
        let ty = self.function.operand_ty(self.module, &operand);
        self.at(operand, &ty, &mut Vec::new(), conversion)
    }

    fn bind_converted(&mut self, converted: Converted) -> Result<Operand, Diagnostic> {
        match converted {
            Converted::Is(operand) => Ok(operand),
            Converted::By(call) => Ok(self.out.call(self.module, self.function, "lv", call, self.span)?.into()),
        }
    }

    fn at(
        &mut self,
        operand: Operand,
        ty: &Type,
        position: &mut Vec<usize>,
        conversion: &Conversion,
    ) -> Result<Converted, Diagnostic> {
        let members = match ty {
            Type::Tensor(tensor) => {
                let call = conversion(position, &operand, tensor);
                return Ok(call.map_or(Converted::Is(operand), Converted::By));
            }
            Type::Tuple(members) if converts(&operand, ty, position, conversion) => members,
            _ => return Ok(Converted::Is(operand)),
        };
        let mut fields = Vec::with_capacity(members.len());
        for (i, ty) in members.iter().enumerate() {
            let member = match &operand {
                Operand::Tuple(fields) => fields[i].clone(),
                tuple => {
                    let value = Value::TupleGet(tuple.clone(), i);
                    self.out.bind(self.function, "lv", ty.clone(), value, self.span).into()
                }
            };
            position.push(i);
            let converted = self.at(member, ty, position, conversion)?;
            position.pop();
            fields.push(self.bind_converted(converted)?);
        }
        Ok(Converted::Is(Operand::Tuple(fields)))
    }
}

/// Returns true if a tensor in the operand is converted.
fn converts(operand: &Operand, ty: &Type, position: &mut Vec<usize>, conversion: &Conversion) -> bool {
    match ty {
        Type::Tensor(tensor) => conversion(position, operand, tensor).is_some(),
        Type::Tuple(members) => members.iter().enumerate().any(|(i, ty)| {
            position.push(i);
            let found = converts(operand, ty, position, conversion);
            position.pop();
            found
        }),
        _ => false,
    }
}

/// Returns the variables that nested bodies of a value use and for which `is` is true.
pub fn captured_vars(value: &Value, is: impl Fn(Var) -> bool) -> Vec<Var> {
    let mut captured = Vec::new();
    value.each_body(&mut |body| body.each_use(&mut |v| captured.push(v)));
    captured.retain(|v| is(*v));
    captured.sort_unstable();
    captured.dedup();
    captured
}
