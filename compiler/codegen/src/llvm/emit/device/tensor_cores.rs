//! Matrix instructions of a warp, and asynchronous copies to shared memory.

use super::{DType, Emitter, PrimExpr, Result, Ty, Unsupported, Value, nvptx};
use crate::llvm::emit::convert::memory_type;

/// Bytes of a register of operands.
const REGISTER_BYTES: i64 = 4;
/// Registers of the sums of a thread.
const SUM_REGISTERS: usize = 4;

impl Emitter<'_, '_> {
    /// `ptx_ldmatrix(transposes, count, ".b16", to, to_offset, from, from_offset)`
    pub(super) fn load_matrices(&mut self, args: &[PrimExpr], dtype: DType) -> Result<Value> {
        const FORM: Unsupported = Unsupported::Form("an `ldmatrix` other than of 1, 2 or 4 matrices in shared memory");
        let [transposes, count, kind, to, to_offset, from, from_offset] = args else { return Err(FORM) };
        let (Some(transposes), Some(count), Some(".b16")) = (transposes.as_int(), count.as_int(), kind.as_str()) else {
            return Err(FORM);
        };
        let intrinsic = nvptx::load_matrices(count, transposes != 0).ok_or(FORM)?;
        let from = self.element_address(from, from_offset, dtype)?;
        if from.ty != Ty::pointer_to(nvptx::SHARED) {
            return Err(FORM);
        }
        let to = self.element_address(to, to_offset, dtype)?;
        let fields = (Ty::I32, count as usize);
        // A function of one register returns it itself.
        let words = if count == 1 {
            vec![self.call_plain(&intrinsic, Ty::I32, &[&from])]
        } else {
            let callee = self.kernel.module.declare_fields(&intrinsic, fields, &[from.ty]);
            self.f.call_fields(&callee, fields, &[&from])
        };
        for (register, word) in words.iter().enumerate() {
            let at = self.register_address(&to, register);
            self.f.store(word, &at, REGISTER_BYTES as u64);
        }
        Ok(Value::poison(Ty::VOID))
    }

    /// `ptx_mma(shape, "row", "col", A's dtype, B's, C's, a, a_index, b, b_index, c, c_index, saturates)`: operands that
    /// are `tf32` are float32 in memory, and rounded.
    pub(super) fn multiply_matrices(&mut self, args: &[PrimExpr]) -> Result<Value> {
        const FORM: Unsupported = Unsupported::Form("an `mma` of a shape or of dtypes that are not supported");
        let [shape, a_layout, b_layout, a_type, b_type, c_type, a, a_index, b, b_index, c, c_index, saturates, ..] =
            args
        else {
            return Err(FORM);
        };
        let words = [shape, a_layout, b_layout, a_type, b_type, c_type].map(PrimExpr::as_str);
        let [Some(shape), Some("row"), Some("col"), Some(a_type), Some(b_type), Some(c_type)] = words else {
            return Err(FORM);
        };
        let mma = nvptx::mma(shape, a_type, c_type).filter(|_| a_type == b_type && saturates.as_int() == Some(0));
        let mma = mma.ok_or(FORM)?;
        let element = match a_type {
            "fp16" | "bf16" => Ty::HALF,
            "tf32" => Ty::FLOAT,
            _ => Ty::I8,
        };
        let a = self.indexed(a, a_index, element)?;
        let b = self.indexed(b, b_index, element)?;
        let c = self.indexed(c, c_index, mma.sum)?;
        let mut registers = self.load_registers(&a, mma.operand, mma.a_registers);
        registers.extend(self.load_registers(&b, mma.operand, mma.b_registers));
        if a_type == "tf32" {
            registers = registers.iter().map(|word| self.rounded_to_tf32(word)).collect();
        }
        registers.extend(self.load_registers(&c, mma.sum, SUM_REGISTERS));
        let types: Vec<Ty> = registers.iter().map(|register| register.ty).collect();
        let fields = (mma.sum, SUM_REGISTERS);
        let callee = self.kernel.module.declare_fields(&mma.intrinsic, fields, &types);
        let sums = self.f.call_fields(&callee, fields, &registers.iter().collect::<Vec<_>>());
        for (register, sum) in sums.iter().enumerate() {
            let at = self.register_address(&c, register);
            self.f.store(sum, &at, REGISTER_BYTES as u64);
        }
        Ok(Value::poison(Ty::VOID))
    }

    /// `ptx_cp_async(to, to_offset, from, from_offset, bytes, predicate)`: zeros if the predicate does not hold.
    pub(super) fn copy_async(&mut self, args: &[PrimExpr], dtype: DType) -> Result<Value> {
        const FORM: Unsupported =
            Unsupported::Form("an asynchronous copy other than of 4, 8 or 16 bytes from global to shared memory");
        let [to, to_offset, from, from_offset, bytes, predicate @ ..] = args else { return Err(FORM) };
        let bytes = bytes.as_int().ok_or(FORM)?;
        let intrinsic = nvptx::copy_async(bytes).ok_or(FORM)?;
        let to = self.element_address(to, to_offset, dtype)?;
        let from = self.element_address(from, from_offset, dtype)?;
        if to.ty != Ty::pointer_to(nvptx::SHARED) || from.ty != Ty::pointer_to(nvptx::GLOBAL) {
            return Err(FORM);
        }
        let whole = Value::int(bytes, Ty::I32);
        let size = match predicate.first() {
            Some(predicate) => {
                let predicate = self.decide(predicate)?;
                self.f.select(&predicate, &whole, &Value::int(0, Ty::I32))
            }
            None => whole,
        };
        Ok(self.call_plain(&intrinsic, Ty::VOID, &[&to, &from, &size]))
    }

    /// `ptx_wait_group(pending)`
    pub(super) fn wait_group(&mut self, pending: &PrimExpr) -> Result<Value> {
        let pending =
            pending.as_int().ok_or(Unsupported::Form("a wait for a number of groups that is not constant"))?;
        Ok(self.call_plain(nvptx::WAIT_GROUP, Ty::VOID, &[&Value::int(pending, Ty::I32)]))
    }

    /// Returns the address of an element of a dtype.
    fn element_address(&mut self, base: &PrimExpr, index: &PrimExpr, dtype: DType) -> Result<Value> {
        self.indexed(base, index, memory_type(dtype.element())?)
    }

    fn indexed(&mut self, base: &PrimExpr, index: &PrimExpr, element: Ty) -> Result<Value> {
        let (base, index) = (self.eval(base)?, self.index(index)?);
        Ok(self.f.address(&base, element, &index))
    }

    /// Returns the word of a float, rounded to tf32.
    fn rounded_to_tf32(&mut self, word: &Value) -> Value {
        let float = self.f.convert("bitcast", word, Ty::FLOAT);
        self.call_plain(nvptx::ROUND_TO_TF32, Ty::I32, &[&float])
    }

    fn register_address(&mut self, base: &Value, register: usize) -> Value {
        self.f.address(base, Ty::I32, &Value::i64(register as i64))
    }

    fn load_registers(&mut self, base: &Value, ty: Ty, count: usize) -> Vec<Value> {
        let load = |register| {
            let at = self.register_address(base, register);
            self.f.load(ty, &at, REGISTER_BYTES as u64)
        };
        (0..count).map(load).collect()
    }
}
