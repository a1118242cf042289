//! Translation of bindings to instructions.

use super::{CodegenError, ExecBuilder, placement};
use hammock_ir::{
    AttrValue, Function as Global, Module, Name, PrimExpr, Span,
    relax::{Binding, Body, Call, Callee, Function, Operand, Value, Var},
};
use hammock_runtime::{
    Shape, Str,
    executable::{Arg, Constant, Executable, FunctionKind, Register},
    image::Placement,
};
use rustc_hash::FxHashMap;

/// An executable with the source spans of its instructions.
pub struct Bytecode {
    /// Functions, constants, instructions.
    pub executable: Executable,
    /// Source span of each instruction, by index.
    pub spans: Vec<Span>,
    /// Devices of constants and parameters, as the types of a module for several devices tell them.
    pub placement: Placement,
}

/// Compiles every Relax function of a lowered module to bytecode.
///
/// # Errors
/// When the module has an operator or symbolic value that passes should have lowered.
pub fn generate(module: &Module) -> Result<Bytecode, CodegenError> {
    let mut builder = ExecBuilder::new();
    let mut spans = Vec::new();
    for (name, function) in module.relax_functions() {
        let symbol = module.functions[name].global_symbol().unwrap_or(name);
        let params = &function.lambda.params;
        let names = params.iter().map(|v| function.vars[*v].name.to_string()).collect();
        builder.begin_function(symbol, params.len(), names);
        let registers = (0..).map(|i| Arg::Register(Register(i)));
        let values = params.iter().copied().zip(registers).collect();
        let (registers, span) = (params.len(), function.lambda.span);
        let (builder, spans) = (&mut builder, &mut spans);
        Generator { module, name, function, builder, spans, registers, values, span }.function()?;
    }
    let placement = placement::placement(module, builder.constant_devices().to_vec());
    let executable = builder.get().map_err(CodegenError::Invalid)?;
    Ok(Bytecode { executable, spans, placement })
}

struct Generator<'a> {
    module: &'a Module,
    name: &'a Name,
    function: &'a Function,
    builder: &'a mut ExecBuilder,
    spans: &'a mut Vec<Span>,
    /// Number of registers in use.
    registers: usize,
    /// Location of each variable's value.
    values: FxHashMap<Var, Arg>,
    /// Source span of the current binding.
    span: Span,
}

impl Generator<'_> {
    fn function(mut self) -> Result<(), CodegenError> {
        let result = self.body(&self.function.lambda.body)?;
        self.span = self.function.lambda.span;
        let result = match result {
            Arg::Register(register) if register != Register::VOID => register,
            other => self.copied(other),
        };
        self.record_span();
        self.builder.emit_ret(result);
        self.builder.end_function();
        Ok(())
    }

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
            // A variable that only renames another needs its own register, since the other may be killed first.
            Value::Operand(Operand::Var(v)) => {
                let value = self.variable(*v)?;
                Ok(Arg::Register(self.copied(value)))
            }
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
                let function = self.builder.declare_function(name, FunctionKind::Packed);
                self.call_index(function, &call.args, var)
            }
            Callee::Global(name) => {
                let function = self.global(name)?;
                self.call_index(function, &call.args, var)
            }
            Callee::Var(v) => {
                let mut args = vec![self.builder.vm_state(), self.variable(*v)?];
                args.extend(self.operands(&call.args)?);
                Ok(self.packed_unless_void("vm.builtin.invoke_closure", args, var))
            }
        }
    }

    /// Calls a function of the table, whose entry precedes those that its arguments add.
    fn call_index(&mut self, function: i64, args: &[Operand], var: Var) -> Result<Arg, CodegenError> {
        let args = self.operands(args)?;
        let dst = self.destination(var);
        self.record_span();
        self.builder.emit_call_index(function, args, dst);
        Ok(Arg::Register(dst))
    }

    fn operator(&mut self, op: &'static str, call: &Call, var: Var) -> Result<Arg, CodegenError> {
        match (op, call.args.as_slice()) {
            ("vm.alloc_storage", [size, device, dtype, scope]) => {
                let mut args = vec![self.builder.vm_state()];
                args.extend(self.operands([size, device, dtype, scope])?);
                Ok(self.packed("vm.builtin.alloc_storage", args))
            }
            ("vm.alloc_tensor", [storage, offset, shape, dtype, ..]) => {
                let args = self.operands([storage, offset, shape, dtype])?;
                Ok(self.packed("vm.builtin.alloc_tensor", args))
            }
            ("vm.kill_object", [object]) => {
                if let Arg::Register(register) = self.operand(object)? {
                    self.record_span();
                    self.builder.emit_call("vm.builtin.null_value", Vec::new(), register);
                }
                Ok(self.builder.void_arg())
            }
            ("null_value", []) => Ok(self.builder.void_arg()),
            ("call_builtin_with_ctx", [Operand::Extern(name), Operand::Tuple(inputs)]) => {
                let mut args = vec![self.builder.vm_state()];
                args.extend(self.operands(inputs)?);
                Ok(self.packed_unless_void(name, args, var))
            }
            _ => Err(CodegenError::Operator { op, function: self.name.clone(), span: self.span }),
        }
    }

    /// Compiles a branch; both sides write the same result register.
    fn branch(&mut self, cond: &Operand, then: &Body, otherwise: &Body) -> Result<Arg, CodegenError> {
        let condition = self.operand(cond)?;
        let condition = self.packed_register("vm.builtin.read_if_cond", vec![condition]);
        self.record_span();
        let to_else = self.builder.emit_if(condition, 0);
        let result = self.body(then)?;
        let merged = self.new_register();
        self.copy(result, merged);
        self.record_span();
        let to_end = self.builder.emit_goto(0);
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
            Operand::Const(c) => {
                let scope = c.vdevice.as_ref().map(|device| &*device.scope);
                let device = c.vdevice.as_ref().map_or(0, |device| placement::number(device));
                Ok(self.builder.tensor(c.tensor.clone(), scope, device))
            }
            Operand::Str(text) => Ok(self.builder.c(Constant::Str(Str::new(text)))),
            Operand::DType(dtype) if dtype.is_void() => Ok(self.builder.void_arg()),
            Operand::DType(dtype) => Ok(self.builder.c(Constant::DType(*dtype))),
            Operand::Prim(e) => self.scalar(e),
            Operand::Shape(dims) => {
                let sizes: Option<Vec<i64>> = dims.iter().map(PrimExpr::as_int).collect();
                let sizes =
                    sizes.ok_or_else(|| self.unsupported("a symbolic shape that VMShapeLower has not lowered"))?;
                Ok(self.builder.c(Constant::Shape(Shape::new(&sizes))))
            }
            Operand::Tuple(fields) => {
                let args = self.operands(fields)?;
                Ok(self.packed("vm.builtin.make_tuple", args))
            }
            Operand::Global(name) => Ok(Arg::Function(self.global(name)?)),
            Operand::Extern(name) => Ok(self.builder.f(name)),
            Operand::Opaque(value) if matches!(**value, AttrValue::None) => Ok(self.builder.void_arg()),
            Operand::Opaque(_) => Err(self.unsupported("a value that exists only when compiling")),
        }
    }

    fn scalar(&mut self, e: &PrimExpr) -> Result<Arg, CodegenError> {
        match (e.as_int(), e.as_float()) {
            (Some(v), _) => Ok(self.builder.imm(v)),
            (_, Some(v)) => Ok(self.builder.c(Constant::Float(v))),
            _ => Err(self.unsupported("a symbolic scalar that VMShapeLower has not lowered")),
        }
    }

    fn variable(&mut self, var: Var) -> Result<Arg, CodegenError> {
        self.values.get(&var).copied().ok_or_else(|| self.unsupported("a variable used before it is bound"))
    }

    /// Returns the index of a function of the module.
    fn global(&mut self, name: &Name) -> Result<i64, CodegenError> {
        let missing = || CodegenError::Missing { name: name.clone(), function: self.name.clone(), span: self.span };
        let global = self.module.functions.get(name).ok_or_else(missing)?;
        let kind = if matches!(global, Global::Relax(_)) { FunctionKind::Bytecode } else { FunctionKind::Packed };
        Ok(self.builder.declare_function(global.global_symbol().unwrap_or(name), kind))
    }

    fn new_register(&mut self) -> Register {
        self.registers += 1;
        Register(self.registers as i64 - 1)
    }

    /// Returns the destination of a call's result; void if it has none.
    fn destination(&mut self, var: Var) -> Register {
        if self.function.ty(var).is_void() { Register::VOID } else { self.new_register() }
    }

    fn packed(&mut self, name: &str, args: Vec<Arg>) -> Arg {
        Arg::Register(self.packed_register(name, args))
    }

    fn packed_register(&mut self, name: &str, args: Vec<Arg>) -> Register {
        let dst = self.new_register();
        self.record_span();
        self.builder.emit_call(name, args, dst);
        dst
    }

    fn packed_unless_void(&mut self, name: &str, args: Vec<Arg>, var: Var) -> Arg {
        let dst = self.destination(var);
        self.record_span();
        self.builder.emit_call(name, args, dst);
        Arg::Register(dst)
    }

    fn copy(&mut self, value: Arg, dst: Register) {
        self.record_span();
        self.builder.emit_call("vm.builtin.copy", vec![value], dst);
    }

    /// Copies a value to a new register.
    fn copied(&mut self, value: Arg) -> Register {
        self.packed_register("vm.builtin.copy", vec![value])
    }

    /// Records the source span of the next instruction.
    fn record_span(&mut self) {
        self.spans.resize(self.builder.position(), self.span);
        self.spans.push(self.span);
    }

    fn unsupported(&self, what: &'static str) -> CodegenError {
        CodegenError::Unsupported { what, function: self.name.clone(), span: self.span }
    }
}
