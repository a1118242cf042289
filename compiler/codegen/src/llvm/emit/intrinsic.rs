//! Intrinsics: processor instructions, and functions of the C math library, called per lane.
//!
//! Lowering expands functions such as `exp` to polynomials; the few that remain are called for each lane.

use super::{Emitter, Result, Ty, Unsupported, Value, convert::register_type};
use hammock_interp as interp;
use hammock_ir::{
    DType, PrimExpr,
    prim::{
        PrimCall, PrimCallee, PrimKind, check,
        flat::{self, Dot},
        intrinsics::LAUNCH_KERNEL,
        math,
    },
};

impl Emitter<'_, '_> {
    /// Evaluates a call.
    pub(super) fn call(&mut self, call: &PrimCall, e: &PrimExpr) -> Result<Value> {
        let name = match &call.callee {
            PrimCallee::Intrin(name) => name.as_str(),
            PrimCallee::Global(_) => {
                return Err(Unsupported::Form("a call of another kernel that was not inlined"));
            }
        };
        let platform = self.kernel.platform;
        if let Some(value) = platform.call(self, name, &call.args, e.dtype())? {
            return Ok(value);
        }
        match (name, call.args.as_slice()) {
            ("if_then_else", [condition, a, b]) => self.if_then_else(condition, a, b),
            ("likely", [value]) => self.eval(value),
            ("assume" | "prefetch", _) => Ok(Value::poison(Ty::VOID)),
            ("undef", _) => Ok(Value::zero(register_type(e.dtype())?)),
            ("address_of", [element]) => match element.kind() {
                PrimKind::Load(buffer, indices, _) => self.address_of(buffer, indices),
                _ => Err(Unsupported::Form("the address of what is not a buffer element")),
            },
            ("tvm_access_ptr", [of, data, offset, _, _]) => {
                let (base, offset) = (self.eval(data)?, self.index(offset)?);
                Ok(self.f.address(&base, register_type(of.dtype().element())?, &offset))
            }
            ("handle_add_byte_offset", [data, bytes]) => {
                let (base, bytes) = (self.eval(data)?, self.index(bytes)?);
                Ok(self.f.address(&base, Ty::I8, &bytes))
            }
            ("isnullptr", [pointer]) => {
                let pointer = self.eval(pointer)?;
                Ok(self.f.compare("icmp eq", &pointer, &Value::zero(pointer.ty)))
            }
            (check::INDEX, [index, extent, texts @ ..]) => self.check_index(index, extent, texts),
            ("vector_any", [condition]) => {
                let condition = self.eval(condition)?;
                Ok(self.any_lane(&condition))
            }
            (check::EXACT, [value, text, variables @ ..]) => self.exact(value, text, variables),
            (check::DIVISOR, [divisor, location]) => {
                let value = self.decide(divisor)?;
                let wrong = self.f.compare("icmp eq", &value, &Value::int(0, value.ty));
                let message = format!("{}{}", interp::DIVISION_BY_ZERO, location.as_str().unwrap_or_default());
                self.fail_if(&wrong, "divides by zero", &message);
                Ok(value)
            }
            (check::COUNT, [count, width, location]) => {
                let value = self.decide(count)?;
                let bits = width.as_int().ok_or(Unsupported::Form("a width that is not a constant"))?;
                let wrong = self.f.compare("icmp uge", &value, &Value::int(bits, value.ty));
                let message = format!("{}{}", interp::shift_error(bits as u8), location.as_str().unwrap_or_default());
                self.fail_if(&wrong, "shifts past the width", &message);
                Ok(value)
            }
            (flat::EXP2_STEP, [k]) => {
                let k = self.eval(k)?;
                self.power_of_step(&k)
            }
            (flat::WITHIN, [x, bound]) => {
                let (x, bound) = (self.eval(x)?, self.eval(bound)?);
                self.within(&x, &bound)
            }
            (flat::PREFETCH, [element, distance, level]) => self.prefetch(element, distance, level),
            (flat::LOAD_PACKED, [element]) => self.load_packed(element),
            (known, args) if let Some(dot) = Dot::named(known) => self.dot(dot, args),
            ("call_llvm_intrin" | "call_llvm_pure_intrin", [function, args @ ..]) => {
                self.call_llvm(function, args, e.dtype())
            }
            (_, args) => {
                let values = args.iter().map(|a| self.eval(a)).collect::<Result<Vec<_>>>()?;
                let from = args.first().map_or(e.dtype(), PrimExpr::dtype);
                let value = self.elementwise(name, &values, from, e.dtype())?;
                value.ok_or_else(|| Unsupported::Intrinsic(name.into()))
            }
        }
    }

    /// Applies a function to each lane; `None` if it is unknown.
    fn elementwise(&mut self, name: &str, args: &[Value], from: DType, to: DType) -> Result<Option<Value>> {
        let target = register_type(to)?;
        Ok(match (name, args) {
            ("reinterpret", [a]) if a.ty.bits() == target.bits() => Some(self.f.convert("bitcast", a, target)),
            ("isnan" | "isinf" | "isfinite", [a]) if !from.is_floating() => {
                let holds = name == "isfinite";
                Some(Value::int(holds.into(), Ty::I1.with_lanes(a.ty.lanes)))
            }
            ("isnan" | "isinf" | "isfinite", [a]) => {
                let wide = self.widen(a, from);
                Some(self.classify(name, &wide))
            }
            _ if from.is_floating() => self.float_function(name, args, from)?,
            (_, [a]) => self.int_unary(name, a, from),
            (_, [a, b]) if a.ty == b.ty => self.int_binary_function(name, a, b, from),
            ("fma", [a, b, c]) => {
                let scaled = self.f.binary("mul", a, b);
                Some(self.f.binary("add", &scaled, c))
            }
            _ => None,
        })
    }

    fn classify(&mut self, name: &str, a: &Value) -> Value {
        if name == "isnan" {
            return self.f.compare("fcmp uno", a, a);
        }
        let size = self.magnitude(a);
        let infinity = Value::float(f64::INFINITY, a.ty);
        self.f.compare(if name == "isinf" { "fcmp oeq" } else { "fcmp olt" }, &size, &infinity)
    }

    fn int_unary(&mut self, name: &str, a: &Value, dtype: DType) -> Option<Value> {
        let plain = |s: &mut Self, name: &str| s.intrinsic(name, a.ty, a.ty, &[a]);
        Some(match name {
            "abs" | "fabs" if !dtype.is_int() => a.clone(),
            "abs" | "fabs" => self.intrinsic("abs", a.ty, a.ty, &[a, &Value::bool(false)]),
            "floor" | "ceil" | "trunc" | "round" | "nearbyint" => a.clone(),
            "bitwise_not" => self.not(a),
            "popcount" => plain(self, "ctpop"),
            "clz" => self.intrinsic("ctlz", a.ty, a.ty, &[a, &Value::bool(false)]),
            _ => return None,
        })
    }

    fn int_binary_function(&mut self, name: &str, a: &Value, b: &Value, dtype: DType) -> Option<Value> {
        Some(match name {
            "bitwise_and" => self.f.binary("and", a, b),
            "bitwise_or" => self.f.binary("or", a, b),
            "bitwise_xor" => self.f.binary("xor", a, b),
            "shift_left" => self.shift(true, a, b, dtype.is_int()),
            "shift_right" => self.shift(false, a, b, dtype.is_int()),
            _ => return None,
        })
    }

    fn float_function(&mut self, name: &str, args: &[Value], dtype: DType) -> Result<Option<Value>> {
        let wide: Vec<Value> = args.iter().map(|a| self.widen(a, dtype)).collect();
        let Some(ty) = wide.first().map(|value| value.ty) else { return Ok(None) };
        let all: Vec<&Value> = wide.iter().collect();
        let result = match (name, all.as_slice()) {
            ("rsqrt", [a]) => {
                let root = self.intrinsic("sqrt", ty, ty, &[a]);
                self.f.binary("fdiv", &Value::float(1.0, ty), &root)
            }
            ("sigmoid", [a]) => {
                let negated = self.f.binary("fsub", &Value::float(-0.0, ty), a);
                let Some(exp) = self.math("exp", &[negated]) else { return Ok(None) };
                let below = self.f.binary("fadd", &Value::float(1.0, ty), &exp);
                self.f.binary("fdiv", &Value::float(1.0, ty), &below)
            }
            ("ldexp", [a, n]) if n.ty.is_float() => match self.kernel.platform.has_masks() {
                true => self.scaled(a, n)?,
                // Lowering emits it only for targets that have it.
                false => return Ok(None),
            },
            ("ldexp", [a, n]) if n.ty.is_int() => {
                let instruction = if n.ty.bits() > 32 { "trunc" } else { "sext" };
                let n = self.f.convert(instruction, n, Ty::I32.with_lanes(ty.lanes));
                match self.math("ldexp", &[(*a).clone(), n]) {
                    Some(result) => result,
                    None => return Ok(None),
                }
            }
            // The C function takes an integer.
            ("ldexp", _) => return Ok(None),
            ("nextafter", _) if ty != args[0].ty => return Ok(None),
            (_, [_]) | (_, [_, _]) | ("fma", [_, _, _]) if all.iter().all(|a| a.ty == ty) => {
                let direct = DIRECT.iter().find(|(tir, _, arity)| *tir == name && *arity == all.len());
                match direct {
                    Some((_, llvm, _)) => self.intrinsic(llvm, ty, ty, &all),
                    None => match self.math(name, &wide) {
                        Some(result) => result,
                        None => return Ok(None),
                    },
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(self.narrow(&result, dtype)))
    }

    /// Calls a math function for each lane; `None` if there is none.
    fn math(&mut self, name: &str, args: &[Value]) -> Option<Value> {
        let platform = self.kernel.platform;
        platform.math(self, name, args)
    }

    /// Evaluates an intrinsic that only code on the host has: a call of other code, or a launch.
    pub(super) fn host_call(&mut self, name: &str, args: &[PrimExpr], to: DType) -> Result<Option<Value>> {
        Ok(Some(match (name, args) {
            ("tvm_storage_sync", _) => Value::poison(Ty::VOID),
            ("call_extern" | "call_pure_extern", [function, args @ ..]) => self.call_extern(function, args, to)?,
            ("call_packed" | "call_cpacked", [function, args @ ..]) => self.call_packed(function, args, to)?,
            (LAUNCH_KERNEL, args) => self.launch(args)?,
            _ => return Ok(None),
        }))
    }

    /// Calls a function of the C math library for each lane; `None` if there is none.
    pub(super) fn libm(&mut self, name: &str, args: &[Value]) -> Option<Value> {
        math::c_params(name, DType::FLOAT64).filter(|params| params.len() == args.len())?;
        let ty = args[0].ty;
        let symbol = if ty.bits() == 32 { format!("{name}f") } else { name.to_owned() };
        let params: Vec<Ty> = args.iter().map(|a| a.ty.element()).collect();
        let callee = self.kernel.module.declare(&symbol, ty.element(), &params);
        Some(self.lanewise(args, ty, &mut |s, lanes| {
            let lanes: Vec<&Value> = lanes.iter().collect();
            s.f.call(&callee, ty.element(), &lanes)
        }))
    }

    /// Calls a C function; small integers are passed as `int`.
    fn call_extern(&mut self, function: &PrimExpr, args: &[PrimExpr], to: DType) -> Result<Value> {
        let PrimKind::Str(name) = function.kind() else {
            return Err(Unsupported::Form("an external function whose name is not a string"));
        };
        let ret = if to.is_void() { Ty::VOID } else { register_type(to)? };
        let mut values = Vec::new();
        for arg in args {
            let value = self.eval(arg)?;
            let is_small = value.ty.is_int() && value.ty.bits() < 32;
            let extend = if arg.dtype().is_int() { "sext" } else { "zext" };
            values.push(if is_small { self.f.convert(extend, &value, Ty::I32) } else { value });
        }
        let params: Vec<Ty> = values.iter().map(|v| v.ty).collect();
        let callee = self.kernel.module.declare(name, ret, &params);
        let values: Vec<&Value> = values.iter().collect();
        Ok(self.f.call(&callee, ret, &values))
    }

    /// Calls an LLVM intrinsic by name. Only target-independent ones are allowed, since LLVM aborts on others.
    fn call_llvm(&mut self, function: &PrimExpr, args: &[PrimExpr], to: DType) -> Result<Value> {
        let PrimKind::Str(name) = function.kind() else {
            return Err(Unsupported::Form("an LLVM intrinsic whose name is not a string"));
        };
        let base = name.strip_prefix("llvm.").unwrap_or(name);
        if !DIRECT.iter().any(|(_, llvm, arity)| *llvm == base && *arity == args.len()) {
            return Err(Unsupported::Intrinsic(name.clone()));
        }
        let values = args.iter().map(|a| self.eval(a)).collect::<Result<Vec<_>>>()?;
        let ty = register_type(to)?;
        if !ty.is_float() || values.iter().any(|v| v.ty != ty) {
            return Err(Unsupported::Intrinsic(name.clone()));
        }
        let values: Vec<&Value> = values.iter().collect();
        Ok(self.intrinsic(base, ty, ty, &values))
    }
}

/// Functions that LLVM compiles to instructions: name in TIR, name in LLVM, number of operands.
const DIRECT: &[(&str, &str, usize)] = &[
    ("sqrt", "sqrt", 1),
    ("floor", "floor", 1),
    ("ceil", "ceil", 1),
    ("trunc", "trunc", 1),
    ("round", "roundeven", 1),
    ("nearbyint", "nearbyint", 1),
    ("rint", "rint", 1),
    ("abs", "fabs", 1),
    ("fabs", "fabs", 1),
    ("copysign", "copysign", 2),
    ("fma", "fma", 3),
];
