//! Function objects: Rust closures and C functions in the packed calling convention.
use super::object::{Cell, Header, Ref};
use super::{Any, Nested, Tensor, index};
use crate::ffi::{self, Error, SafeCall};
use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// tvm-ffi's function cell. `safe_call` receives the function object itself as its handle.
#[repr(C)]
pub struct FunctionCell {
    safe_call: SafeCall,
    /// Alternative entry of C++ functions; we neither set nor use it.
    cpp_call: *mut c_void,
}

// SAFETY: tvm-ffi fixes this layout for index 68; constructors require functions that any thread may call.
unsafe impl Cell for FunctionCell {
    const TYPE_INDEX: i32 = index::FUNCTION;
}

/// Called with the handle of a C function when it is released.
pub type HandleDeleter = unsafe extern "C" fn(handle: *mut c_void);

/// A function value. Cheap to clone.
#[derive(Clone)]
#[repr(transparent)]
pub struct Function(pub(super) Ref<FunctionCell>);

impl Function {
    /// Wraps a Rust closure. A panic in it becomes an error of the call.
    pub fn new<F>(body: F) -> Function
    where
        F: Fn(&[Any]) -> Result<Any, Error> + Send + Sync + 'static,
    {
        Function::allocate(call_body::<F>, body)
    }

    /// Wraps a callable that the runtime can recognize later.
    pub(crate) fn from_callable<K: Callable>(callable: K) -> Function {
        Function::marked(K::MARK, call_callable::<K>, callable)
    }

    /// The wrapped callable, if it is a `K`.
    pub(crate) fn downcast<K: Callable>(&self) -> Option<&K> {
        // SAFETY: the mark says that `known` created the function from a `K`.
        self.0.is_marked(K::MARK).then(|| unsafe { &**self.0.extra::<Nested<K>>() })
    }

    /// A kernel implemented in Rust: `body` returns the result, and new contents of tensor arguments by index.
    pub fn kernel<F>(body: F) -> Function
    where
        F: Fn(&[Any]) -> Result<(Any, Vec<(usize, Tensor)>), Error> + Send + Sync + 'static,
    {
        Function::new(move |args| {
            let (result, written) = body(args)?;
            for (position, contents) in written {
                let target = args.get(position).and_then(|arg| arg.get::<Tensor>());
                target.ok_or_else(|| Error::type_error("only tensors can be written"))?.overwrite(&contents)?;
            }
            Ok(result)
        })
    }

    /// Wraps a C function that ignores its handle. `owner` is dropped with the function object: the library that
    /// contains it.
    ///
    /// # Safety
    /// `call` follows the packed convention, may be called from any thread, and stays valid while `owner` lives.
    pub unsafe fn from_c<O: Send + Sync + 'static>(call: SafeCall, owner: O) -> Function {
        Function::allocate(call, owner)
    }

    /// Wraps a C function with the handle it expects. `deleter`, if there is one, is called with the handle when the
    /// function object is dropped.
    ///
    /// # Safety
    /// `call` follows the packed convention with `handle` first; both it and the deleter may be called from any thread.
    pub unsafe fn from_c_handle(call: SafeCall, handle: *mut c_void, deleter: Option<HandleDeleter>) -> Function {
        Function::allocate(call_with_handle, Foreign { call, handle, deleter })
    }

    fn allocate<E: 'static>(safe_call: SafeCall, extra: E) -> Function {
        Function::marked(0, safe_call, extra)
    }

    fn marked<E: 'static>(mark: u8, safe_call: SafeCall, extra: E) -> Function {
        let cell = FunctionCell { safe_call, cpp_call: std::ptr::null_mut() };
        Function(Ref::allocate_marked::<Nested<E>, u8>(mark, 0, |_| (cell, Nested::new(extra))))
    }

    /// Calls the function.
    pub fn call(&self, args: &[Any]) -> Result<Any, Error> {
        // SAFETY: the function object is live, and its constructor ensured its convention.
        unsafe { ffi::invoke(self.0.safe_call, self.handle(), args) }
    }

    /// The C function; its first argument is [`Function::handle`].
    pub fn safe_call(&self) -> SafeCall {
        self.0.safe_call
    }

    /// The handle for [`Function::safe_call`]. It is valid as long as the function object.
    pub fn handle(&self) -> *mut c_void {
        self.0.as_header().as_ptr().cast()
    }
}

/// A callable type that the runtime can recognize in a function object.
///
/// # Safety
/// Every type has another mark, and none has 0.
pub(crate) unsafe trait Callable: Send + Sync + 'static {
    /// Identifies functions of this type.
    const MARK: u8;

    /// Calls the function.
    fn call(&self, args: &[Any]) -> Result<Any, Error>;
}

/// A C function and its handle.
struct Foreign {
    call: SafeCall,
    handle: *mut c_void,
    deleter: Option<HandleDeleter>,
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter {
            // SAFETY: `from_c_handle` received the two together, and the function is not called any more.
            unsafe { deleter(self.handle) }
        }
    }
}

unsafe extern "C" fn call_with_handle(function: *mut c_void, args: *const Any, count: i32, result: *mut Any) -> i32 {
    // SAFETY: only `from_c_handle` creates functions with this entry, so the object holds a `Foreign`; the caller keeps
    // it alive and passes the arguments that the C function expects.
    unsafe {
        let header = NonNull::new_unchecked(function.cast::<Header>());
        let function = ManuallyDrop::new(Ref::<FunctionCell>::from_header(header));
        let foreign = function.extra::<Nested<Foreign>>();
        (foreign.call)(foreign.handle, args, count, result)
    }
}

unsafe extern "C" fn call_body<F>(handle: *mut c_void, args: *const Any, count: i32, result: *mut Any) -> i32
where
    F: Fn(&[Any]) -> Result<Any, Error> + Send + Sync + 'static,
{
    // SAFETY: the handle is the function object that `Function::new` created with an extra of type `F`; the caller
    // keeps it alive and passes `count` arguments and space for a result.
    unsafe {
        let header = NonNull::new_unchecked(handle.cast::<Header>());
        let function = ManuallyDrop::new(Ref::<FunctionCell>::from_header(header));
        ffi::answer(result, || function.extra::<Nested<F>>()(ffi::arguments(args, count)))
    }
}

unsafe extern "C" fn call_callable<K: Callable>(
    handle: *mut c_void,
    args: *const Any,
    count: i32,
    result: *mut Any,
) -> i32 {
    // SAFETY: the handle is the function object that `Function::from_callable` created from a `K`; the caller keeps it
    // alive and passes `count` arguments and space for a result.
    unsafe {
        let header = NonNull::new_unchecked(handle.cast::<Header>());
        let function = ManuallyDrop::new(Ref::<FunctionCell>::from_header(header));
        ffi::answer(result, || function.extra::<Nested<K>>().call(ffi::arguments(args, count)))
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::Args;

    #[test]
    fn rust_closures_are_called_by_the_packed_convention() {
        let add = Function::new(|values| {
            let args = Args::new("add", values);
            Ok(Any::from(args.get::<i64>(0)? + args.get::<i64>(1)?))
        });
        assert_eq!(add.call(&[Any::from(1i64), Any::from(2i64)]).unwrap().get::<i64>(), Some(3));
        let error = add.call(&[Any::from(1i64), Any::from("x")]).unwrap_err();
        assert_eq!(error.to_string(), "TypeError: add: argument #1 must be int, got \"x\"");
        assert_eq!(add.call(&[]).unwrap_err().message(), "add: argument #0 is missing");
    }

    #[test]
    fn panics_become_errors() {
        let bad = Function::new(|_| panic!("oh no"));
        assert_eq!(bad.call(&[]).unwrap_err().to_string(), "InternalError: the function panicked: oh no");
    }

    #[test]
    fn c_functions_get_and_release_their_handle() {
        use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
        unsafe extern "C" fn add(handle: *mut c_void, args: *const Any, count: i32, result: *mut Any) -> i32 {
            // SAFETY: the handle is the test's number; the caller passes arguments and space for a result.
            unsafe {
                let sum = (*handle.cast::<AtomicI64>()).load(Relaxed);
                ffi::answer(result, || {
                    Ok((ffi::arguments(args, count)[0].get::<i64>().ok_or_else(|| Error::value("no"))? + sum).into())
                })
            }
        }
        unsafe extern "C" fn forget(handle: *mut c_void) {
            // SAFETY: as above.
            unsafe { &*handle.cast::<AtomicI64>() }.fetch_add(1000, Relaxed);
        }
        let number = AtomicI64::new(40);
        let handle = (&raw const number).cast_mut().cast();
        // SAFETY: `add` follows the convention and `number` outlives the function.
        let function = unsafe { Function::from_c_handle(add, handle, Some(forget)) };
        let through = function.clone();
        let twice = Function::new(move |args| through.call(&[through.call(args)?]));
        assert_eq!(twice.call(&[Any::from(2i64)]).unwrap().get::<i64>(), Some(82));
        assert_eq!(function.call(&["x".into()]).unwrap_err().to_string(), "ValueError: no");
        drop((function, twice));
        assert_eq!(number.load(Relaxed), 1040);
    }

    #[test]
    fn functions_are_given_to_and_come_from_functions() {
        let compose = Function::new(|values| {
            let args = Args::new("compose", values);
            let (outer, inner) = (args.get::<Function>(0)?, args.get::<Function>(1)?);
            Ok(Function::new(move |args| outer.call(&[inner.call(args)?])).into())
        });
        let next = Function::new(|args| Ok((args[0].get::<i64>().unwrap_or(0) + 1).into()));
        let both = compose.call(&[next.clone().into(), next.into()]).unwrap().get::<Function>().unwrap();
        assert_eq!(both.call(&[Any::from(5i64)]).unwrap().get::<i64>(), Some(7));
    }

    #[test]
    fn c_functions_keep_their_library_alive() {
        unsafe extern "C" fn seven(_: *mut c_void, _: *const Any, _: i32, result: *mut Any) -> i32 {
            // SAFETY: the caller passes space for a result.
            unsafe { *result = Any::from(7i64) };
            0
        }
        let library = std::sync::Arc::new(());
        // SAFETY: `seven` follows the convention.
        let function = unsafe { Function::from_c(seven, library.clone()) };
        assert_eq!(function.call(&[]).unwrap().get::<i64>(), Some(7));
        assert_eq!(std::sync::Arc::strong_count(&library), 2);
        drop(function);
        assert_eq!(std::sync::Arc::strong_count(&library), 1);
    }
}
