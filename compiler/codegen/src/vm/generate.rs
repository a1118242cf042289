//! Bindings to instructions.

use super::{CodegenError, ExecBuilder};
use hammock_ir::{
    AttrValue, Function as Global, Module, Name, PrimExpr, Span,
    relax::{Binding, Body, Call, Callee, Function, Operand, Value, Var},
};
use hammock_runtime::executable::{Arg, Executable, FunctionKind, Register};
use std::collections::HashMap;

/// An executable, and where its instructions come from.
pub struct Bytecode {
    /// Functions, constants, instructions.
    pub executable: Executable,
    /// The place in the text of each instruction, by index.
    pub spans: Vec<Span>,
}

/// Writes every Relax function of a lowered module as bytecode.
///
/// # Errors
/// When an operator is left that no pass has lowered.
pub fn generate(module: &Module) -> Result<Bytecode, CodegenError> {
    let mut builder = ExecBuilder::new();
    let mut spans = Vec::new();
    for (name, function) in module.relax_functions() {
        let symbol = module.functions[name].global_symbol().unwrap_or(name);
        let param = |v: &Var| function.vars[*v].name.to_string();
        builder.begin(symbol, function.lambda.params.iter().map(param).collect());
        let mut generator = Generator {
            module,
            name,
            function,
            builder: &mut builder,
            spans: &mut spans,
            registers: function.lambda.params.len(),
            values: HashMap::new(),
            span: function.lambda.span,
        };
        for (i, param) in function.lambda.params.iter().enumerate() {
            generator.values.insert(*param, Arg::Register(Register(i as i64)));
        }
        let result = generator.body(&function.lambda.body)?;
        let result = generator.in_register(result);
        generator.note();
        generator.builder.emit_ret(result);
        let registers = generator.registers;
        spans.resize(builder.position(), function.lambda.span);
        builder.end(registers);
    }
    Ok(Bytecode { executable: builder.finish(), spans })
}

struct Generator<'a> {
    module: &'a Module,
    name: &'a Name,
    function: &'a Function,
    builder: &'a mut ExecBuilder,
    spans: &'a mut Vec<Span>,
    /// Registers in use.
    registers: usize,
    /// Where each variable's value is. A variable that only renames another shares its place.
    values: HashMap<Var, Arg>,
    /// Where the binding being written stands.
    span: Span,
}

impl Generator<'_> {
    fn body(&mut self, body: &Body) -> Result<Arg, CodegenError> {
        for binding in body.bindings() {
            self.span = if binding.span.is_none() { self.span } else { binding.span };
            let value = self.binding(binding)?;
            self.values.insert(binding.var, value);
        }
        self.operand(&body.result)
    }

    fn binding(&mut self, binding: &Binding) -> Result<Arg, CodegenError> {
        match &binding.value {
            Value::Operand(operand) => self.operand(operand),
            Value::TupleGet(tuple, index) => {
                let args = vec![self.operand(tuple)?, Arg::Immediate(*index as i64)];
                Ok(self.packed("vm.builtin.tuple_getitem", args))
            }
            Value::If { cond, then, otherwise } => self.branch(cond, then, otherwise),
            Value::Call(call) => self.call(binding.var, call),
            Value::Function(_) => Err(self.unsupported("a nested function")),
            Value::MatchCast(..) => Err(self.unsupported("a match_cast that VMShapeLower has not lowered")),
        }
    }

    fn call(&mut self, var: Var, call: &Call) -> Result<Arg, CodegenError> {
        match &call.callee {
            Callee::Op(op) => self.operator(op, call, var),
            Callee::Extern(name) => {
                let args = self.operands(&call.args)?;
                Ok(self.packed_unless_void(name, args, var))
            }
            Callee::Global(name) => {
                let args = self.operands(&call.args)?;
                let function = self.global(name)?;
                let dst = self.destination(var);
                self.note();
                self.builder.emit_call(function, args, dst);
                Ok(Arg::Register(dst))
            }
            Callee::Var(v) => {
                let mut args = vec![Arg::Register(Register::VM), self.variable(*v)?];
                args.extend(self.operands(&call.args)?);
                Ok(self.packed_unless_void("vm.builtin.invoke_closure", args, var))
            }
        }
    }

    fn operator(&mut self, op: &'static str, call: &Call, var: Var) -> Result<Arg, CodegenError> {
        match (op, call.args.as_slice()) {
            ("vm.alloc_storage", [size, device, dtype, scope]) => {
                let mut args = vec![Arg::Register(Register::VM)];
                args.extend(self.operands([size, device, dtype, scope])?);
                Ok(self.packed("vm.builtin.alloc_storage", args))
            }
            ("vm.alloc_tensor", [storage, offset, shape, dtype, ..]) => {
                let args = self.operands([storage, offset, shape, dtype])?;
                Ok(self.packed("vm.builtin.alloc_tensor", args))
            }
            ("vm.kill_object", [object]) => {
                if let Arg::Register(register) = self.operand(object)? {
                    self.note();
                    self.builder.emit_packed("vm.builtin.null_value", Vec::new(), register);
                }
                Ok(Arg::Register(Register::VOID))
            }
            ("null_value", []) => Ok(self.packed("vm.builtin.null_value", Vec::new())),
            ("call_builtin_with_ctx", [Operand::Extern(name), Operand::Tuple(inputs)]) => {
                let mut args = vec![Arg::Register(Register::VM)];
                args.extend(self.operands(inputs)?);
                Ok(self.packed_unless_void(name, args, var))
            }
            _ => Err(CodegenError::Operator { op, function: self.name.clone(), span: self.span }),
        }
    }

    /// Both branches leave their result in one register.
    fn branch(&mut self, cond: &Operand, then: &Body, otherwise: &Body) -> Result<Arg, CodegenError> {
        let condition = self.operand(cond)?;
        let condition = self.packed_register("vm.builtin.read_if_cond", vec![condition]);
        self.note();
        let to_else = self.builder.emit_if(condition);
        let result = self.body(then)?;
        let merged = self.new_register();
        self.copy(result, merged);
        self.note();
        let to_end = self.builder.emit_goto();
        self.builder.land(to_else);
        let result = self.body(otherwise)?;
        self.copy(result, merged);
        self.builder.land(to_end);
        Ok(Arg::Register(merged))
    }

    fn operands<'o>(&mut self, operands: impl IntoIterator<Item = &'o Operand>) -> Result<Vec<Arg>, CodegenError> {
        operands.into_iter().map(|o| self.operand(o)).collect()
    }

    fn operand(&mut self, operand: &Operand) -> Result<Arg, CodegenError> {
        match operand {
            Operand::Var(v) => self.variable(*v),
            Operand::Const(c) => Ok(self.builder.tensor(&c.tensor)),
            Operand::Str(text) => Ok(self.builder.str(text)),
            Operand::DType(dtype) if dtype.is_void() => Ok(self.packed("vm.builtin.null_value", Vec::new())),
            Operand::DType(dtype) => Ok(self.builder.dtype(*dtype)),
            Operand::Prim(e) => self.scalar(e),
            Operand::Shape(dims) => {
                let sizes: Option<Vec<i64>> = dims.iter().map(PrimExpr::as_int).collect();
                let sizes =
                    sizes.ok_or_else(|| self.unsupported("a symbolic shape that VMShapeLower has not lowered"))?;
                Ok(self.builder.shape(&sizes))
            }
            Operand::Tuple(fields) => {
                let args = self.operands(fields)?;
                Ok(self.packed("vm.builtin.make_tuple", args))
            }
            Operand::Global(name) => Ok(Arg::Function(self.global(name)?)),
            Operand::Extern(name) => Ok(Arg::Function(self.builder.function(name, FunctionKind::Packed))),
            Operand::Opaque(value) if matches!(**value, AttrValue::None) => {
                Ok(self.packed("vm.builtin.null_value", Vec::new()))
            }
            Operand::Opaque(_) => Err(self.unsupported("a value that exists only when compiling")),
        }
    }

    fn scalar(&mut self, e: &PrimExpr) -> Result<Arg, CodegenError> {
        match (e.as_int(), e.as_float()) {
            (Some(v), _) => Ok(self.builder.int(v)),
            (_, Some(v)) => Ok(self.builder.float(v)),
            _ => Err(self.unsupported("a symbolic scalar that VMShapeLower has not lowered")),
        }
    }

    fn variable(&mut self, var: Var) -> Result<Arg, CodegenError> {
        self.values.get(&var).copied().ok_or_else(|| self.unsupported("a variable used before it is bound"))
    }

    /// The index of a function of the module.
    fn global(&mut self, name: &Name) -> Result<i64, CodegenError> {
        let missing = || CodegenError::Missing { name: name.clone(), function: self.name.clone(), span: self.span };
        let global = self.module.functions.get(name).ok_or_else(missing)?;
        let kind = if matches!(global, Global::Relax(_)) { FunctionKind::Bytecode } else { FunctionKind::Packed };
        Ok(self.builder.function(global.global_symbol().unwrap_or(name), kind))
    }

    fn new_register(&mut self) -> Register {
        self.registers += 1;
        Register(self.registers as i64 - 1)
    }

    /// Where a call's result goes: nowhere when it has none.
    fn destination(&mut self, var: Var) -> Register {
        if self.function.ty(var).is_void() { Register::VOID } else { self.new_register() }
    }

    fn packed(&mut self, name: &str, args: Vec<Arg>) -> Arg {
        Arg::Register(self.packed_register(name, args))
    }

    fn packed_register(&mut self, name: &str, args: Vec<Arg>) -> Register {
        let dst = self.new_register();
        self.note();
        self.builder.emit_packed(name, args, dst);
        dst
    }

    fn packed_unless_void(&mut self, name: &str, args: Vec<Arg>, var: Var) -> Arg {
        let dst = self.destination(var);
        self.note();
        self.builder.emit_packed(name, args, dst);
        Arg::Register(dst)
    }

    fn copy(&mut self, value: Arg, dst: Register) {
        self.note();
        self.builder.emit_packed("vm.builtin.copy", vec![value], dst);
    }

    /// The value in a register that can be returned. A call without result returns an empty tuple.
    fn in_register(&mut self, value: Arg) -> Register {
        match value {
            Arg::Register(Register::VOID) => self.packed_register("vm.builtin.make_tuple", Vec::new()),
            Arg::Register(register) => register,
            other => self.packed_register("vm.builtin.copy", vec![other]),
        }
    }

    /// Notes where the next instruction comes from.
    fn note(&mut self) {
        self.spans.resize(self.builder.position(), self.span);
        self.spans.push(self.span);
    }

    fn unsupported(&self, what: &'static str) -> CodegenError {
        CodegenError::Unsupported { what, function: self.name.clone(), span: self.span }
    }
}
