//! Reference-counted heap objects in tvm-ffi's layout.
//!
//! Every object starts with a 24-byte [`Header`]; then comes a *cell* whose layout tvm-ffi fixes for the object's type
//! (a `DLTensor`, a byte array, …). Code that did not create the object may only rely on header and cell. Anything else
//! that our own constructors need (owners, trailing elements) follows the cell in the same block, and only the block's
//! deleter knows about it.
#[cfg(loom)]
mod models;

use super::free_list;
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::is_only_thread;
use std::alloc::{Layout, handle_alloc_error};
use std::ffi::c_void;
use std::mem::offset_of;
use std::ops::Deref;
use std::ptr::NonNull;

const STRONG_ONE: u64 = 1;
const WEAK_ONE: u64 = 1 << 32;
const BOTH_ONE: u64 = STRONG_ONE | WEAK_ONE;
const STRONG_MASK: u64 = WEAK_ONE - 1;

/// Flag for a deleter: destroy the contents.
const DELETE_STRONG: i32 = 1;
/// Flag for a deleter: free the block.
const DELETE_WEAK: i32 = 2;

/// Stored in the header's padding of objects that this crate created, except for the lowest byte, which identifies the
/// data after the cell. Other code leaves the padding zero.
const OURS: u32 = 0x6D68_6100;

/// Destroys an object's contents, frees its block, or both, by its flags.
pub type Deleter = unsafe extern "C" fn(object: *mut c_void, flags: i32);

/// Header of every object: strong count (low half) and weak count (high half), type index, deleter.
#[repr(C)]
pub struct Header {
    counts: AtomicU64,
    type_index: i32,
    padding: u32,
    deleter: Option<Deleter>,
}

impl Header {
    /// The tvm-ffi type index.
    pub fn type_index(&self) -> i32 {
        self.type_index
    }

    /// Number of strong references.
    pub fn strong_count(&self) -> u32 {
        (self.counts.load(Ordering::Relaxed) & STRONG_MASK) as u32
    }
}

/// Adds a strong reference.
///
/// # Safety
/// `object` points to a live object.
pub unsafe fn retain(object: NonNull<Header>) {
    // SAFETY: the caller vouches that the object is live.
    let counts = &unsafe { object.as_ref() }.counts;
    if is_only_thread() {
        counts.store(counts.load(Ordering::Relaxed) + STRONG_ONE, Ordering::Relaxed);
    } else {
        counts.fetch_add(STRONG_ONE, Ordering::Relaxed);
    }
}

/// Decrements the strong count; returns the previous counts.
#[inline(always)]
fn subtract_strong(counts: &AtomicU64) -> u64 {
    if !is_only_thread() {
        return counts.fetch_sub(STRONG_ONE, Ordering::Release);
    }
    let before = counts.load(Ordering::Relaxed);
    counts.store(before - STRONG_ONE, Ordering::Relaxed);
    before
}

/// Releases a strong reference; the last one destroys the object.
///
/// # Safety
/// `object` points to a live object, and the caller owns one strong reference to it.
pub unsafe fn release(object: NonNull<Header>) {
    // SAFETY: the caller owns a reference, so the header is live until the count reaches zero below.
    let (counts, deleter) = unsafe {
        let header = object.as_ref();
        (&raw const header.counts, header.deleter)
    };
    let call = |flags| {
        if let Some(deleter) = deleter {
            // SAFETY: the deleter belongs to this object, and each flag is passed once.
            unsafe { deleter(object.as_ptr().cast(), flags) }
        }
    };
    // SAFETY: as above. Nobody else can add a reference to an object whose only reference is ours, so a plain load
    // suffices, which is much cheaper than an atomic subtraction.
    if unsafe { (*counts).load(Ordering::Acquire) } == BOTH_ONE {
        return call(DELETE_STRONG | DELETE_WEAK);
    }
    // SAFETY: as above.
    let before = unsafe { subtract_strong(&*counts) };
    if before & STRONG_MASK != STRONG_ONE {
        return;
    }
    fence(Ordering::Acquire);
    if before == BOTH_ONE {
        return call(DELETE_STRONG | DELETE_WEAK);
    }
    call(DELETE_STRONG);
    // SAFETY: the block outlives its last weak reference, and all strong ones together hold one.
    if unsafe { object.as_ref() }.counts.fetch_sub(WEAK_ONE, Ordering::Release) == WEAK_ONE {
        fence(Ordering::Acquire);
        call(DELETE_WEAK);
    }
}

/// The part of an object after its header, whose layout the type index fixes.
///
/// # Safety
/// All code in the process that creates objects with `TYPE_INDEX` uses this layout, and the cell can be used from any
/// thread.
pub unsafe trait Cell: Sized {
    /// The type index of this layout.
    const TYPE_INDEX: i32;
}

#[repr(C)]
struct Object<C> {
    header: Header,
    cell: C,
}

#[repr(C)]
struct Block<C, E> {
    object: Object<C>,
    tail_len: usize,
    extra: E,
}

/// Offset of an object's cell in bytes; the counts come first.
pub(crate) const fn cell_offset<C: Cell>() -> usize {
    offset_of!(Object<C>, cell)
}

/// A strong reference to an object with cell `C`.
#[repr(transparent)]
pub struct Ref<C: Cell>(NonNull<Object<C>>);

// SAFETY: counts are atomic, and `Cell` promises that any thread may use cells.
unsafe impl<C: Cell> Send for Ref<C> {}
// SAFETY: as above.
unsafe impl<C: Cell> Sync for Ref<C> {}

impl<C: Cell> Ref<C> {
    /// Creates an object with a cell, an `extra` value that is dropped with it, and space for `tail_len` values of `T`.
    ///
    /// `init` writes the tail at the given address. If the tail's values need to be dropped, `extra` has to do it.
    #[inline(always)]
    pub(crate) fn allocate<E, T>(tail_len: usize, init: impl FnOnce(*mut T) -> (C, E)) -> Ref<C> {
        Ref::allocate_marked(0, tail_len, init)
    }

    /// Like [`allocate`](Ref::allocate), with a mark that identifies the type of `extra`.
    #[inline(always)]
    pub(crate) fn allocate_marked<E, T>(mark: u8, tail_len: usize, init: impl FnOnce(*mut T) -> (C, E)) -> Ref<C> {
        let layout = block_layout::<C, E, T>(tail_len).expect("an object fits the address space");
        let Some(block) = NonNull::new(free_list::allocate(layout)) else { handle_alloc_error(layout) };
        // SAFETY: `tail` is in the block.
        let (cell, extra) = init(unsafe { block.add(tail_offset::<C, E, T>()) }.cast().as_ptr());
        let header = Header {
            counts: AtomicU64::new(BOTH_ONE),
            type_index: C::TYPE_INDEX,
            padding: OURS | u32::from(mark),
            deleter: Some(delete::<C, E, T>),
        };
        let block = block.cast::<Block<C, E>>();
        // SAFETY: the block is ours, sized and aligned for a `Block<C, E>`.
        unsafe { block.write(Block { object: Object { header, cell }, tail_len, extra }) };
        Ref(block.cast())
    }

    /// The object's address, for C.
    pub fn as_header(&self) -> NonNull<Header> {
        self.0.cast()
    }

    /// Converts the reference to a raw address.
    pub fn into_header(self) -> NonNull<Header> {
        let header = self.as_header();
        std::mem::forget(self);
        header
    }

    /// Takes ownership of a strong reference from a raw address.
    ///
    /// # Safety
    /// `header` points to a live object whose type index is `C::TYPE_INDEX`, and the caller gives up one reference to
    /// it.
    pub unsafe fn from_header(header: NonNull<Header>) -> Ref<C> {
        Ref(header.cast())
    }

    /// Returns true if this is the only reference.
    pub fn is_unique(&self) -> bool {
        // SAFETY: we hold a reference, so the header is live.
        unsafe { self.as_header().as_ref() }.counts.load(Ordering::Acquire) == BOTH_ONE
    }

    /// Number of strong references.
    pub(crate) fn ref_count(&self) -> u32 {
        // SAFETY: we hold a reference, so the header is live.
        unsafe { self.as_header().as_ref() }.strong_count()
    }

    /// Returns true if both refer to the same object.
    pub fn ptr_eq(&self, other: &Ref<C>) -> bool {
        self.0 == other.0
    }

    /// Returns true if this crate created the object.
    pub(crate) fn is_ours(&self) -> bool {
        // SAFETY: we hold a reference, so the header is live.
        unsafe { self.as_header().as_ref() }.padding & !0xFF == OURS
    }

    /// Returns true if this crate created the object with this mark.
    pub(crate) fn is_marked(&self, mark: u8) -> bool {
        // SAFETY: as above.
        unsafe { self.as_header().as_ref() }.padding == OURS | u32::from(mark)
    }

    /// The `extra` value.
    ///
    /// # Safety
    /// [`Ref::allocate`] created the object with this `E`.
    pub(crate) unsafe fn extra<E>(&self) -> &E {
        // SAFETY: as the caller promises, the object is the head of a `Block<C, E>`.
        unsafe { &(*self.0.as_ptr().cast::<Block<C, E>>()).extra }
    }
}

/// Offset of an object's tail.
const fn tail_offset<C, E, T>() -> usize {
    size_of::<Block<C, E>>().next_multiple_of(align_of::<T>())
}

/// Size and alignment of an object whose tail has `tail_len` values; `None` if it does not fit the address space.
#[inline(always)]
fn block_layout<C, E, T>(tail_len: usize) -> Option<Layout> {
    let size = tail_len.checked_mul(size_of::<T>())?.checked_add(tail_offset::<C, E, T>())?;
    let align = if align_of::<T>() > align_of::<Block<C, E>>() { align_of::<T>() } else { align_of::<Block<C, E>>() };
    Layout::from_size_align(size, align).ok()
}

unsafe extern "C" fn delete<C, E, T>(object: *mut c_void, flags: i32) {
    let block = object.cast::<Block<C, E>>();
    if flags & DELETE_STRONG != 0 {
        // SAFETY: requested once, when no strong reference is left; `allocate` wrote the block.
        unsafe {
            std::ptr::drop_in_place(&raw mut (*block).extra);
            std::ptr::drop_in_place(&raw mut (*block).object.cell);
        }
    }
    if flags & DELETE_WEAK != 0 {
        // SAFETY: requested once, when no reference of either kind is left; the layout is that of the allocation.
        unsafe { free_list::free(block.cast(), block_layout::<C, E, T>((*block).tail_len).unwrap_unchecked()) }
    }
}

impl<C: Cell> Deref for Ref<C> {
    type Target = C;

    fn deref(&self) -> &C {
        // SAFETY: we hold a reference, so the object is live; its type index promises the cell's layout.
        unsafe { &(*self.0.as_ptr()).cell }
    }
}

impl<C: Cell> Clone for Ref<C> {
    fn clone(&self) -> Ref<C> {
        // SAFETY: we hold a reference, so the object is live.
        unsafe { retain(self.as_header()) };
        Ref(self.0)
    }
}

impl<C: Cell> Drop for Ref<C> {
    fn drop(&mut self) {
        // SAFETY: this reference is ours to release.
        unsafe { release(self.as_header()) }
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Header>() == 24 && offset_of!(Object<u64>, cell) == 24);
