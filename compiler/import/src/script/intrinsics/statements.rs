//! Calls of `T.…` that are statements or declarations.

use crate::script::path::Form;

/// Statements and declarations.
pub(crate) const STATEMENTS: [Form; 42] = [
    Form::new(
        "Buffer",
        r#"A: T.Buffer((n, 4), "float32")"#,
        "A buffer: in a header the type of a parameter, in a body a buffer over `data`.",
    ),
    Form::new(
        "match_buffer",
        r#"A = T.match_buffer(a, (n,), "float32")"#,
        "A buffer over a parameter's handle, or over a region of another buffer.",
    ),
    Form::new("alloc_buffer", r#"A = T.alloc_buffer((16,), "float32")"#, "New memory until the end of the scope."),
    Form::new(
        "sblock_alloc_buffer",
        r#"A = T.sblock_alloc_buffer((16,), "float32")"#,
        "New memory as long as the enclosing block runs.",
    ),
    Form::new(
        "alloc_shared",
        r#"A = T.alloc_shared((32,), "float32")"#,
        "Memory that the threads of a GPU's block share.",
    ),
    Form::new(
        "alloc_local",
        r#"A = T.alloc_local((4,), "float32")"#,
        "Memory of each thread, in registers if indices are constants.",
    ),
    Form::new("alloc_scalar", r#"x = T.alloc_scalar("int32", "local")"#, "A mutable scalar."),
    Form::new("decl_scalar", r#"x = T.decl_scalar("int32", data=A.data)"#, "A mutable scalar in existing memory."),
    Form::new(
        "decl_buffer",
        r#"B = T.decl_buffer((n,), "float32", data=A.data)"#,
        "A buffer over existing memory; new memory without `data`.",
    ),
    Form::new(
        "axis.spatial",
        "vi = T.axis.spatial(n, i)",
        "An axis of a block whose instances write different elements.",
    ),
    Form::new("axis.reduce", "vk = T.axis.reduce(n, k)", "An axis that a block reduces over."),
    Form::new("axis.scan", "v = T.axis.scan(n, i)", "An axis whose instances run in order, each after the one before."),
    Form::new("axis.opaque", "v = T.axis.opaque(n, i)", "An axis that schedules must not reorder."),
    Form::new(
        "axis.remap",
        r#"vi, vk = T.axis.remap("SR", [i, k])"#,
        "Several axes at once: S is spatial, R reduction; domains are those of the loops.",
    ),
    Form::new("reads", "T.reads(A[i, 0:4])", "The regions of buffers that a block reads."),
    Form::new("writes", "T.writes(B[i])", "The regions of buffers that a block writes."),
    Form::new("where", "T.where(i * 4 + j < n)", "The condition under which an instance of a block runs."),
    Form::new("sblock_attr", r#"T.sblock_attr({"key": value})"#, "Attributes of the enclosing block."),
    Form::new("func_attr", r#"T.func_attr({"tirx.noalias": True})"#, "Attributes of the function."),
    Form::new(
        "launch_thread",
        r#"with T.launch_thread("threadIdx.x", 32) as tx:"#,
        "The statements below run on this number of threads of a GPU.",
    ),
    Form::new("env_thread", r#"tx = T.env_thread("threadIdx.x")"#, "A thread axis that is launched later."),
    Form::new("attr", r#"with T.attr(node, "key", value):"#, "An attribute of the statements below it."),
    Form::new("hint", r#"with T.hint("message", key=value):"#, "A remark on the statements below it."),
    Form::new("device_entry", "T.device_entry()", "The statements after it run on the device."),
    Form::new("evaluate", "T.evaluate(call)", "Evaluates an expression for its effect."),
    Form::new("break_loop", "T.break_loop()", "Ends the innermost loop."),
    Form::new("continue_loop", "T.continue_loop()", "Goes on with the next iteration of the innermost loop."),
    Form::new("ret", "T.ret(value)", "Returns from the function."),
    Form::new("buffer_store", "T.buffer_store(A, value, [i, j])", "Stores an element: `A[i, j] = value`."),
    Form::new("bind", "x = T.bind(value)", "An immutable variable for the rest of the scope."),
    Form::new(
        "allocate",
        r#"A = T.allocate([n], "float32", "global")"#,
        "A pointer to new memory, as older texts have it.",
    ),
    Form::new(
        "sblock",
        r#"with T.sblock("name"):"#,
        "A block: the smallest part of a kernel that schedules move, with its axes, and what it reads and writes.",
    ),
    Form::new("init", "with T.init():", "What a block runs before the first instance of a reduction."),
    Form::new("grid", "for i, j in T.grid(n, m):", "Nested loops, each from 0."),
    Form::new("serial", "for i in T.serial(n):", "A loop whose iterations run in order."),
    Form::new("parallel", "for i in T.parallel(n):", "A loop whose iterations run on several threads."),
    Form::new("vectorized", "for i in T.vectorized(8):", "A loop that becomes vector instructions."),
    Form::new("unroll", "for i in T.unroll(4):", "A loop that is replaced by its iterations."),
    Form::new(
        "thread_binding",
        r#"for tx in T.thread_binding(32, thread="threadIdx.x"):"#,
        "A loop whose iterations are threads of a GPU.",
    ),
    Form::new("prim_func", "@T.prim_func", "A kernel: a function of loops, buffers and scalars."),
    Form::new("handle", "a: T.handle", "A pointer, in a header that of a buffer."),
    Form::new("let", "x: T.let[T.int32] = value", "An immutable variable."),
];
