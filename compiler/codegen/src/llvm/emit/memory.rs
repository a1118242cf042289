//! Loads and stores, and the memory that a kernel allocates.

use super::{
    Emitter, Result, Ty, Unsupported, Value,
    convert::{memory_type, register_type},
    strided_load::{self, ramp},
};
use hammock_ir::{DType, PrimExpr, prim::PrimKind, tir::Buffer};
use hammock_loopnest::index::Simplifier;

/// Address of an access.
enum Address {
    /// One element, or consecutive elements from it on.
    Contiguous(Value),
    /// Consecutive elements in reverse, up to it.
    Reversed(Value),
    /// An address for each lane.
    Scattered(Value),
}

impl Emitter<'_, '_> {
    /// Loads elements of a buffer; zero in inactive lanes.
    pub(super) fn load(
        &mut self,
        buffer: &Buffer,
        indices: &[PrimExpr],
        mask: Option<&PrimExpr>,
        dtype: DType,
    ) -> Result<Value> {
        let mask = self.mask(mask, dtype.lanes)?;
        let ty = memory_type(dtype)?;
        if let Some(step) = strided_load::step(buffer, indices) {
            let value = self.load_strided(buffer, indices, step, ty, mask.as_ref())?;
            return Ok(if dtype.is_bool() { self.f.compare("icmp ne", &value, &Value::int(0, ty)) } else { value });
        }
        let address = self.access_address(buffer, indices)?;
        // Packed groups may be unaligned.
        let own = self.alignment(buffer, indices, ty);
        let align = if buffer.align > 0 { own.min(buffer.align as u64) } else { own };
        let value = match (address, &mask) {
            (Address::Contiguous(at), None) => match self.masked(buffer, indices, ty) {
                Some(whole) => self.load_part(ty, whole, &at),
                None => self.f.load(ty, &at, align),
            },
            (Address::Contiguous(at), Some(mask)) if ty.lanes == 1 => self.load_if(mask, ty, &at),
            (Address::Contiguous(at), Some(mask)) => self.masked_load("load", ty, &at, mask),
            (Address::Reversed(at), None) => {
                let value = self.f.load(ty, &at, align);
                self.reverse(&value)
            }
            (Address::Reversed(at), Some(mask)) => {
                let mask = self.reverse(mask);
                let value = self.masked_load("load", ty, &at, &mask);
                self.reverse(&value)
            }
            (Address::Scattered(at), mask) => {
                let all = Value::int(1, Ty::I1.with_lanes(ty.lanes));
                self.masked_load("gather", ty, &at, mask.as_ref().unwrap_or(&all))
            }
        };
        Ok(if dtype.is_bool() { self.f.compare("icmp ne", &value, &Value::int(0, ty)) } else { value })
    }

    /// Returns the alignment of an access in bytes: that of an element, or more if the memory is aligned and all terms of
    /// the index are multiples of several elements.
    fn alignment(&self, buffer: &Buffer, indices: &[PrimExpr], ty: Ty) -> u64 {
        let (element, base) = (ty.lane_bytes(), self.kernel.platform.base_alignment(&buffer.data));
        let [index] = indices else { return element };
        let Some((first, _, _)) = ramp(index).filter(|_| base > element && buffer.dtype.lanes == 1) else {
            return element;
        };
        let poly = Simplifier::default().poly(first);
        let zeros = poly.terms().map(|(_, factor)| factor.trailing_zeros()).min().unwrap_or(u64::BITS);
        let most = base / element;
        element * if zeros < most.ilog2() { 1 << zeros } else { most }
    }

    /// Loads a value of a dtype from an address.
    pub(super) fn read(&mut self, at: &Value, dtype: DType) -> Result<Value> {
        let ty = memory_type(dtype)?;
        let value = self.f.load(ty, at, ty.lane_bytes());
        Ok(if dtype.is_bool() { self.f.compare("icmp ne", &value, &Value::int(0, ty)) } else { value })
    }

    /// Stores elements of a buffer in active lanes.
    pub(super) fn store(
        &mut self,
        buffer: &Buffer,
        indices: &[PrimExpr],
        value: &PrimExpr,
        mask: Option<&PrimExpr>,
    ) -> Result<()> {
        let dtype = value.dtype();
        let value = self.value(value)?;
        let mask = self.mask(mask, dtype.lanes)?;
        let address = self.access_address(buffer, indices)?;
        let ty = memory_type(dtype)?;
        let value = self.f.convert("zext", &value, ty);
        match (address, mask) {
            (Address::Contiguous(at), None) => match self.masked(buffer, indices, ty) {
                Some(whole) => self.store_part(&value, whole, &at),
                None => self.f.store(&value, &at, self.alignment(buffer, indices, ty)),
            },
            (Address::Contiguous(at), Some(mask)) if ty.lanes == 1 => {
                let (then, next) = (self.f.label(), self.f.label());
                self.f.branch(&mask, then, next);
                self.f.start(then);
                self.f.store(&value, &at, ty.lane_bytes());
                self.f.jump(next);
                self.f.start(next);
            }
            (Address::Contiguous(at), Some(mask)) => self.masked_store("store", &value, &at, &mask),
            (Address::Reversed(at), None) => {
                let value = self.reverse(&value);
                self.f.store(&value, &at, ty.lane_bytes());
            }
            (Address::Reversed(at), Some(mask)) => {
                let (value, mask) = (self.reverse(&value), self.reverse(&mask));
                self.masked_store("store", &value, &at, &mask);
            }
            (Address::Scattered(at), mask) => {
                let all = Value::int(1, Ty::I1.with_lanes(ty.lanes));
                self.masked_store("scatter", &value, &at, &mask.unwrap_or(all));
            }
        }
        Ok(())
    }

    /// Checks that an index is in `0 .. extent` in all active lanes, and returns it.
    pub(super) fn check_index(&mut self, index: &PrimExpr, extent: &PrimExpr, rest: &[PrimExpr]) -> Result<Value> {
        let (texts, mask) = rest.split_at(rest.len().min(3));
        let lanes = index.dtype().lanes;
        let (index, extent) = (self.frozen_index(index)?, self.frozen_index(extent)?);
        let mask = self.mask(mask.first(), lanes)?;
        let mut fails = self.f.compare("icmp uge", &index, &extent);
        // A negative extent has no elements, but compares as a large unsigned number.
        if extent.as_int().is_none() {
            let nothing = self.f.compare("icmp slt", &extent, &Value::zero(extent.ty));
            fails = self.f.binary("or", &fails, &nothing);
        }
        if let Some(mask) = mask {
            fails = self.f.binary("and", &fails, &mask);
        }
        let (failed, next) = (self.f.label(), self.f.label());
        let any = self.any_lane(&fails);
        self.f.branch(&any, failed, next);
        self.f.start(failed);
        let (mut at, mut size) = (index.clone(), extent.clone());
        if lanes > 1 {
            // The first lane that fails.
            (at, size) = (self.f.extract(&index, 0), self.f.extract(&extent, 0));
            for lane in (0..usize::from(lanes)).rev() {
                let lane_fails = self.f.extract(&fails, lane);
                let lane = self.f.extract(&index, lane);
                at = self.f.select(&lane_fails, &lane, &at);
            }
        }
        let texts: Vec<&str> = texts.iter().map(|text| text.as_str().unwrap_or_default()).collect();
        self.raise_values("IndexError", &texts, &[&at, &size]);
        self.fail();
        self.f.start(next);
        Ok(index)
    }

    /// Combines the mask of an access with that of the enclosing select; `None` if all lanes are active.
    fn mask(&mut self, own: Option<&PrimExpr>, lanes: u16) -> Result<Option<Value>> {
        let own = match own {
            Some(mask) => {
                let mask = self.eval(mask)?;
                Some(if mask.ty.lanes == 1 { self.f.splat(&mask, lanes) } else { mask })
            }
            None => None,
        };
        let outer = match self.active.clone() {
            Some(active) if active.ty.lanes == lanes => Some(active),
            // A scalar is needed if any lane is active.
            Some(active) => {
                let any = self.any_lane(&active);
                Some(self.f.splat(&any, lanes))
            }
            None => None,
        };
        let both = match (own, outer) {
            (Some(a), Some(b)) if a.ty == b.ty => self.f.binary("and", &a, &b),
            (Some(_), Some(_)) => return Err(Unsupported::Form("a mask of another number of lanes than its access")),
            (one, other) => match one.or(other) {
                Some(mask) => mask,
                None => return Ok(None),
            },
        };
        Ok(Some(both).filter(|m| m.as_int() != Some(1)))
    }

    /// Returns the address of an access. Several indices are flattened by the buffer's strides or shape.
    fn access_address(&mut self, buffer: &Buffer, indices: &[PrimExpr]) -> Result<Address> {
        let base = self.vars.get(&buffer.data).cloned();
        let base = base.ok_or_else(|| Unsupported::Unbound(buffer.name.clone()))?;
        let element = memory_type(buffer.dtype.element())?;
        let (last, offset) = self.flatten(buffer, indices)?;
        let width = i64::from(buffer.dtype.lanes);
        if let Some((ramp_base, stride, lanes)) = last.as_ref().and_then(ramp)
            && let (Some(1 | -1), 1) = (stride.as_int(), width)
        {
            let is_forward = stride.as_int() == Some(1);
            let first = self.index(ramp_base)?;
            let first = self.f.binary("add", &offset, &first);
            let start = if is_forward { 0 } else { 1 - i64::from(lanes) };
            let first = self.f.binary("add", &first, &Value::i64(start));
            let at = self.f.address(&base, element, &first);
            return Ok(if is_forward { Address::Contiguous(at) } else { Address::Reversed(at) });
        }
        let last = match &last {
            Some(index) => self.index(index)?,
            None => Value::i64(0),
        };
        let offset = self.f.splat(&offset, last.ty.lanes);
        let index = self.f.binary("add", &offset, &last);
        let index = self.f.binary("mul", &index, &Value::int(width, index.ty));
        let at = self.f.address(&base, element, &index);
        match (at.ty.lanes, width) {
            (1, _) => Ok(Address::Contiguous(at)),
            (_, 1) => Ok(Address::Scattered(at)),
            _ => Err(Unsupported::Form("scattered access to a buffer of vectors")),
        }
    }

    /// Returns the last index, scaled by its stride, and the offset of the other indices.
    fn flatten(&mut self, buffer: &Buffer, indices: &[PrimExpr]) -> Result<(Option<PrimExpr>, Value)> {
        let mut offset = Value::i64(0);
        if let Some(start) = &buffer.elem_offset {
            offset = self.index(start)?;
        }
        let Some((last, outer)) = indices.split_last() else { return Ok((None, offset)) };
        let has_strides = !buffer.strides.is_empty();
        let stride = buffer.strides.last().filter(|s| s.as_int() != Some(1));
        let mut sum = Value::i64(0);
        for (axis, index) in outer.iter().enumerate() {
            let index = self.index(index)?;
            if has_strides {
                let stride = self.index(&buffer.strides[axis])?;
                let distance = self.f.binary("mul", &index, &stride);
                sum = self.f.binary("add", &sum, &distance);
            } else {
                sum = self.f.binary("add", &sum, &index);
                let extent = self.index(&buffer.shape[axis + 1])?;
                sum = self.f.binary("mul", &sum, &extent);
            }
        }
        let offset = self.f.binary("add", &offset, &sum);
        let Some(stride) = stride else { return Ok((Some(last.clone()), offset)) };
        let stride = stride.clone().cast(last.dtype().element()).broadcast(last.dtype().lanes);
        let last = last.clone() * stride;
        self.made.push(last.clone());
        Ok((Some(last), offset))
    }

    /// Evaluates an index or size as a 64-bit integer.
    pub(super) fn index(&mut self, e: &PrimExpr) -> Result<Value> {
        let value = self.eval(e)?;
        let instruction = if e.dtype().is_int() { "sext" } else { "zext" };
        Ok(self.f.convert(instruction, &value, Ty::I64.with_lanes(value.ty.lanes)))
    }

    /// Evaluates an index or size that control flow depends on.
    pub(super) fn frozen_index(&mut self, e: &PrimExpr) -> Result<Value> {
        let value = self.index(e)?;
        Ok(self.frozen(e, value))
    }

    /// Loads a scalar if its mask is set; otherwise loads valid dummy memory instead, if that is in the same
    /// address space.
    pub(super) fn load_if(&mut self, mask: &Value, ty: Ty, at: &Value) -> Value {
        if at.ty != Ty::PTR {
            return self.either(mask, |s| s.f.load(ty, at, ty.lane_bytes()), |_| Value::zero(ty));
        }
        let spare = self.f.slot(8, 8);
        let at = self.f.select(mask, at, &spare);
        let value = self.f.load(ty, &at, ty.lane_bytes());
        self.f.select(mask, &value, &Value::zero(ty))
    }

    /// Tests if any lane of a condition is true.
    pub(super) fn any_lane(&mut self, condition: &Value) -> Value {
        match condition.ty.lanes {
            1 => condition.clone(),
            _ => self.intrinsic("vector.reduce.or", condition.ty, Ty::I1, &[condition]),
        }
    }

    /// Returns the full register type of a partial vector, if one masked access is better than several of two, four and
    /// eight elements. Not for local buffers, which LLVM promotes to registers only with plain accesses.
    fn masked(&self, buffer: &Buffer, indices: &[PrimExpr], ty: Ty) -> Option<Ty> {
        let first = |index: &PrimExpr| ramp(index).map_or_else(|| index.as_int(), |(first, ..)| first.as_int());
        let in_registers = &*buffer.scope == "local" && indices.iter().all(|index| first(index).is_some());
        let whole = ty.with_lanes(ty.lanes.next_power_of_two());
        let aligned = buffer.align <= 0 || buffer.align as u64 >= ty.lane_bytes();
        (self.kernel.platform.has_masks() && whole != ty && aligned && !in_registers).then_some(whole)
    }

    fn load_part(&mut self, ty: Ty, whole: Ty, at: &Value) -> Value {
        let value = self.masked_load("load", whole, at, &first_lanes(ty.lanes, whole.lanes));
        self.f.shuffle(&value, &Value::poison(whole), 0..ty.lanes.into())
    }

    fn store_part(&mut self, value: &Value, whole: Ty, at: &Value) {
        let lanes = usize::from(value.ty.lanes);
        let widened = self.f.shuffle(value, &Value::poison(value.ty), (0..whole.lanes.into()).map(|l| l.min(lanes)));
        self.masked_store("store", &widened, at, &first_lanes(value.ty.lanes, whole.lanes));
    }

    pub(super) fn masked_load(&mut self, name: &str, ty: Ty, at: &Value, mask: &Value) -> Value {
        let intrinsic = format!("llvm.masked.{name}.{}.{}", ty.suffix(), at.ty.suffix());
        let callee = self.kernel.module.declare(&intrinsic, ty, &[at.ty, mask.ty, ty]);
        let (align, zero) = (ty.lane_bytes(), Value::zero(ty));
        let (mask, zero) = (mask.typed(), zero.typed());
        self.f.assign(ty, format_args!("call {ty} {callee}({} align {align} {at}, {mask}, {zero})", at.ty))
    }

    fn masked_store(&mut self, name: &str, value: &Value, at: &Value, mask: &Value) {
        let intrinsic = format!("llvm.masked.{name}.{}.{}", value.ty.suffix(), at.ty.suffix());
        let callee = self.kernel.module.declare(&intrinsic, Ty::VOID, &[value.ty, at.ty, mask.ty]);
        let align = value.ty.lane_bytes();
        let (value, mask) = (value.typed(), mask.typed());
        self.f.perform(format_args!("call void {callee}({value}, {} align {align} {at}, {mask})", at.ty));
    }

    fn reverse(&mut self, value: &Value) -> Value {
        let lanes = usize::from(value.ty.lanes);
        self.f.shuffle(value, &Value::poison(value.ty), (0..lanes).rev())
    }

    /// Address of a buffer's element.
    pub(super) fn address_of(&mut self, buffer: &Buffer, indices: &[PrimExpr]) -> Result<Value> {
        match self.access_address(buffer, indices)? {
            Address::Contiguous(at) => Ok(at),
            _ => Err(Unsupported::Form("the address of scattered elements")),
        }
    }

    /// Prefetches the cache line a number of bytes after an element, for reading, into a level of cache.
    pub(super) fn prefetch(&mut self, element: &PrimExpr, distance: &PrimExpr, level: &PrimExpr) -> Result<Value> {
        let (PrimKind::Load(buffer, indices, None), Some(distance), Some(level)) =
            (element.kind(), distance.as_int(), level.as_int())
        else {
            return Err(Unsupported::Form("a prefetch of no buffer element, or at a distance that is not a constant"));
        };
        let at = self.address_of(buffer, indices)?;
        // Without `inbounds`: the buffer may end before.
        let at = self.f.assign(at.ty, format_args!("getelementptr i8, {}, i64 {distance}", at.typed()));
        // Read access, locality (3 is L1), data.
        let [is_write, locality, is_data] = [0, 4 - level, 1].map(|flag| Value::int(flag, Ty::I32));
        Ok(self.intrinsic("prefetch", at.ty, Ty::VOID, &[&at, &is_write, &locality, &is_data]))
    }

    /// Allocates a buffer, which is valid until the end of its sequence.
    pub(super) fn allocate(&mut self, buffer: &Buffer) -> Result<()> {
        let element = register_type(buffer.dtype)?.with_lanes(1);
        let width = element.lane_bytes() as i64 * i64::from(buffer.dtype.lanes);
        let mut bytes = Value::i64(width);
        for extent in &buffer.shape {
            let extent = self.index(extent)?;
            bytes = self.f.binary("mul", &bytes, &extent);
        }
        let platform = self.kernel.platform;
        let memory = platform.allocate(self, buffer, &bytes)?;
        self.vars.insert(buffer.data.clone(), memory);
        self.distinct.insert(buffer.data.clone());
        Ok(())
    }

    /// Allocates bytes on the stack.
    pub(super) fn stack_slot(&mut self, bytes: i64, align: u64) -> Value {
        self.stack_bytes += bytes.max(1);
        self.f.slot(bytes.max(1) as u64, align)
    }

    /// Allocates a workspace, which is freed at the end of the sequence.
    pub(super) fn workspace(&mut self, bytes: &Value) -> Value {
        let workspace = self.alloc_workspace(bytes);
        self.workspaces.push(workspace.clone());
        self.unwinding.push(None);
        workspace
    }

    /// Frees the workspaces allocated since there were `live` of them.
    pub(super) fn free_workspaces_to(&mut self, live: usize) {
        while self.workspaces.len() > live {
            let workspace = self.workspaces.pop();
            self.unwinding.pop();
            if let Some(workspace) = workspace.filter(|_| self.f.is_open()) {
                self.free_workspace(&workspace);
            }
        }
    }
}

/// Returns a mask whose first `on` of `all` lanes are active.
fn first_lanes(on: u16, all: u16) -> Value {
    Value::vector((0..all).map(|lane| (lane < on).into()), Ty::I1)
}
