//! Prints operands.

use super::printer::Printer;
use crate::relax::Operand;

impl Printer<'_> {
    /// Appends an operand.
    pub fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Var(var) => self.relax_var(*var),
            Operand::Const(constant) => self.constant(constant),
            Operand::Prim(e) => self.expr(e),
            Operand::Shape(dims) => {
                self.relax("shape([");
                self.list(dims, |p, d| p.dim(d));
                self.push("])");
            }
            Operand::Str(text) => {
                self.relax("str(");
                self.quote(text);
                self.push(")");
            }
            Operand::DType(dtype) => {
                self.relax("dtype(");
                self.quote(&dtype.to_string());
                self.push(")");
            }
            Operand::Global(name) => self.global(name),
            Operand::Extern(symbol) => {
                self.relax("ExternFunc(");
                self.quote(symbol);
                self.push(")");
            }
            Operand::Tuple(members) if members.is_empty() => self.relax("tuple()"),
            Operand::Tuple(members) => self.tuple(members, |p, m| p.operand(m)),
            Operand::Opaque(value) => self.attr(value),
        }
    }

    /// Appends the first operand of a call: an external function is printed by its bare name.
    pub fn callee_operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Extern(symbol) => self.quote(symbol),
            other => self.operand(other),
        }
    }
}
