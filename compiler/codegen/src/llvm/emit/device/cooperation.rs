//! Barriers, exchange of values between lanes of a warp, and atomic operations.

use super::{DType, Emitter, PrimExpr, Result, Ty, Unsupported, Value, nvptx, register_type};
use hammock_ir::prim::PrimKind;

impl Emitter<'_, '_> {
    /// Evaluates an intrinsic of devices; `None` for those that all platforms have.
    pub fn device_call(&mut self, name: &str, args: &[PrimExpr], to: DType) -> Result<Option<Value>> {
        Ok(Some(match (name, args) {
            ("tvm_storage_sync", [scope, ..]) => self.barrier(scope)?,
            ("tvm_warp_activemask", []) => self.call_plain(nvptx::ACTIVE_MASK, Ty::I32, &[]),
            ("tvm_thread_invariant", [value]) => self.eval(value)?,
            ("atomic_add", [address, value]) => self.atomic_add(address, value)?,
            ("ptx_ldmatrix", args) => self.load_matrices(args, to)?,
            ("ptx_mma", args) => self.multiply_matrices(args)?,
            ("ptx_cp_async", args) => self.copy_async(args, to)?,
            ("ptx_commit_group", []) => self.call_plain(nvptx::COMMIT_GROUP, Ty::VOID, &[]),
            ("ptx_wait_group", [pending]) => self.wait_group(pending)?,
            ("call_extern" | "call_pure_extern" | "call_packed" | "call_cpacked", _) => {
                return Err(Unsupported::Form("a call of a host function in device code"));
            }
            (name, [mask, value, lane, width, warp_size]) if let Some(shuffle) = nvptx::shuffle(name) => {
                self.shuffle_lanes(shuffle, [mask, value, lane, width, warp_size], to)?
            }
            _ => return Ok(None),
        }))
    }

    /// Calls an LLVM intrinsic that is not overloaded.
    pub(super) fn call_plain(&mut self, name: &str, ret: Ty, args: &[&Value]) -> Value {
        let params: Vec<Ty> = args.iter().map(|arg| arg.ty).collect();
        let callee = self.kernel.module.declare(name, ret, &params);
        self.f.call(&callee, ret, args)
    }

    /// Waits for all threads of the block or the warp. What they have written to shared and global memory is visible
    /// after it.
    fn barrier(&mut self, scope: &PrimExpr) -> Result<Value> {
        let PrimKind::Str(scope) = scope.kind() else {
            return Err(Unsupported::Form("a barrier whose scope is not a string"));
        };
        Ok(match &**scope {
            "shared" | "shared.dyn" => self.call_plain(nvptx::BLOCK_BARRIER, Ty::VOID, &[&Value::int(0, Ty::I32)]),
            "warp" => self.call_plain(nvptx::WARP_BARRIER, Ty::VOID, &[&Value::int(-1, Ty::I32)]),
            _ => return Err(Unsupported::Form("a barrier of other than a block's or a warp's threads")),
        })
    }

    /// `tvm_warp_shuffle…(mask, value, lane, width, warp size)`: the value of another lane of the segment of `width`
    /// lanes. A value of 64 bits takes two exchanges.
    fn shuffle_lanes(
        &mut self,
        (intrinsic, is_bounded_below): (&str, bool),
        [mask, value, lane, width, warp_size]: [&PrimExpr; 5],
        to: DType,
    ) -> Result<Value> {
        let (Some(width), Some(warp_size)) = (width.as_int(), warp_size.as_int()) else {
            return Err(Unsupported::Form("a warp shuffle whose width is not a constant"));
        };
        let [mask, value, lane] = [mask, value, lane].map(|e| self.eval(e));
        let (mask, value, lane) = (mask?, value?, lane?);
        let mask = self.f.convert(if mask.ty.bits() < 32 { "zext" } else { "trunc" }, &mask, Ty::I32);
        let lane = self.f.convert(if lane.ty.bits() < 32 { "zext" } else { "trunc" }, &lane, Ty::I32);
        let last = if is_bounded_below { 0 } else { warp_size - 1 };
        let segment = Value::int((warp_size - width) << 8 | last, Ty::I32);
        let exchange = |s: &mut Self, word: &Value| s.call_plain(intrinsic, Ty::I32, &[&mask, word, &lane, &segment]);
        let ty = register_type(to)?;
        if ty.lanes != 1 || ty.is_pointer() {
            return Err(Unsupported::Form("a warp shuffle of other than one number"));
        }
        let bits = Ty::int(ty.bits());
        let whole = if ty.is_float() { self.f.convert("bitcast", &value, bits) } else { value };
        let received = match ty.bits() {
            64 => {
                let pair = Ty::I32.with_lanes(2);
                let words = self.f.convert("bitcast", &whole, pair);
                let mut both = Value::poison(pair);
                for half in 0..2 {
                    let word = self.f.extract(&words, half);
                    let word = exchange(self, &word);
                    both = self.f.insert(&both, &word, half);
                }
                self.f.convert("bitcast", &both, bits)
            }
            32 => exchange(self, &whole),
            _ => {
                let word = self.f.convert("zext", &whole, Ty::I32);
                let word = exchange(self, &word);
                self.f.convert("trunc", &word, bits)
            }
        };
        Ok(if ty.is_float() { self.f.convert("bitcast", &received, ty) } else { received })
    }

    /// `atomic_add(address, value)`: adds in memory, and returns what was there before.
    fn atomic_add(&mut self, address: &PrimExpr, value: &PrimExpr) -> Result<Value> {
        let (address, dtype) = (self.eval(address)?, value.dtype());
        let value = self.eval(value)?;
        let is_native = match dtype.bits {
            32 | 64 => dtype.is_integer() || dtype.is_float(),
            _ => false,
        };
        if !is_native || value.ty.lanes != 1 {
            return Err(Unsupported::Form("an atomic addition of other than 32 or 64 bits"));
        }
        Ok(nvptx::atomic_add(&mut self.f, &address, &value))
    }
}
