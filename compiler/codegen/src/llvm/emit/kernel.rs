//! A kernel's two entries.
//!
//! The raw entry takes each parameter as a machine value (pointers, integers, floats) and returns the status. The packed entry has tvm-ffi's signature: it reads
//! the raw values from the arguments, which it does not check, and calls the raw entry.

use super::{
    Emitter, Kernel, Linkage, Result, Ty, Unsupported, Value,
    convert::{memory_type, register_type},
};
use crate::llvm::{
    Cpu,
    text::{Function, Module},
};
use hammock_ir::{
    DType,
    prim::{PrimType, Var},
    tir::PrimFunc,
};
use hammock_kernels::{ArgDesc, FlatKernel, RawParam};
use hammock_runtime::{
    library::KERNEL_PREFIX,
    value::{DLTensor, index, object::Header},
};
use std::mem::offset_of;

/// Adds a kernel's entries to a module.
pub fn emit_kernel(module: &mut Module, flat: &FlatKernel, cpu: &Cpu) -> Result<()> {
    let mut kernel = Kernel { module, cpu, name: &flat.name, parallel_loops: 0 };
    if flat.func.params.len() != flat.signature.raw.len() {
        return Err(Unsupported::Form("a kernel with more or fewer parameters than its signature"));
    }
    emit_raw(&mut kernel, &flat.func)?;
    emit_packed(&mut kernel, flat)
}

fn emit_raw(kernel: &mut Kernel<'_>, func: &PrimFunc) -> Result<()> {
    let is_distinct = func.attrs.is_true("tirx.noalias") || func.attrs.is_true("tir.noalias");
    let mut params = Vec::new();
    for param in &func.params {
        let ty = register_type(param.var.dtype())?;
        params.push((ty, if ty.is_pointer() && is_distinct { "noalias" } else { "" }));
    }
    let (f, values) = Function::new(kernel.name, Linkage::Exported, Ty::I32, &params);
    let mut emitter = Emitter::new(kernel, f);
    for (param, value) in func.params.iter().zip(&values) {
        emitter.vars.insert(param.var.clone(), value.clone());
        if is_distinct && value.ty.is_pointer() {
            emitter.distinct.insert(param.var.clone());
        }
    }
    emitter.stmt(&func.body)?;
    emitter.f.ret(&Value::int(0, Ty::I32));
    let f = emitter.f;
    kernel.module.add(f);
    Ok(())
}

fn emit_packed(kernel: &mut Kernel<'_>, flat: &FlatKernel) -> Result<()> {
    let signature = [(Ty::PTR, ""), (Ty::PTR, ""), (Ty::I32, ""), (Ty::PTR, "")];
    let name = format!("{KERNEL_PREFIX}{}", flat.name);
    let (f, values) = Function::new(&name, Linkage::Exported, Ty::I32, &signature);
    let mut emitter = Emitter::new(kernel, f);
    let mut args = Vec::new();
    let mut result = None;
    for (raw, param) in flat.signature.raw.iter().zip(&flat.func.params) {
        let ty = register_type(param.var.dtype())?;
        args.push(match raw {
            RawParam::Result => {
                let place = emitter.f.slot(8, 8);
                result = Some((place.clone(), &param.var));
                place
            }
            _ => emitter.argument(&values[1], flat, raw, ty),
        });
    }
    let args: Vec<&Value> = args.iter().collect();
    let status = emitter.f.call(&Value::global(&flat.name), Ty::I32, &args);
    if let Some((place, var)) = result {
        emitter.check(&status);
        emitter.store_result(&values[3], &place, var)?;
    }
    emitter.f.ret(&status);
    let f = emitter.f;
    kernel.module.add(f);
    Ok(())
}

/// Bytes of a value of any kind: a type index, then the payload.
const ANY: i64 = 16;
const PAYLOAD: i64 = 8;

impl Emitter<'_, '_> {
    /// The machine value of a raw parameter, from the packed arguments.
    fn argument(&mut self, args: &Value, flat: &FlatKernel, raw: &RawParam, ty: Ty) -> Value {
        match *raw {
            RawParam::Data(arg) if matches!(flat.signature.args[arg], ArgDesc::Handle { .. }) => self.handle(args, arg),
            RawParam::Data(arg) => {
                let tensor = self.tensor(args, arg);
                self.data(&tensor)
            }
            RawParam::Size(arg, axis) => {
                let tensor = self.tensor(args, arg);
                let sizes = self.field(&tensor, Ty::PTR, offset_of!(DLTensor, shape));
                self.field(&sizes, Ty::I64, 8 * axis)
            }
            RawParam::Stride(arg, axis) => {
                let tensor = self.tensor(args, arg);
                let strides = self.field(&tensor, Ty::PTR, offset_of!(DLTensor, strides));
                self.field(&strides, Ty::I64, 8 * axis)
            }
            RawParam::Scalar(arg) => self.scalar(args, arg, ty),
            RawParam::Result => Value::poison(ty),
        }
    }

    /// The address of a tensor's first element.
    fn data(&mut self, tensor: &Value) -> Value {
        let data = self.field(tensor, Ty::PTR, offset_of!(DLTensor, data));
        let start = self.field(tensor, Ty::I64, offset_of!(DLTensor, byte_offset));
        self.f.address(&data, Ty::I8, &start)
    }

    /// A pointer as it is, or the data of a tensor.
    fn handle(&mut self, args: &Value, arg: usize) -> Value {
        let any = self.f.address(args, Ty::I8, &Value::i64(ANY * arg as i64));
        let kind = self.f.load(Ty::I32, &any, 8);
        let is_object = self.f.compare("icmp eq", &kind, &Value::int(index::TENSOR.into(), Ty::I32));
        let is_pointer = self.f.compare("icmp eq", &kind, &Value::int(index::DL_TENSOR_PTR.into(), Ty::I32));
        let is_tensor = self.f.binary("or", &is_object, &is_pointer);
        let (tensor_block, plain_block, next) = (self.f.label(), self.f.label(), self.f.label());
        self.f.branch(&is_tensor, tensor_block, plain_block);
        self.f.start(tensor_block);
        let tensor = self.tensor(args, arg);
        let data = self.data(&tensor);
        self.f.jump(next);
        self.f.start(plain_block);
        let plain = self.field(&any, Ty::PTR, PAYLOAD as usize);
        self.f.jump(next);
        self.f.start(next);
        self.f.phi(&[(&data, tensor_block), (&plain, plain_block)])
    }

    fn field(&mut self, base: &Value, ty: Ty, offset: usize) -> Value {
        let at = self.f.address(base, Ty::I8, &Value::i64(offset as i64));
        self.f.load(ty, &at, ty.lane_bytes())
    }

    /// The address of an argument's tensor, which it holds as an object or points to.
    fn tensor(&mut self, args: &Value, arg: usize) -> Value {
        let any = self.f.address(args, Ty::I8, &Value::i64(ANY * arg as i64));
        let kind = self.f.load(Ty::I32, &any, 8);
        let pointer = self.field(&any, Ty::PTR, PAYLOAD as usize);
        let is_object = self.f.compare("icmp eq", &kind, &Value::int(index::TENSOR.into(), Ty::I32));
        let header = Value::i64(size_of::<Header>() as i64);
        let start = self.f.select(&is_object, &header, &Value::i64(0));
        self.f.address(&pointer, Ty::I8, &start)
    }

    fn scalar(&mut self, args: &Value, arg: usize, ty: Ty) -> Value {
        let any = self.f.address(args, Ty::I8, &Value::i64(ANY * arg as i64));
        if ty.is_pointer() {
            return self.field(&any, ty, PAYLOAD as usize);
        }
        let bits = self.field(&any, Ty::I64, PAYLOAD as usize);
        if !ty.is_float() {
            return self.f.convert("trunc", &bits, ty);
        }
        // An integer may stand for a float.
        let kind = self.f.load(Ty::I32, &any, 8);
        let is_float = self.f.compare("icmp eq", &kind, &Value::int(index::FLOAT.into(), Ty::I32));
        let float = self.f.convert("bitcast", &bits, Ty::DOUBLE);
        let converted = self.f.convert("sitofp", &bits, Ty::DOUBLE);
        let number = self.f.select(&is_float, &float, &converted);
        self.f.convert("fptrunc", &number, ty)
    }

    /// Writes the kernel's result as a value of any kind.
    fn store_result(&mut self, any: &Value, place: &Value, var: &Var) -> Result<()> {
        let PrimType::Pointer(Some(dtype), _) = *var.ty() else {
            return Err(Unsupported::Form("a result of unknown type"));
        };
        let ty = memory_type(dtype)?;
        let value = self.f.load(ty, place, ty.lane_bytes());
        let (kind, to) = match () {
            () if dtype.is_bool() => (index::BOOL, DType::INT64),
            () if dtype.is_integer() => (index::INT, DType::INT64),
            () if dtype.is_floating() => (index::FLOAT, DType::FLOAT64),
            () => return Err(Unsupported::DType(dtype)),
        };
        let from = if dtype.is_bool() { DType::UINT8 } else { dtype };
        let value = self.cast(&value, from, to)?;
        self.f.store(&Value::i64(kind.into()), any, 8);
        let payload = self.f.address(any, Ty::I8, &Value::i64(PAYLOAD));
        self.f.store(&value, &payload, 8);
        Ok(())
    }
}
