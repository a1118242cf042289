//! What is known of the values in slots at a point of a function.
//!
//! Facts hold along straight code. Where paths meet, and where the code is entered, only those about the pool are left.
use hammock_runtime::executable::compact::{AllocPlan, Compact, PlacePlan, Size, Slot};
use hammock_runtime::executable::{Arg, Constant, Executable};
use hammock_runtime::{DType, Device};

/// What data of planned tensors and of constants is aligned to, if its offset is.
const ALIGNMENT: u64 = hammock_runtime::memory::ALIGNMENT as u64;

/// What a slot holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// Anything.
    Unknown,
    /// Nothing: all its bytes are zero.
    Nothing,
    /// No object.
    Plain,
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float,
    /// A tensor.
    Tensor(TensorFacts),
}

/// What is known of a tensor.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TensorFacts {
    pub(super) dtype: Option<DType>,
    /// Its sizes, if their number is known.
    pub(super) dims: Option<Vec<Option<i64>>>,
    pub(super) is_on_cpu: bool,
    pub(super) is_dense: bool,
    /// What its address is a multiple of.
    pub(super) alignment: u64,
}

impl TensorFacts {
    /// A tensor made by plan. Which device the host is, when there are several, is known at load.
    pub(super) fn planned(plan: &AllocPlan) -> TensorFacts {
        let size = |size: &Size| match size {
            Size::Static(size) => Some(*size),
            Size::Heap(_) => None,
        };
        TensorFacts {
            dtype: Some(plan.dtype),
            dims: Some(plan.shape.iter().map(size).collect()),
            is_on_cpu: plan.device == 0,
            is_dense: true,
            alignment: if (plan.offset as u64).is_multiple_of(ALIGNMENT) { ALIGNMENT } else { 1 },
        }
    }

    /// A tensor made in a storage, which may be anywhere.
    pub(super) fn placed(plan: &PlacePlan) -> TensorFacts {
        let dims = Some(plan.shape.iter().copied().map(Some).collect());
        TensorFacts { dtype: Some(plan.dtype), dims, is_on_cpu: false, is_dense: true, alignment: 1 }
    }

    /// Is it the usual condition: a boolean without dimensions?
    pub(super) fn is_condition(&self) -> bool {
        let is_scalar = self.dims.as_ref().is_some_and(Vec::is_empty);
        is_scalar && self.is_on_cpu && self.dtype == Some(DType::BOOL)
    }
}

/// Facts about all slots.
pub(super) struct Facts {
    registers: Vec<Content>,
    pool: Vec<Content>,
}

impl Facts {
    pub(super) fn new(executable: &Executable, steps: &Compact) -> Facts {
        let pool = steps.pool.iter().map(|arg| pooled(executable, *arg)).collect();
        let mut facts = Facts { registers: vec![Content::Unknown; steps.registers], pool };
        facts.forget();
        facts
    }

    /// Keeps only what always holds.
    pub(super) fn forget(&mut self) {
        self.registers.fill(Content::Unknown);
        self.registers.last_mut().into_iter().for_each(|void| *void = Content::Plain);
    }

    pub(super) fn get(&self, slot: Slot) -> &Content {
        let slot = slot as usize;
        self.registers.get(slot).unwrap_or_else(|| &self.pool[slot - self.registers.len()])
    }

    /// What is known of a tensor; `None` if the value may be something else.
    pub(super) fn tensor(&self, slot: Slot) -> Option<&TensorFacts> {
        match self.get(slot) {
            Content::Tensor(facts) => Some(facts),
            _ => None,
        }
    }

    pub(super) fn set(&mut self, register: Slot, content: Content) {
        // What the pool holds is known already.
        self.registers.get_mut(register as usize).into_iter().for_each(|slot| *slot = content.clone());
    }
}

fn pooled(executable: &Executable, arg: Arg) -> Content {
    match arg {
        Arg::Immediate(value) => Content::Int(value),
        Arg::Constant(index) => match &executable.constants[index as usize] {
            Constant::Tensor(tensor) => Content::Tensor(TensorFacts {
                dtype: Some(tensor.dtype()),
                dims: Some(tensor.shape().iter().copied().map(Some).collect()),
                is_on_cpu: tensor.device().kind == Device::CPU.kind,
                is_dense: true,
                alignment: ALIGNMENT,
            }),
            Constant::Int(value) => Content::Int(*value),
            Constant::Float(_) => Content::Float,
            Constant::DType(_) => Content::Plain,
            Constant::Shape(_) | Constant::Str(_) => Content::Unknown,
        },
        Arg::Register(_) => Content::Plain,
        Arg::Function(_) => Content::Unknown,
    }
}
