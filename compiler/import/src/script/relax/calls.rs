//! Calls of `R.…` other than operators, and type arguments of calls.

use super::RelaxEval;
use crate::script::{
    args::{Arg, Args},
    builtins,
    context::{Read, TrailingScalars},
    path::{Form, Path, Space},
    suggest,
    value::{Pending, Value},
};
use hammock_diagnostics::{Diagnostic, codes, count};
use hammock_ir::{
    Attrs, Type,
    relax::{Call, CallTir, Callee, Operand, Value as IrValue},
};

/// What `R` has other than operators.
pub(crate) const OTHERS: [Form; 17] = [
    Form::new("const", r#"R.const([1.0, 2.0], "float32")"#, "A constant tensor."),
    Form::new("shape", "R.shape([n, 4])", "A shape as a value."),
    Form::new("str", r#"R.str("text")"#, "A string as a value."),
    Form::new("dtype", r#"R.dtype("float32")"#, "A dtype as a value."),
    Form::new("tuple", "R.tuple(a, b)", "A tuple of values."),
    Form::new("prim_value", "R.prim_value(n)", "A scalar as a value."),
    Form::new("TupleGetItem", "R.TupleGetItem(pair, 0)", "A field of a tuple: `pair[0]`."),
    Form::new(
        "match_cast",
        r#"y = R.match_cast(x, R.Tensor((n, 4), "float32"))"#,
        "Checks a value's type at run time, and binds the sizes in it.",
    ),
    Form::new("func_attr", r#"R.func_attr({"num_input": 1})"#, "Attributes of the function."),
    Form::new("output", "R.output(y)", "The variables of a dataflow block that are used after it."),
    Form::new(
        "dataflow",
        "with R.dataflow():",
        "A part of a function without effects and control flow, which passes may reorder.",
    ),
    Form::new(
        "call_packed",
        r#"R.call_packed("name", x, ty_args=R.Tensor)"#,
        "Calls a function of the runtime or of the host by name.",
    ),
    Form::new("ExternFunc", r#"R.ExternFunc("name")"#, "A function of the runtime or of the host, by name."),
    Form::new("device", r#"R.device("cpu", 0)"#, "A device as a value."),
    Form::new(
        "Tensor",
        r#"x: R.Tensor((n, 4), "float32")"#,
        "The type of tensors of a shape and dtype, either of which may be left out.",
    ),
    Form::new("Tuple", "pair: R.Tuple(R.Tensor, R.Shape)", "The type of tuples with fields of these types."),
    Form::new(
        "Callable",
        "f: R.Callable((R.Tensor,), R.Tensor)",
        "The type of functions with parameters and a result of these types.",
    ),
];

/// Keywords that name the types of results, over all versions.
const OUT_TYPES: [&str; 3] = ["out_ty", "out_sinfo", "out_type"];
const TYPE_ARGS: [&str; 3] = ["ty_args", "sinfo_args", "type_args"];

impl RelaxEval<'_, '_> {
    /// A call of something in `R`.
    pub(super) fn relax_call(&mut self, path: &Path, mut args: Args) -> Read<Value> {
        let span = args.span;
        match &*path.name {
            "const" | "dist.const" => self.const_call(args),
            "prim_value" => {
                let arg = self.first(args)?;
                match arg.value {
                    Value::Operand(_) | Value::Unbound(_) => Ok(arg.value),
                    _ => self.to_scalar(&arg).map(Value::Scalar),
                }
            }
            "shape" | "ShapeExpr" => {
                let dims = self.first(args)?;
                self.dims(&dims).map(|dims| Value::Operand(Operand::Shape(dims)))
            }
            "str" | "StringImm" => {
                let text = self.first(args)?;
                self.to_str(&text).map(|text| Value::Operand(Operand::Str(text)))
            }
            "dtype" | "DataTypeImm" => {
                let dtype = self.first(args)?;
                self.to_dtype(&dtype).map(|dtype| Value::Operand(Operand::DType(dtype)))
            }
            "tuple" => {
                let mut items = Vec::new();
                while let Some(arg) = args.positional.pop_front() {
                    items.push(self.to_operand(&arg)?);
                }
                args.finish(self.cx)?;
                Ok(Value::Operand(Operand::Tuple(items)))
            }
            "TupleGetItem" => {
                let tuple = args.need(self.cx, "tuple_value")?;
                let index = args.need(self.cx, "index")?;
                args.finish(self.cx)?;
                let operand = self.to_operand(&tuple)?;
                self.member(operand, &index, &tuple, span)
            }
            "match_cast" => {
                let value = args.need(self.cx, "value")?;
                let ty = match args.take("ty") {
                    Some(ty) => ty,
                    None => match args.any_keyword(&["struct_info", "sinfo"]) {
                        Some(ty) => ty,
                        None => args.need(self.cx, "ty")?,
                    },
                };
                args.finish(self.cx)?;
                let operand = self.to_operand(&value)?;
                let value = IrValue::MatchCast(operand, self.to_type(&ty)?);
                Ok(Value::Unbound(Box::new(Pending { value, args: vec![span], attrs: Vec::new(), span })))
            }
            "func_attr" => {
                let attrs = self.first(args)?;
                let attrs = self.to_attrs(&attrs)?;
                attrs.iter().for_each(|(key, value)| self.dialect.attrs.set(key.clone(), value.clone()));
                Ok(Value::None)
            }
            "output" => self.output(args),
            "ExternFunc" => builtins::extern_func(self, args),
            "device" | "cpu" | "cuda" | "rocm" | "metal" | "vulkan" | "opencl" => self.device(&path.name, args),
            "call_packed" => self.call_packed(args),
            "dataflow" | "function" => {
                let message = format!("`{path}` is not allowed in an expression");
                Err(self.cx.error(codes::MEANINGLESS_SYNTAX, span, message, ""))
            }
            // Distributed results are declared by their types.
            name => match hammock_ops::lookup(if name == "dist.call_tir" { "call_tir" } else { name }) {
                Some(op) => {
                    let ty_args = self.call_types(&mut args)?;
                    self.prepare(op.name, &mut args, &ty_args)?;
                    self.op_call(op, args, ty_args)
                }
                None if builtins::is_builtin(path) => builtins::call(self, path, args),
                None => {
                    let known: Vec<&str> =
                        hammock_ops::ops().map(|op| op.name).chain(OTHERS.map(|form| form.name)).collect();
                    Err(self.unknown(path, args.callee_span, &known))
                }
            },
        }
    }

    /// Takes the type arguments of a call: by keyword, or by position.
    fn call_types(&mut self, args: &mut Args) -> Read<Vec<Type>> {
        let out = args.any_keyword(&OUT_TYPES);
        let given = args.any_keyword(&TYPE_ARGS);
        let mut types = Vec::new();
        let mut places = Vec::new();
        if let Some(arg) = out {
            places.push(arg.span);
            types.push(self.out_type(&arg).unwrap_or(Type::Error));
        }
        if let Some(arg) = given.filter(|arg| !matches!(arg.value, Value::None)) {
            types.extend(self.to_types(&arg).unwrap_or_else(|_| vec![Type::Error]));
        }
        let mut kept = std::collections::VecDeque::new();
        while let Some(arg) = args.positional.pop_front() {
            if is_type(&arg.value) {
                places.push(arg.span);
                types.push(self.out_type(&arg).unwrap_or(Type::Error));
            } else {
                kept.push_back(arg);
            }
        }
        args.positional = kept;
        let [_, second, ..] = places.as_slice() else { return Ok(types) };
        let message = format!("`{}` takes one type", args.callee);
        let diagnostic = Diagnostic::error(codes::WRONG_ARGUMENTS, message).label(*second, "one too many");
        Err(self.cx.report(diagnostic.help("those of several results are a list: `out_ty=[R.Tensor(…), R.Tensor(…)]`")))
    }

    /// The type of a result; the tuple type of several.
    fn out_type(&mut self, arg: &Arg) -> Read<Type> {
        match &arg.value {
            Value::List(_) => self.to_types(arg).map(Type::Tuple),
            _ => self.to_type(arg),
        }
    }

    /// Converts older and looser forms of some calls to the declared form of the operator.
    fn prepare(&mut self, op: &str, args: &mut Args, ty_args: &[Type]) -> Read<()> {
        match op {
            _ if CallTir::OPS.contains(&op) => self.prepare_call_tir(args, ty_args),
            // The device is one argument in the text and several in the IR.
            "hint_on_device" => {
                let device = args.positional.get(1).cloned().or_else(|| args.keyword("dst_vdevice"));
                if let Some(Arg { value: Value::Dict(parts), span }) = device {
                    let parts = parts.into_iter().map(|(_, value)| Arg { value, span });
                    let rest = args.positional.split_off(args.positional.len().min(2));
                    args.positional.truncate(1);
                    args.positional.extend(parts);
                    args.positional.extend(rest);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The operands of `call_tir` are one tuple. In older texts a single one needs no tuple, and scalars are separate.
    fn prepare_call_tir(&mut self, args: &mut Args, ty_args: &[Type]) -> Read<()> {
        if let Some(third) = args.positional.get(2).filter(|_| ty_args.is_empty()).cloned() {
            // An argument in the type's position that is no type.
            self.out_type(&third)?;
        }
        let Some(inputs) = args.positional.get(1).cloned().or_else(|| args.keyword("args")) else { return Ok(()) };
        let mut items = match inputs.value.elements() {
            Some(items) => items.to_vec(),
            None => match &inputs.value {
                Value::Broken => return Ok(()),
                Value::Operand(operand) if matches!(self.type_of(operand), Type::Tuple(_)) => {
                    args.positional.truncate(1);
                    args.positional.push_back(inputs);
                    return Ok(());
                }
                value => vec![value.clone()],
            },
        };
        let callee = args.positional.front().map(|arg| arg.value.clone());
        if let Some(scalars) = args.keyword("tir_vars").filter(|arg| !matches!(arg.value, Value::None)) {
            let scalars = self.dims(&scalars)?;
            if let (Some(Value::Global(name)), Some(_)) = (callee, ty_args.first()) {
                let places = TrailingScalars { inputs: items.len(), scalars: scalars.len() };
                self.cx.trailing_scalars.insert(name, places);
            }
            items.extend(scalars.into_iter().map(Value::Scalar));
        }
        let rest = args.positional.split_off(args.positional.len().min(2));
        args.positional.truncate(1);
        args.positional.push_back(Arg { value: Value::Tuple(items), span: inputs.span });
        args.positional.extend(rest);
        Ok(())
    }

    /// `R.call_packed("symbol", x, y, ty_args=R.Tensor(…), attr=…)`
    fn call_packed(&mut self, mut args: Args) -> Read<Value> {
        let span = args.span;
        let callee = args.need(self.cx, "func")?;
        let ty_args = match args.any_keyword(&TYPE_ARGS).filter(|arg| !matches!(arg.value, Value::None)) {
            Some(arg) => self.to_types(&arg)?,
            None => Vec::new(),
        };
        let callee = match &callee.value {
            Value::Operand(Operand::Extern(symbol)) => symbol.clone(),
            _ => self.to_str(&callee)?,
        };
        let (mut operands, mut spans) = (Vec::new(), Vec::new());
        while let Some(arg) = args.positional.pop_front() {
            operands.push(self.to_operand(&arg)?);
            spans.push(arg.span);
        }
        let mut attrs = Attrs::new();
        for keyword in std::mem::take(&mut args.keywords) {
            let types = ["ty_args", "sinfo_args"];
            let value = &keyword.arg.value;
            let typed = is_type(value) || value.elements().is_some_and(|v| !v.is_empty() && v.iter().all(is_type));
            let near = suggest::nearest(&keyword.name, types).or(typed.then_some(types[0]));
            if let Some(near) = near {
                let message = format!("`R.call_packed` has no argument `{}`", keyword.name);
                let diagnostic = Diagnostic::error(codes::WRONG_ARGUMENTS, message).label(keyword.name_span, "");
                return Err(self.cx.report(diagnostic.did_you_mean(keyword.name_span, near)));
            }
            let value = match (&*keyword.name, &keyword.arg.value) {
                ("dst_vdevice", _) => hammock_ir::AttrValue::VDevice(self.to_vdevice(&keyword.arg)?),
                _ => self.to_attr(&keyword.arg)?,
            };
            attrs.set(keyword.name, value);
        }
        let call = Call { callee: Callee::Extern(callee), args: operands, attrs, ty_args };
        Ok(Value::Unbound(Box::new(Pending { value: IrValue::Call(call), args: spans, attrs: Vec::new(), span })))
    }

    /// A call of a function of the module, or of a variable.
    pub(super) fn call_function(&mut self, callee: Value, mut args: Args) -> Read<Value> {
        let span = args.span;
        let callee = match callee {
            Value::Global(name) => Callee::Global(name),
            Value::Operand(Operand::Var(var)) => Callee::Var(var),
            Value::Operand(Operand::Extern(symbol)) => Callee::Extern(symbol),
            Value::Unbound(pending) => match self.bind_fresh(*pending)? {
                Operand::Var(var) => Callee::Var(var),
                _ => return Err(self.cx.error(codes::WRONG_VALUE, span, "this cannot be called", "")),
            },
            other => {
                let message = format!("{} cannot be called", other.describe());
                let label = match other {
                    Value::Lambda(_) => "write a function with `@R.function` above it, here or in the module",
                    _ => "",
                };
                return Err(self.cx.error(codes::WRONG_VALUE, span, message, label));
            }
        };
        let ty_args = self.call_types(&mut args)?;
        if let Some(keyword) = args.keywords.first() {
            let message = format!("`{}` is given `{}` by name", args.callee, keyword.name);
            let label = "functions take their arguments by position";
            return Err(self.cx.error(codes::WRONG_ARGUMENTS, keyword.name_span, message, label));
        }
        self.check_arity(&callee, &args)?;
        let (mut operands, mut spans) = (Vec::new(), Vec::new());
        while let Some(arg) = args.positional.pop_front() {
            operands.push(self.to_operand(&arg)?);
            spans.push(arg.span);
        }
        let call = Call { callee, args: operands, attrs: Attrs::new(), ty_args };
        Ok(Value::Unbound(Box::new(Pending { value: IrValue::Call(call), args: spans, attrs: Vec::new(), span })))
    }

    /// Checks the number of arguments of a call of a module function.
    fn check_arity(&mut self, callee: &Callee, args: &Args) -> Read<()> {
        let Callee::Global(name) = callee else { return Ok(()) };
        let Some(function) = self.cx.module.relax(name) else { return Ok(()) };
        let (takes, given) = (function.lambda.params.len(), args.positional.len());
        if takes == given {
            return Ok(());
        }
        let message = format!("`{name}` takes {}, but gets {given}", count(takes, "argument"));
        let diagnostic = Diagnostic::error(codes::WRONG_ARITY, message).label(args.span, "");
        Err(self.cx.report(diagnostic.secondary(function.lambda.span, "the function")))
    }

    /// `R.device(device_type=1, index=0)`, `R.cuda(0)`
    fn device(&mut self, name: &str, mut args: Args) -> Read<Value> {
        let kind = match name {
            "device" => match args.take("device_type") {
                Some(Arg { value: Value::Str(name), span }) => match device_kind(&name) {
                    Some(kind) => kind,
                    None => {
                        let label = "devices are \"cpu\", \"cuda\", \"opencl\", \"vulkan\", \"metal\", \"rocm\"";
                        return Err(self.cx.error(
                            codes::WRONG_VALUE,
                            span,
                            format!("`{name}` is not a device"),
                            label,
                        ));
                    }
                },
                Some(arg) => self.to_int(&arg)?,
                None => 1,
            },
            name => device_kind(name).unwrap_or(1),
        };
        let index = args.take("index").map_or(Ok(0), |arg| self.to_int(&arg))?;
        args.finish(self.cx)?;
        let part = |name: &str, value: i64| (Value::str(name), Value::Int(value.into()));
        Ok(Value::Dict(vec![part("device_type", kind), part("index", index)]))
    }

    /// `R.output(a, b)`: the results of the dataflow block.
    fn output(&mut self, mut args: Args) -> Read<Value> {
        if !self.dialect.dataflow {
            let message = "`R.output` is only allowed in a dataflow block";
            return Err(self.cx.error(codes::BAD_BLOCK, args.span, message, "no `with R.dataflow():` around it"));
        }
        while let Some(arg) = args.positional.pop_front() {
            let var = match &arg.value {
                Value::Operand(Operand::Var(var)) => Some(*var),
                Value::Broken => continue,
                _ => None,
            };
            match var.filter(|var| self.dialect.function.vars[*var].dataflow) {
                Some(var) => self.dialect.outputs.push(var),
                None => {
                    let message = format!("`{}` is not bound in this dataflow block", self.cx.source.slice(arg.span));
                    let label = "only variables of the block are given out of it; others can be used after it anyway";
                    return Err(self.cx.error(codes::BAD_BLOCK, arg.span, message, label));
                }
            }
        }
        args.finish(self.cx)?;
        Ok(Value::None)
    }
}

/// DLPack's number of a kind of device.
fn device_kind(name: &str) -> Option<i64> {
    Some(match name {
        "cpu" | "llvm" => 1,
        "cuda" => 2,
        "opencl" => 4,
        "vulkan" => 7,
        "metal" => 8,
        "rocm" => 10,
        _ => return None,
    })
}

/// Returns true if a value is a type, or a list of types.
fn is_type(value: &Value) -> bool {
    match value {
        Value::Type(_) => true,
        Value::Path(path) => path.space == Space::Relax && crate::script::types::TYPES.contains(&&*path.name),
        Value::List(items) => !items.is_empty() && items.iter().all(is_type),
        _ => false,
    }
}
