//! A kernel's two entries.
//!
//! The raw entry takes each parameter as a machine value (pointers, integers, floats) and returns the status. The packed
//! entry has tvm-ffi's signature: it reads the raw values from the arguments, which it checks only if nothing else
//! does ([`check`](super::check)), and calls the raw entry.

use super::{
    Emitter, Kernel, Linkage, Result, Ty, Unsupported, Value, convert::register_type, extremum, extremum::Version,
};
use crate::llvm::{
    Host, raw_symbol, signature,
    text::{Function, Module},
};
use hammock_ir::{
    prim::{PrimType, Var},
    tir::PrimFunc,
};
use hammock_kernels::{ArgDesc, FlatKernel, RawParam, Target};
use hammock_runtime::library::KERNEL_PREFIX;

/// Adds a kernel's entries to a module. Gives whether their messages have names in them.
pub fn emit_kernel(module: &mut Module, flat: &FlatKernel, target: &Target, host: Host) -> Result<bool> {
    let (name, said) = (&flat.name, &flat.said);
    let mut kernel = Kernel { module, target, host, name, said, names: false, parallel_loops: 0 };
    if flat.func.params.len() != flat.signature.raw.len() {
        return Err(Unsupported::Form("a kernel with more or fewer parameters than its signature"));
    }
    emit_raw(&mut kernel, &flat.func)?;
    emit_packed(&mut kernel, flat)?;
    Ok(kernel.names)
}

fn emit_raw(kernel: &mut Kernel<'_>, func: &PrimFunc) -> Result<()> {
    let is_distinct = func.attrs.is_true("tirx.noalias");
    let mut params = Vec::new();
    for param in &func.params {
        let ty = register_type(param.var.dtype())?;
        params.push((ty, if ty.is_pointer() && is_distinct { "noalias" } else { "" }));
    }
    let symbol = raw_symbol(kernel.name);
    let add = |kernel: &mut Kernel<'_>, name: &str, linkage, version: Version| {
        let (f, values) = Function::new(name, linkage, Ty::I32, &params);
        let mut emitter = Emitter::new(kernel, f);
        emitter.may_lose_nan = version == Version::Fast;
        for (param, value) in func.params.iter().zip(&values) {
            emitter.vars.insert(param.var.clone(), value.clone());
            if is_distinct && value.ty.is_pointer() {
                emitter.distinct.insert(param.var.clone());
            }
        }
        emitter.stmt(&func.body)?;
        emitter.f.ret(&Value::int(0, Ty::I32));
        let mut f = emitter.f;
        if version != Version::Only {
            f.forbid_inlining();
        }
        kernel.module.add(f);
        Ok(())
    };
    let is_param = |data: &Var| func.params.iter().any(|param| param.var == *data);
    if !extremum::is_long(&func.body) || !extremum::is_watched(&func.body, |data| is_distinct && is_param(data)) {
        return add(kernel, &symbol, Linkage::Exported, Version::Only);
    }
    let [fast, careful] = ["body", "nan"].map(|part| format!("{symbol}.{part}"));
    add(kernel, &fast, Linkage::Internal, Version::Fast)?;
    add(kernel, &careful, Linkage::Internal, Version::Careful)?;
    let (mut f, values) = Function::new(&symbol, Linkage::Exported, Ty::I32, &params);
    let args: Vec<&Value> = values.iter().collect();
    extremum::call_watching(kernel.module, &mut f, [&fast, &careful], &args);
    kernel.module.add(f);
    Ok(())
}

fn emit_packed(kernel: &mut Kernel<'_>, flat: &FlatKernel) -> Result<()> {
    let params = [(Ty::PTR, ""), (Ty::PTR, ""), (Ty::I32, ""), (Ty::PTR, "")];
    let name = format!("{KERNEL_PREFIX}{}", flat.name);
    let (f, values) = Function::new(&name, Linkage::Exported, Ty::I32, &params);
    let mut emitter = Emitter::new(kernel, f);
    if emitter.kernel.host == Host::Tvm {
        let signature = signature(&flat.name, &flat.signature.args, &flat.written());
        emitter.check_arguments(&signature, &values[1], &values[2]);
    }
    let mut args = Vec::new();
    let mut result = None;
    for (raw, param) in flat.signature.raw.iter().zip(&flat.func.params) {
        let ty = register_type(param.var.dtype())?;
        args.push(match raw {
            RawParam::Data(arg) => match flat.signature.args.get(*arg) {
                Some(ArgDesc::Handle { .. }) => emitter.handle(&values[1], *arg),
                _ => emitter.tensor_data(&values[1], *arg),
            },
            RawParam::Size(arg, axis) => emitter.tensor_size(&values[1], *arg, *axis),
            RawParam::Stride(arg, axis) => {
                let ndim = match flat.signature.args.get(*arg) {
                    Some(ArgDesc::Tensor(tensor)) => tensor.shape.len(),
                    _ => *axis + 1,
                };
                emitter.tensor_stride(&values[1], *arg, *axis, ndim)
            }
            RawParam::Scalar(arg) => emitter.scalar(&values[1], *arg, ty),
            RawParam::Result => {
                let place = emitter.f.slot(8, 8);
                result = Some((place.clone(), &param.var));
                place
            }
        });
    }
    let args: Vec<&Value> = args.iter().collect();
    let status = emitter.f.call(&Value::global(&raw_symbol(&flat.name)), Ty::I32, &args);
    if let Some((place, var)) = result {
        let PrimType::Pointer(Some(dtype), _) = *var.ty() else {
            return Err(Unsupported::Form("a result of unknown type"));
        };
        emitter.check(&status);
        let value = emitter.read(&place, dtype)?;
        emitter.write_any(&values[3], &value, dtype)?;
    }
    emitter.f.ret(&status);
    let f = emitter.f;
    kernel.module.add(f);
    Ok(())
}
