//! Shared by passes that convert tensors (to another layout, dtype or device), also those inside of tuples.

use crate::rewrite::Emitter;
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, Span, TensorType, Type,
    relax::{Call, Function, Operand, Value, Var},
};

/// An operand, converted.
pub enum Converted {
    /// This one: a tensor that stays what it is, or a tuple.
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

/// The call that converts a tensor, or nothing where it stays what it is. It is asked with the place of the tensor
/// (empty, or the indices into nested tuples) and its type.
pub type Conversion<'a> = dyn Fn(&[usize], &Operand, &TensorType) -> Option<Call> + 'a;

/// Where operands are converted.
pub struct Site<'a> {
    /// The module.
    pub module: &'a Module,
    /// The function that gets new variables.
    pub function: &'a mut Function,
    /// What takes the bindings.
    pub out: &'a mut Emitter,
    /// The place in the text that they come from.
    pub span: Span,
}

impl Site<'_> {
    /// An operand with each tensor in it converted; what is needed for that is bound. A tuple that is not written out
    /// is taken apart, if something in it is converted.
    ///
    /// # Errors
    /// When a conversion breaks its operator's rule.
    pub fn convert(&mut self, operand: Operand, conversion: &Conversion) -> Result<Operand, Diagnostic> {
        let converted = self.converted(operand, conversion)?;
        self.bound(converted)
    }

    /// The same, but the conversion of a lone tensor is not bound yet.
    ///
    /// # Errors
    /// As for [`Site::convert`].
    pub fn converted(&mut self, operand: Operand, conversion: &Conversion) -> Result<Converted, Diagnostic> {
        let ty = self.function.operand_ty(self.module, &operand);
        self.at(operand, &ty, &mut Vec::new(), conversion)
    }

    fn bound(&mut self, converted: Converted) -> Result<Operand, Diagnostic> {
        match converted {
            Converted::Is(operand) => Ok(operand),
            Converted::By(call) => Ok(self.out.call(self.module, self.function, "lv", call, self.span)?.into()),
        }
    }

    fn at(
        &mut self,
        operand: Operand,
        ty: &Type,
        place: &mut Vec<usize>,
        conversion: &Conversion,
    ) -> Result<Converted, Diagnostic> {
        let members = match ty {
            Type::Tensor(tensor) => {
                let call = conversion(place, &operand, tensor);
                return Ok(call.map_or(Converted::Is(operand), Converted::By));
            }
            Type::Tuple(members) if converts(&operand, ty, place, conversion) => members,
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
            place.push(i);
            let converted = self.at(member, ty, place, conversion)?;
            place.pop();
            fields.push(self.bound(converted)?);
        }
        Ok(Converted::Is(Operand::Tuple(fields)))
    }
}

/// Returns true if something in it is converted.
fn converts(operand: &Operand, ty: &Type, place: &mut Vec<usize>, conversion: &Conversion) -> bool {
    match ty {
        Type::Tensor(tensor) => conversion(place, operand, tensor).is_some(),
        Type::Tuple(members) => members.iter().enumerate().any(|(i, ty)| {
            place.push(i);
            let found = converts(operand, ty, place, conversion);
            place.pop();
            found
        }),
        _ => false,
    }
}

/// The variables that bodies nested in a value use, of those that `is` holds for.
pub fn captured(value: &Value, is: impl Fn(Var) -> bool) -> Vec<Var> {
    let mut captured = Vec::new();
    value.each_body(&mut |body| body.each_use(&mut |v| captured.push(v)));
    captured.retain(|v| is(*v));
    captured.sort_unstable();
    captured.dedup();
    captured
}
