//! `Any` values in tvm-ffi's layout: reading arguments, writing results, calling global functions.

use super::{Emitter, Result, Ty, Unsupported, Value, check::packed, convert::register_type};
use hammock_ir::{DType, PrimExpr, prim::PrimKind};
use hammock_runtime::value::{DLTensor, index, object::Header};
use std::mem::offset_of;

/// Size in bytes of a value: a type index, then the payload.
const ANY: i64 = 16;
const PAYLOAD: usize = 8;

impl Emitter<'_, '_> {
    /// Address of a field of a structure, by its offset in bytes.
    pub(super) fn field_address(&mut self, base: &Value, offset: usize) -> Value {
        self.f.address(base, Ty::I8, &Value::i64(offset as i64))
    }

    /// Loads a field.
    pub(super) fn field(&mut self, base: &Value, ty: Ty, offset: usize) -> Value {
        let at = self.field_address(base, offset);
        self.f.load(ty, &at, ty.lane_bytes())
    }

    /// Stores a field.
    pub(super) fn store_field(&mut self, base: &Value, offset: usize, value: &Value) {
        let at = self.field_address(base, offset);
        self.f.store(value, &at, value.ty.lane_bytes());
    }

    pub(super) fn item(&mut self, values: &Value, number: usize) -> Value {
        self.f.address(values, Ty::I8, &Value::i64(ANY * number as i64))
    }

    /// Address of the item at a dynamic index.
    pub(super) fn item_at(&mut self, values: &Value, number: &Value) -> Value {
        let offset = self.f.binary("mul", number, &Value::i64(ANY));
        self.f.address(values, Ty::I8, &offset)
    }

    /// Tests the kind of a value.
    pub(super) fn is_kind(&mut self, any: &Value, kind: i32) -> Value {
        let found = self.f.load(Ty::I32, any, 8);
        self.f.compare("icmp eq", &found, &Value::int(kind.into(), Ty::I32))
    }

    /// Address of the tensor of an argument, which is an object or a pointer.
    pub(super) fn tensor(&mut self, args: &Value, arg: usize) -> Value {
        let any = self.item(args, arg);
        let is_object = self.is_kind(&any, index::TENSOR);
        let pointer = self.field(&any, Ty::PTR, PAYLOAD);
        let header = Value::i64(size_of::<Header>() as i64);
        let start = self.f.select(&is_object, &header, &Value::i64(0));
        self.f.address(&pointer, Ty::I8, &start)
    }

    /// Address of the first element of a tensor argument.
    pub(super) fn tensor_data(&mut self, args: &Value, arg: usize) -> Value {
        let tensor = self.tensor(args, arg);
        let data = self.field(&tensor, Ty::PTR, offset_of!(DLTensor, data));
        let start = self.field(&tensor, Ty::I64, offset_of!(DLTensor, byte_offset));
        self.f.address(&data, Ty::I8, &start)
    }

    /// Loads a size of a tensor argument.
    pub(super) fn tensor_size(&mut self, args: &Value, arg: usize, axis: usize) -> Value {
        let tensor = self.tensor(args, arg);
        let sizes = self.field(&tensor, Ty::PTR, offset_of!(DLTensor, shape));
        self.field(&sizes, Ty::I64, 8 * axis)
    }

    /// Loads a stride of a tensor argument of `ndim` dimensions; compact tensors may have no strides.
    pub(super) fn tensor_stride(&mut self, args: &Value, arg: usize, axis: usize, ndim: usize) -> Value {
        let tensor = self.tensor(args, arg);
        let strides = self.field(&tensor, Ty::PTR, offset_of!(DLTensor, strides));
        let is_compact = self.f.compare("icmp eq", &strides, &Value::zero(Ty::PTR));
        self.either(
            &is_compact,
            |s| {
                let mut stride = Value::i64(1);
                for inner in axis + 1..ndim {
                    let size = s.tensor_size(args, arg, inner);
                    stride = s.f.binary("mul", &stride, &size);
                }
                stride
            },
            |s| s.field(&strides, Ty::I64, 8 * axis),
        )
    }

    /// Loads a pointer argument, or the data pointer of a tensor.
    pub(super) fn handle(&mut self, args: &Value, arg: usize) -> Value {
        let any = self.item(args, arg);
        let (is_object, is_pointer) = (self.is_kind(&any, index::TENSOR), self.is_kind(&any, index::DL_TENSOR_PTR));
        let is_tensor = self.f.binary("or", &is_object, &is_pointer);
        self.either(&is_tensor, |s| s.tensor_data(args, arg), |s| s.field(&any, Ty::PTR, PAYLOAD))
    }

    /// Computes one of two values by a branch.
    pub(super) fn either(
        &mut self,
        condition: &Value,
        then: impl FnOnce(&mut Self) -> Value,
        otherwise: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let (then_block, else_block, next) = (self.f.label(), self.f.label(), self.f.label());
        self.f.branch(condition, then_block, else_block);
        self.f.start(then_block);
        let a = then(self);
        let from_then = self.f.current();
        self.f.jump(next);
        self.f.start(else_block);
        let b = otherwise(self);
        let from_else = self.f.current();
        self.f.jump(next);
        self.f.start(next);
        self.f.phi(&[(&a, from_then), (&b, from_else)])
    }

    /// Loads a scalar or pointer argument.
    pub(super) fn scalar(&mut self, args: &Value, arg: usize, ty: Ty) -> Value {
        let any = self.item(args, arg);
        self.read_number(&any, ty)
    }

    fn read_number(&mut self, any: &Value, ty: Ty) -> Value {
        if ty.is_pointer() {
            return self.field(any, ty, PAYLOAD);
        }
        let bits = self.field(any, Ty::I64, PAYLOAD);
        if !ty.is_float() {
            return self.f.convert("trunc", &bits, ty);
        }
        // An integer is accepted as a float.
        let is_float = self.is_kind(any, index::FLOAT);
        let float = self.f.convert("bitcast", &bits, Ty::DOUBLE);
        let converted = self.f.convert("sitofp", &bits, Ty::DOUBLE);
        let number = self.f.select(&is_float, &float, &converted);
        self.f.convert("fptrunc", &number, ty)
    }

    /// Stores a scalar or pointer of `dtype` as an `Any`.
    pub(super) fn write_any(&mut self, any: &Value, value: &Value, dtype: DType) -> Result<()> {
        let (kind, to) = match () {
            () if dtype.is_void() => (index::NONE, DType::INT64),
            () if dtype.is_handle() => (index::OPAQUE_PTR, DType::HANDLE),
            () if dtype.is_bool() => (index::BOOL, DType::INT64),
            () if dtype.is_integer() => (index::INT, DType::INT64),
            () if dtype.is_floating() => (index::FLOAT, DType::FLOAT64),
            () => return Err(Unsupported::DType(dtype)),
        };
        let value = if dtype.is_void() { Value::i64(0) } else { self.cast(value, dtype, to)? };
        self.write_kind(any, kind, &value);
        Ok(())
    }

    fn write_kind(&mut self, any: &Value, kind: i32, payload: &Value) {
        self.f.store(&Value::i64(kind.into()), any, 8);
        self.store_field(any, PAYLOAD, payload);
    }

    /// `T.tvm_stack_make_array(data, shape, strides, ndim, a value of the dtype, offset)`: address of a tensor
    /// descriptor, which is valid until the kernel returns.
    fn stack_tensor(&mut self, parts: &[PrimExpr]) -> Result<Value> {
        let [data, shape, strides, _, like, offset] = parts else {
            return Err(Unsupported::Form("`T.tvm_stack_make_array` of other than 6 arguments"));
        };
        let sizes = shape.as_intrin("tvm_stack_make_shape");
        let sizes = sizes.ok_or(Unsupported::Form("a tensor whose shape is no `T.tvm_stack_make_shape`"))?;
        let dtype = like.dtype();
        let data = self.eval(data)?;
        let shape = self.stack_shape(&sizes.args)?;
        let strides = match strides.as_intrin("tvm_stack_make_shape") {
            Some(strides) => self.stack_shape(&strides.args)?,
            None => Value::zero(Ty::PTR),
        };
        let first = self.index(offset)?;
        let start = self.f.binary("mul", &first, &Value::i64(dtype.bytes() as i64));
        let tensor = self.f.slot(size_of::<DLTensor>() as u64, 8);
        let fields = [
            (offset_of!(DLTensor, data), data),
            // Device 0 of DLPack's kind 1, the CPU.
            (offset_of!(DLTensor, device), Value::i64(1)),
            (offset_of!(DLTensor, ndim), Value::int(sizes.args.len() as i64, Ty::I32)),
            (offset_of!(DLTensor, dtype), Value::int(packed(dtype), Ty::I32)),
            (offset_of!(DLTensor, shape), shape),
            (offset_of!(DLTensor, strides), strides),
            (offset_of!(DLTensor, byte_offset), start),
        ];
        fields.iter().for_each(|(offset, value)| self.store_field(&tensor, *offset, value));
        Ok(tensor)
    }

    /// Address of an array of sizes.
    fn stack_shape(&mut self, sizes: &[PrimExpr]) -> Result<Value> {
        let shape = self.f.slot(8 * sizes.len().max(1) as u64, 8);
        for (axis, size) in sizes.iter().enumerate() {
            let size = self.index(size)?;
            self.store_field(&shape, 8 * axis, &size);
        }
        Ok(shape)
    }

    /// `T.call_packed`: calls a global function by name with scalars, pointers, strings and tensors.
    pub(super) fn call_packed(&mut self, function: &PrimExpr, args: &[PrimExpr], to: DType) -> Result<Value> {
        let PrimKind::Str(name) = function.kind() else {
            return Err(Unsupported::Form("a packed function whose name is not a string"));
        };
        let values = self.f.slot(ANY as u64 * args.len().max(1) as u64, 8);
        for (number, arg) in args.iter().enumerate() {
            let any = self.item(&values, number);
            if let Some(parts) = arg.as_intrin("tvm_stack_make_array") {
                let tensor = self.stack_tensor(&parts.args)?;
                self.write_kind(&any, index::DL_TENSOR_PTR, &tensor);
                continue;
            }
            let value = self.eval(arg)?;
            match arg.kind() {
                PrimKind::Str(_) => self.write_kind(&any, index::RAW_STR, &value),
                _ => self.write_any(&any, &value, arg.dtype())?,
            }
        }
        let result = self.f.slot(ANY as u64, 8);
        self.write_kind(&result, index::NONE, &Value::i64(0));
        let name = self.kernel.module.string(name);
        let count = Value::int(args.len() as i64, Ty::I32);
        self.call_global(&name, &values, &count, &result);
        if to.is_void() {
            return Ok(Value::poison(Ty::VOID));
        }
        let ty = register_type(to)?;
        let wide = if to.is_floating() { Ty::DOUBLE } else { ty };
        let value = self.read_number(&result, wide);
        if to.is_floating() { self.cast(&value, DType::FLOAT64, to) } else { Ok(value) }
    }
}
