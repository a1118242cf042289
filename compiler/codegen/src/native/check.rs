//! Checks values against kernel signatures and annotations. A value that may not match is left to the interpreter,
//! which reports the error or continues.
use super::emit::{Emitter, dtype_word};
use super::fields::tensor_field;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use hammock_runtime::executable::compact::{Content, MatchSize, Matching, Size, Slot, Slots, TensorFacts};
use hammock_runtime::image::{Dim, Fit, KernelSignature, ParamKind};
use hammock_runtime::value::index;
use hammock_runtime::{DType, Device};
use std::mem::offset_of;

/// Requirements on a tensor.
struct TensorSpec<'a> {
    dtype: Option<DType>,
    /// Required alignment, if it must be dense and on the CPU.
    alignment: Option<u32>,
    /// Required sizes.
    dims: Option<&'a [Dim]>,
}

/// Values of symbolic sizes.
type Symbols = [Option<Extent>];

/// A size.
#[derive(Clone, Copy)]
enum Extent {
    Known(i64),
    Loaded(Value),
}

/// Accumulated differences; nonzero if there is any.
#[derive(Default)]
struct Difference(Option<Value>);

impl Emitter<'_> {
    /// Checks arguments against the signature of a kernel. Returns false if the call is left to the interpreter.
    pub(super) fn check_arguments(&mut self, at: u32, callee: u32, args: Slots) -> bool {
        let Some(kernel) = self.kernel(callee) else { return true };
        let slots = &self.steps.slots[args.range()];
        match kernel.fit(&self.facts, slots) {
            Fit::Always => return true,
            Fit::Maybe if is_comparable(kernel) && self.writes_its_own(kernel, slots) => (),
            _ => {
                self.leave_to_interpreter(at);
                return false;
            }
        }
        let mut symbols = vec![None; kernel.symbol_count as usize];
        let mut difference = Difference::default();
        for (param, slot) in kernel.params.iter().zip(slots) {
            match &param.kind {
                ParamKind::Tensor { dtype, shape, alignment } => {
                    let spec = TensorSpec { dtype: Some(*dtype), alignment: Some(*alignment), dims: Some(shape) };
                    self.compare_tensor(at, *slot, &spec, &mut symbols, &mut difference);
                }
                ParamKind::Scalar { dtype, symbol } => {
                    self.compare_scalar(*slot, *dtype, *symbol, &mut symbols, &mut difference);
                }
            }
        }
        self.leave_if_different(at, difference);
        true
    }

    /// Returns true if the tensors that a kernel writes are certainly not constants. Other calls are rare, and left to
    /// the interpreter.
    fn writes_its_own(&self, kernel: &KernelSignature, slots: &[Slot]) -> bool {
        let is_writable = |slot: &Slot| self.facts.tensor(*slot).is_some_and(|tensor| tensor.is_writable);
        kernel.params.iter().zip(slots).all(|(param, slot)| !param.is_written || is_writable(slot))
    }

    fn compare_scalar(
        &mut self,
        slot: Slot,
        dtype: DType,
        symbol: Option<u32>,
        symbols: &mut Symbols,
        difference: &mut Difference,
    ) {
        let content = self.facts.get(slot).clone();
        if dtype.is_floating() {
            if content != Content::Float {
                let tag = self.tag(slot);
                let other = self.ins().bxor_imm_s(tag, i64::from(index::FLOAT));
                self.add(difference, other);
            }
            return;
        }
        if !matches!(content, Content::Int(_)) {
            let tag = self.tag(slot);
            let is_integer = self.is_among(tag, index::INT, 2);
            let other = self.ins().icmp_imm_s(IntCC::Equal, is_integer, 0);
            self.add(difference, other);
        }
        if let Some(symbol) = symbol {
            let extent = match content {
                Content::Int(value) => Extent::Known(value),
                _ => Extent::Loaded(self.payload(I64, slot)),
            };
            self.bind(symbol, extent, symbols, difference);
        }
    }

    /// Checks a value against a tensor type, and records the facts that hold afterwards.
    fn compare_tensor(
        &mut self,
        at: u32,
        slot: Slot,
        spec: &TensorSpec<'_>,
        symbols: &mut Symbols,
        difference: &mut Difference,
    ) {
        let known = self.facts.tensor(slot).cloned();
        if known.is_none() {
            let tag = self.tag(slot);
            let other = self.ins().bxor_imm_s(tag, i64::from(index::TENSOR));
            self.add(difference, other);
            self.leave_if_different(at, std::mem::take(difference));
        }
        let mut facts = known.unwrap_or_default();
        self.compare_descriptor(slot, spec, &mut facts, difference);
        if let Some(dims) = spec.dims {
            if facts.dims.is_none() {
                let rank = self.field(I32, slot, tensor_field!(ndim));
                let other = self.ins().bxor_imm_s(rank, dims.len() as i64);
                self.add(difference, other);
                // Sizes can only be read after the rank is checked.
                self.leave_if_different(at, std::mem::take(difference));
                facts.dims = Some(vec![None; dims.len()]);
            }
            let extents = self.compare_sizes(slot, dims, &mut facts, symbols, difference);
            if spec.alignment.is_some() && !facts.is_dense {
                self.compare_strides(at, slot, &extents, difference);
                facts.is_dense = true;
            }
        }
        self.facts.learn(slot, &facts);
    }

    fn compare_descriptor(
        &mut self,
        slot: Slot,
        spec: &TensorSpec<'_>,
        facts: &mut TensorFacts,
        difference: &mut Difference,
    ) {
        if let Some(dtype) = spec.dtype.filter(|dtype| facts.dtype != Some(*dtype)) {
            let word = self.field(I32, slot, tensor_field!(dtype));
            let other = self.ins().bxor_imm_s(word, dtype_word(dtype));
            self.add(difference, other);
            facts.dtype = Some(dtype);
        }
        let Some(alignment) = spec.alignment else { return };
        if !facts.is_on(Device::CPU) {
            // The device id does not matter for host memory.
            let kind = self.field(I32, slot, tensor_field!(device) + offset_of!(Device, kind));
            let other = self.ins().bxor_imm_s(kind, i64::from(Device::CPU.kind));
            self.add(difference, other);
            facts.device = Some(Device::CPU);
        }
        let alignment = alignment.max(1) as usize;
        if alignment > facts.alignment.max(1) {
            let data = self.field(I64, slot, tensor_field!(data));
            let offset = self.field(I64, slot, tensor_field!(byte_offset));
            let address = self.ins().iadd(data, offset);
            let rest = self.ins().band_imm_s(address, alignment as i64 - 1);
            self.add(difference, rest);
            facts.alignment = alignment;
        }
    }

    /// Compares sizes; returns their values, which hold if there is no difference.
    fn compare_sizes(
        &mut self,
        slot: Slot,
        dims: &[Dim],
        facts: &mut TensorFacts,
        symbols: &mut Symbols,
        difference: &mut Difference,
    ) -> Vec<Extent> {
        let mut known = facts.dims.take().unwrap_or_default();
        let needs_loads = known.iter().any(Option::is_none);
        let sizes = needs_loads.then(|| self.field(I64, slot, tensor_field!(shape)));
        let mut extents = Vec::with_capacity(dims.len());
        for (axis, (dim, known)) in dims.iter().zip(&mut known).enumerate() {
            let extent = match (*known, sizes) {
                (Some(size), _) => Extent::Known(size),
                (None, Some(sizes)) => Extent::Loaded(self.load(I64, sizes, 8 * axis)),
                (None, None) => continue,
            };
            extents.push(match *dim {
                Dim::Static(size) => {
                    self.compare_extents(extent, Extent::Known(size), difference);
                    *known = Some(size);
                    Extent::Known(size)
                }
                Dim::Symbol(symbol) => self.bind(symbol, extent, symbols, difference),
            });
        }
        facts.dims = Some(known);
        extents
    }

    /// Compares strides with those of a dense tensor. Other valid strides are rare, and left to the interpreter.
    fn compare_strides(&mut self, at: u32, slot: Slot, extents: &[Extent], difference: &mut Difference) {
        let is_empty = |extent: &Extent| matches!(extent, Extent::Known(0));
        if extents.iter().any(is_empty) || extents.iter().all(|extent| matches!(extent, Extent::Known(1))) {
            return;
        }
        let strides = self.field(I64, slot, tensor_field!(strides));
        let are_missing = self.ins().icmp_imm_s(IntCC::Equal, strides, 0);
        let step = self.number(at);
        self.leave_if(are_missing, self.exits.step, &[step]);
        let mut expected = Extent::Known(1);
        for (axis, extent) in extents.iter().enumerate().rev() {
            if !matches!(extent, Extent::Known(1)) {
                let stride = self.load(I64, strides, 8 * axis);
                self.compare_extents(Extent::Loaded(stride), expected, difference);
            }
            if axis > 0 {
                expected = self.product(expected, *extent);
            }
        }
    }

    fn product(&mut self, a: Extent, b: Extent) -> Extent {
        match (a, b) {
            (Extent::Known(a), Extent::Known(b)) => Extent::Known(a.wrapping_mul(b)),
            (Extent::Known(1), Extent::Loaded(v)) | (Extent::Loaded(v), Extent::Known(1)) => Extent::Loaded(v),
            (Extent::Known(k), Extent::Loaded(v)) | (Extent::Loaded(v), Extent::Known(k)) => {
                Extent::Loaded(self.ins().imul_imm_s(v, k))
            }
            (Extent::Loaded(a), Extent::Loaded(b)) => Extent::Loaded(self.ins().imul(a, b)),
        }
    }

    /// Binds a symbol to a size, or compares it with the bound one; returns the size.
    fn bind(&mut self, symbol: u32, extent: Extent, symbols: &mut Symbols, difference: &mut Difference) -> Extent {
        match symbols[symbol as usize] {
            Some(bound) => {
                self.compare_extents(extent, bound, difference);
                bound
            }
            None => *symbols[symbol as usize].insert(extent),
        }
    }

    fn compare_extents(&mut self, a: Extent, b: Extent, difference: &mut Difference) {
        let other = match (a, b) {
            (Extent::Known(a), Extent::Known(b)) if a == b => return,
            (Extent::Known(a), Extent::Known(b)) => self.int(a ^ b),
            (Extent::Known(known), Extent::Loaded(value)) | (Extent::Loaded(value), Extent::Known(known)) => {
                self.ins().bxor_imm_s(value, known)
            }
            (Extent::Loaded(a), Extent::Loaded(b)) => self.ins().bxor(a, b),
        };
        self.add(difference, other);
    }

    fn add(&mut self, difference: &mut Difference, other: Value) {
        let wide = match self.builder.func.dfg.value_type(other) {
            I64 => other,
            _ => self.ins().uextend(I64, other),
        };
        difference.0 = Some(match difference.0 {
            Some(before) => self.ins().bor(before, wide),
            None => wide,
        });
    }

    fn leave_if_different(&mut self, at: u32, difference: Difference) {
        if let Some(difference) = difference.0 {
            let step = self.number(at);
            self.leave_if(difference, self.exits.step, &[step]);
        }
    }

    /// Checks a value against an annotation.
    pub(super) fn check(&mut self, at: u32, value: Slot, heap: Slot, plan: u32) {
        let mut difference = Difference::default();
        match &self.steps.checks[plan as usize].matching {
            Matching::Tensor { ndim, dtype } => {
                let dims = usize::try_from(*ndim).ok().map(any_sizes);
                let spec = TensorSpec { dtype: *dtype, alignment: None, dims: dims.as_deref() };
                let mut symbols = vec![None; dims.as_ref().map_or(0, Vec::len)];
                self.check_tensor(at, value, &spec, &mut symbols, &mut difference);
            }
            Matching::Shape(sizes) => match static_sizes(sizes) {
                Some(dims) if self.facts.tensor(value).is_some() => {
                    let spec = TensorSpec { dtype: None, alignment: None, dims: Some(&dims) };
                    self.check_tensor(at, value, &spec, &mut vec![None; dims.len()], &mut difference);
                }
                _ => {
                    let holds = self.holds(value, heap, plan);
                    let differs = self.ins().icmp_imm_s(IntCC::Equal, holds, 0);
                    self.add(&mut difference, differs);
                }
            },
        }
        self.leave_if_different(at, difference);
    }

    /// Checks a tensor as for arguments, unless the value certainly does not match.
    fn check_tensor(
        &mut self,
        at: u32,
        value: Slot,
        spec: &TensorSpec<'_>,
        symbols: &mut Symbols,
        difference: &mut Difference,
    ) {
        let known = self.facts.tensor(value).and_then(|facts| facts.dims.as_ref()).map(Vec::len);
        if known.is_some_and(|rank| spec.dims.is_some_and(|dims| dims.len() != rank)) {
            let different = self.int(1);
            return self.add(difference, different);
        }
        self.compare_tensor(at, value, spec, symbols, difference);
    }
}

/// Returns true if all parameters are of kinds that machine code can check.
fn is_comparable(kernel: &KernelSignature) -> bool {
    let is_usual = |kind: &ParamKind| match kind {
        ParamKind::Tensor { alignment, .. } => alignment.max(&1).is_power_of_two(),
        ParamKind::Scalar { dtype, .. } if dtype.is_handle() => false,
        ParamKind::Scalar { dtype, symbol } if dtype.is_floating() => symbol.is_none(),
        // Narrow integers need a range check.
        ParamKind::Scalar { dtype, .. } => dtype.bits == 64,
    };
    kernel.device == Device::CPU && kernel.params.iter().all(|param| is_usual(&param.kind))
}

/// Returns `rank` distinct symbolic sizes.
fn any_sizes(rank: usize) -> Vec<Dim> {
    (0..rank as u32).map(Dim::Symbol).collect()
}

/// Returns the sizes, if none is in the shape heap.
fn static_sizes(sizes: &[MatchSize]) -> Option<Vec<Dim>> {
    let dim = |(axis, size): (usize, &MatchSize)| match size {
        MatchSize::Equal(Size::Static(size)) => Some(Dim::Static(*size)),
        MatchSize::Any => Some(Dim::Symbol(axis as u32)),
        _ => None,
    };
    sizes.iter().enumerate().map(dim).collect()
}
