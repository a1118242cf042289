//! Values, blocks and programs in a steady state allocate nothing from the system.

mod program;

use hammock_runtime::memory::{Allocator, AllocatorKind};
use hammock_runtime::value::{Adt, Storage};
use hammock_runtime::{Any, DType, Device, Error, Function, Shape, Tensor, Tuple, vm};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting each thread's allocations.
struct Counting;

thread_local!(static COUNT: Cell<usize> = const { Cell::new(0) });

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

/// System allocations of a hundred steps, after warming up.
fn counted(mut step: impl FnMut() -> Result<(), Error>) -> usize {
    (0..10).for_each(|_| step().unwrap());
    let before = COUNT.get();
    (0..100).for_each(|_| step().unwrap());
    COUNT.get() - before
}

#[test]
fn steady_state_takes_nothing_from_the_system() {
    let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, usize::MAX).unwrap();
    let tensors = || {
        let storage = Storage::new(allocator.alloc(100_000)?);
        let tensor = storage.tensor(DType::FLOAT32, &[2, 3, 4, 5], 64)?;
        let view = tensor.reshape(&[6, 20])?;
        let other = Storage::new(allocator.alloc(64)?).tensor(DType::INT8, &[64], 0)?;
        drop((tensor, view, other));
        Ok(())
    };
    assert_eq!(counted(tensors), 0);
    let objects = || {
        let shape = Any::from(Shape::new(&[1, 2, 3, 4, 5, 6]));
        let text = Any::str("a string that is not inline");
        let tuple = Any::from(Tuple::new([shape, text, Any::NONE].into_iter()));
        drop(Adt::new(3, [tuple].into_iter()));
        Ok(())
    };
    assert_eq!(counted(objects), 0);
}

#[test]
fn calls_take_nothing_from_the_system() {
    let reshape = vm::builtins::find("vm.builtin.reshape").unwrap().function();
    let tensor = Tensor::from_slice(&[4, 4], &[0f32; 16]).unwrap();
    let args = [tensor.into(), Shape::new(&[16]).into()];
    let outer = Function::new(move |args| reshape.call(args));
    assert_eq!(counted(|| outer.call(&args).map(drop)), 0);
}

#[test]
fn many_values_at_once_are_cached_too() {
    let step = || {
        let shapes: [_; 200] = std::array::from_fn(|i| Shape::new(&[i as i64]));
        drop(shapes);
        Ok(())
    };
    assert_eq!(counted(step), 0);
}
