//! The two entries of a kernel.
//!
//! The raw entry takes each parameter as a machine value (pointers, integers, floats) and returns the status. The
//! packed entry has tvm-ffi's signature: it reads the raw values from the arguments, which it checks only if nothing
//! else does ([`check`](super::check)), and calls the raw entry.

use super::{
    Cpu, Emitter, Kernel, Linkage, Result, Ty, Unsupported, Value, convert::register_type, min_max, min_max::Version,
    outline::MAX_OPTIMIZED_PARAMS,
};
use crate::llvm::{
    DeviceCode, Host, raw_symbol, signature,
    text::{Function, Module},
};
use hammock_ir::{
    prim::{PrimType, Var},
    tir::PrimFunc,
};
use hammock_kernels::{ArgDesc, FlatKernel, RawParam};
use hammock_runtime::{Device, library::KERNEL_PREFIX};
use hammock_target::Target;
use std::ops::Range;

/// Adds a kernel's entries to a module; those of a host function get its device code. Returns true if their messages
/// contain names.
pub fn emit_kernel(
    module: &mut Module,
    flat: &FlatKernel,
    target: &Target,
    host: Host,
    device: Option<&DeviceCode>,
) -> Result<bool> {
    let (name, said) = (&flat.name, &flat.said);
    let platform = Cpu(target);
    let mut kernel = Kernel { device, ..Kernel::new(module, &platform, host, name, said) };
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
        emitter.leave_function();
        let mut f = emitter.f;
        if version != Version::Only {
            f.forbid_inlining();
        }
        kernel.module.add(f);
        Ok(())
    };
    let is_param = |data: &Var| func.params.iter().any(|param| param.var == *data);
    if !min_max::is_long(&func.body) || !min_max::is_watched(&func.body, |data| is_distinct && is_param(data)) {
        return add(kernel, &symbol, Linkage::Exported, Version::Only);
    }
    let [fast, careful] = ["body", "nan"].map(|part| format!("{symbol}.{part}"));
    add(kernel, &fast, Linkage::Internal, Version::Fast)?;
    add(kernel, &careful, Linkage::Internal, Version::Careful)?;
    let (mut f, values) = Function::new(&symbol, Linkage::Exported, Ty::I32, &params);
    let args: Vec<&Value> = values.iter().collect();
    min_max::call_watching(kernel, &mut f, [&fast, &careful], &args)?;
    kernel.module.add(f);
    Ok(())
}

/// Minimum number of tensors whose addresses are loaded in a loop: with separate code for each, LLVM would spend most
/// of its time on these loads.
const MIN_TABLE: usize = 32;

/// Addresses of the first elements of tensors that are consecutive arguments.
struct DataTable {
    args: Range<usize>,
    entries: Value,
}

impl Emitter<'_, '_> {
    /// Loads the addresses of the longest run of tensor arguments, if it is long enough.
    fn data_table(&mut self, flat: &FlatKernel, values: &Value) -> Option<DataTable> {
        let descs = &flat.signature.args;
        let tensors = descs.chunk_by(|a, b| is_tensor(a) == is_tensor(b)).scan(0, |first, run| {
            let begin = std::mem::replace(first, *first + run.len());
            Some((is_tensor(&run[0]), begin..begin + run.len()))
        });
        let (_, args) = tensors.filter(|(is_tensor, _)| *is_tensor).max_by_key(|(_, args)| args.len())?;
        if args.len() < MIN_TABLE {
            return None;
        }
        let entries = self.f.slot(8 * args.len() as u64, 8);
        let first = self.item(values, args.start);
        let (body, after) = (self.f.label(), self.f.label());
        let before = self.f.current();
        self.f.jump(body);
        self.f.start(body);
        let next = self.f.forward(Ty::I64);
        let number = self.f.phi(&[(&Value::i64(0), before), (&next, body)]);
        let item = self.item_at(&first, &number);
        let data = self.tensor_data(&item, 0);
        let entry = self.f.address(&entries, Ty::PTR, &number);
        self.f.store(&data, &entry, 8);
        self.f.assign_to(&next, format_args!("add nsw {} {number}, 1", Ty::I64));
        let again = self.f.compare("icmp slt", &next, &Value::i64(args.len() as i64));
        self.f.branch(&again, body, after);
        self.f.start(after);
        Some(DataTable { args, entries })
    }

    fn table_entry(&mut self, table: &DataTable, arg: usize) -> Value {
        self.field(&table.entries, Ty::PTR, 8 * (arg - table.args.start))
    }
}

fn is_tensor(arg: &ArgDesc) -> bool {
    matches!(arg, ArgDesc::Tensor(_))
}

fn emit_packed(kernel: &mut Kernel<'_>, flat: &FlatKernel) -> Result<()> {
    let params = [(Ty::PTR, ""), (Ty::PTR, ""), (Ty::I32, ""), (Ty::PTR, "")];
    let name = format!("{KERNEL_PREFIX}{}", flat.name);
    let (f, values) = Function::new(&name, Linkage::Exported, Ty::I32, &params);
    let mut emitter = Emitter::new(kernel, f);
    if emitter.kernel.host == Host::Tvm {
        let signature = signature(&flat.name, &flat.signature.args, &flat.output_args(), Device::CPU);
        emitter.check_arguments(&signature, &values[1], &values[2]);
    }
    let table = emitter.data_table(flat, &values[1]);
    let mut args = Vec::new();
    let mut result = None;
    for (raw, param) in flat.signature.raw.iter().zip(&flat.func.params) {
        let ty = register_type(param.var.dtype())?;
        args.push(match raw {
            RawParam::Data(arg) => match flat.signature.args.get(*arg) {
                Some(ArgDesc::Handle { .. }) => emitter.handle(&values[1], *arg),
                _ => match &table {
                    Some(table) if table.args.contains(arg) => emitter.table_entry(table, *arg),
                    _ => emitter.tensor_data(&values[1], *arg),
                },
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
                let slot = emitter.f.slot(8, 8);
                result = Some((slot.clone(), &param.var));
                slot
            }
        });
    }
    let args: Vec<&Value> = args.iter().collect();
    let status = emitter.f.call(&Value::global(&raw_symbol(&flat.name)), Ty::I32, &args);
    if let Some((slot, var)) = result {
        let PrimType::Pointer(Some(dtype), _) = *var.ty() else {
            return Err(Unsupported::Form("a result of unknown type"));
        };
        emitter.check(&status);
        let value = emitter.read(&slot, dtype)?;
        emitter.write_any(&values[3], &value, dtype)?;
    }
    emitter.f.ret(&status);
    let mut f = emitter.f;
    if flat.signature.raw.len() > MAX_OPTIMIZED_PARAMS {
        f.disable_optimization();
    }
    kernel.module.add(f);
    Ok(())
}
