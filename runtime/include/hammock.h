/* The runtime of compiled models, for C. Link with libhammock.so or libhammock.a.
 *
 *     hammock_library *library;
 *     hammock_vm *vm;
 *     hammock_any input, output;
 *     int64_t shape[] = {1, 64};
 *     if (hammock_library_open("model.so", &library) || hammock_vm_new(library, NULL, &vm) ||
 *         hammock_tensor_copy(hammock_float32(), shape, 2, pixels, sizeof pixels, &input) ||
 *         hammock_vm_call(vm, "main", &input, 1, &output))
 *         fprintf(stderr, "%s\n", hammock_error_text());
 *
 * Functions that can fail return 0, or -1 after leaving an error with the thread: hammock_error_text() and its
 * neighbours read it, until the thread's next such call. A null pointer where none is allowed is an error, too.
 *
 * A hammock_any that a function writes is the caller's own: hammock_any_free() gives it up. What was in the place is
 * overwritten, not freed. Values that a function reads stay the caller's. Values may be used and freed on any thread.
 */
#ifndef HAMMOCK_H
#define HAMMOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types ---- */

/* A data type, as DLPack has it: kind of number, bits, lanes (1). */
typedef struct hammock_dtype {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} hammock_dtype;

enum {
    HAMMOCK_CODE_INT = 0,
    HAMMOCK_CODE_UINT = 1,
    HAMMOCK_CODE_FLOAT = 2,
    HAMMOCK_CODE_BFLOAT = 4,
    HAMMOCK_CODE_BOOL = 6
};

/* A device, as DLPack has it: kind and number. */
typedef struct hammock_device {
    int32_t kind;
    int32_t id;
} hammock_device;

enum { HAMMOCK_DEVICE_CPU = 1, HAMMOCK_DEVICE_CUDA = 2 };

/* What a tensor is. The layout is that of DLPack's DLTensor. */
typedef struct hammock_tensor {
    void *data;
    hammock_device device;
    int32_t ndim;
    hammock_dtype dtype;
    int64_t *shape;
    int64_t *strides;     /* in elements; null if the elements lie densely */
    uint64_t byte_offset; /* from `data` to the first element */
} hammock_tensor;

/* Kinds of values: what `type_index` says. */
enum {
    HAMMOCK_NONE = 0,
    HAMMOCK_INT = 1,
    HAMMOCK_BOOL = 2,
    HAMMOCK_FLOAT = 3,
    HAMMOCK_POINTER = 4,
    HAMMOCK_DTYPE = 5,
    HAMMOCK_DEVICE = 6,
    HAMMOCK_TENSOR_VIEW = 7, /* a hammock_tensor that the caller keeps for the call */
    HAMMOCK_TEXT = 8,        /* a C string that the caller keeps for the call */
    HAMMOCK_SMALL_STRING = 11,
    HAMMOCK_OBJECT = 64,     /* from here on: reference-counted objects */
    HAMMOCK_STRING = 65,
    HAMMOCK_BYTES = 66,
    HAMMOCK_FUNCTION = 68,
    HAMMOCK_SHAPE = 69,
    HAMMOCK_TENSOR = 70,
    HAMMOCK_TUPLE = 71,
    HAMMOCK_CLOSURE = 0x48414D01,
    HAMMOCK_ADT = 0x48414D03, /* tagged data */
    HAMMOCK_MODULE = 0x48414D04
};

/* A value of any kind. The layout is that of tvm-ffi's TVMFFIAny. */
typedef struct hammock_any {
    int32_t type_index;
    uint32_t small_size; /* length of a small string, else zero */
    union {
        int64_t integer;
        double number;
        void *pointer;
        const char *text;
        const hammock_tensor *tensor;
        hammock_dtype dtype;
        hammock_device device;
        char bytes[8];
    } as;
} hammock_any;

/* A compiled model, one that is ready to run, what stops calls, and where their time goes. */
typedef struct hammock_library hammock_library;
typedef struct hammock_vm hammock_vm;
typedef struct hammock_interrupt hammock_interrupt;
typedef struct hammock_profiler hammock_profiler;

/* Gets the context that came with it. */
typedef void (*hammock_deleter)(void *context);

/* A function of C: writes a result, which is none beforehand, and returns 0; or returns -1 after hammock_fail() or
 * after another function of this header has failed. */
typedef int32_t (*hammock_callback)(void *context, const hammock_any *args, int32_t count, hammock_any *result);

/* DLPack's managed tensors, as in dlpack.h. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* ---- Values without memory of their own ---- */

static inline hammock_any hammock_none(void) {
    hammock_any value;
    value.type_index = HAMMOCK_NONE;
    value.small_size = 0;
    value.as.integer = 0;
    return value;
}

static inline hammock_any hammock_int(int64_t integer) {
    hammock_any value = hammock_none();
    value.type_index = HAMMOCK_INT;
    value.as.integer = integer;
    return value;
}

static inline hammock_any hammock_bool(int truth) {
    hammock_any value = hammock_int(truth != 0);
    value.type_index = HAMMOCK_BOOL;
    return value;
}

static inline hammock_any hammock_float(double number) {
    hammock_any value = hammock_none();
    value.type_index = HAMMOCK_FLOAT;
    value.as.number = number;
    return value;
}

/* For arguments: the text must stay while the value is used. */
static inline hammock_any hammock_text(const char *text) {
    hammock_any value = hammock_none();
    value.type_index = HAMMOCK_TEXT;
    value.as.text = text;
    return value;
}

static inline hammock_dtype hammock_dtype_of(uint8_t code, uint8_t bits) {
    hammock_dtype dtype;
    dtype.code = code;
    dtype.bits = bits;
    dtype.lanes = 1;
    return dtype;
}

static inline hammock_dtype hammock_float16(void) { return hammock_dtype_of(HAMMOCK_CODE_FLOAT, 16); }
static inline hammock_dtype hammock_float32(void) { return hammock_dtype_of(HAMMOCK_CODE_FLOAT, 32); }
static inline hammock_dtype hammock_float64(void) { return hammock_dtype_of(HAMMOCK_CODE_FLOAT, 64); }
static inline hammock_dtype hammock_int8(void) { return hammock_dtype_of(HAMMOCK_CODE_INT, 8); }
static inline hammock_dtype hammock_int32(void) { return hammock_dtype_of(HAMMOCK_CODE_INT, 32); }
static inline hammock_dtype hammock_int64(void) { return hammock_dtype_of(HAMMOCK_CODE_INT, 64); }
static inline hammock_dtype hammock_uint8(void) { return hammock_dtype_of(HAMMOCK_CODE_UINT, 8); }

/* ---- Errors ---- */

/* The version of the runtime. */
const char *hammock_version(void);

/* The thread's last error: its kind (ValueError, TypeError, ...), what happened, and both with the call stack. */
const char *hammock_error_kind(void);
const char *hammock_error_message(void);
const char *hammock_error_text(void);

/* A function of the model that was running when the error happened. */
typedef struct hammock_trace_entry {
    const char *function;
    const char *file; /* of the model's source; null if unknown */
    uint32_t line;
    uint32_t column;
    const char *text; /* of the line; null if unknown */
} hammock_trace_entry;

/* The call stack, innermost first. Returns -1 if there is no function at `index`. */
size_t hammock_error_trace_size(void);
int hammock_error_trace(size_t index, hammock_trace_entry *entry);

/* Leaves an error and returns -1: what a hammock_callback returns when it fails. */
int hammock_fail(const char *kind, const char *message);

/* ---- Values ---- */

/* A second claim on a value; of one that is kept for a call only, a value of one's own. */
int hammock_any_copy(const hammock_any *from, hammock_any *copy);
/* Gives up a value, which is none afterwards. Null is allowed. */
void hammock_any_free(hammock_any *value);
/* A value as text for people. */
int hammock_any_show(const hammock_any *from, hammock_any *shown);

int hammock_string(const char *bytes, size_t size, hammock_any *string);
int hammock_shape(const int64_t *sizes, size_t count, hammock_any *shape);
/* The fields are copied: the caller's stay its own. */
int hammock_tuple(const hammock_any *fields, size_t count, hammock_any *tuple);
int hammock_adt(int64_t tag, const hammock_any *fields, size_t count, hammock_any *adt);

/* Reading. What pointers lead to lives as long as the value, and is not to be freed. A short string lies in the value
 * itself and moves with it; a NUL follows every string. A model that empties fields of a tuple it is given
 * (vm.builtin.tuple_reset_item) frees what they held: let nobody look at them meanwhile. */
int hammock_as_int(const hammock_any *from, int64_t *number);
int hammock_as_float(const hammock_any *from, double *number);
int hammock_as_string(const hammock_any *from, const char **bytes, size_t *size);
int hammock_as_bytes(const hammock_any *from, const void **bytes, size_t *size);
int hammock_as_shape(const hammock_any *from, const int64_t **sizes, size_t *count);
int hammock_as_tuple(const hammock_any *from, const hammock_any **fields, size_t *count);
int hammock_as_adt(const hammock_any *from, int64_t *tag, const hammock_any **fields, size_t *count);
int hammock_tuple_field(const hammock_any *from, size_t index, const hammock_any **field);
int hammock_as_tensor(const hammock_any *from, hammock_tensor *tensor);

/* What values consist of. (Not in the smallest build of the library.) Objects such as tagged data and errors have fields: a tuple of their names, which is empty for
 * other values, and one by its name. */
int hammock_fields(const hammock_any *from, hammock_any *names);
int hammock_field(const hammock_any *from, const char *name, hammock_any *field);
/* Have two values the same contents (1 or 0)? Values that have, also have one hash. Functions are equal to themselves
 * only. */
int hammock_equal(const hammock_any *left, const hammock_any *right, int *equal);
int hammock_hash(const hammock_any *from, uint64_t *hash);
/* A value as a JSON graph in tvm-ffi's form, a string, and back. Functions cannot be saved. */
int hammock_to_json(const hammock_any *from, hammock_any *json);
int hammock_from_json(const char *json, hammock_any *loaded);

/* ---- Tensors ---- */

/* A data type by its name: float32, int64, bool, ... */
int hammock_dtype_parse(const char *name, hammock_dtype *dtype);

/* A tensor of zeros on the host. */
int hammock_tensor_new(hammock_dtype dtype, const int64_t *shape, size_t ndim, hammock_any *tensor);
/* A tensor with a copy of `size` bytes. */
int hammock_tensor_copy(hammock_dtype dtype, const int64_t *shape, size_t ndim, const void *data, size_t size,
                        hammock_any *tensor);
/* Wherever a description of a tensor comes in, it is checked: at most 64 dimensions, no null address, no offset or stride
 * that leads nowhere. */
/* A tensor over the caller's memory, which is not copied. `deleter`, which may be null, is called with `context` when
 * the last value that uses the memory is gone. After an error it is not called. */
int hammock_tensor_borrow(const hammock_tensor *memory, hammock_deleter deleter, void *context, hammock_any *tensor);
/* The tensor if its elements lie densely on the host, else a copy that does. */
int hammock_tensor_to_host(const hammock_any *from, hammock_any *dense);

/* DLPack, plain and versioned, without copies. Taking a tensor over ends the caller's part, unless it fails. */
int hammock_from_dlpack(struct DLManagedTensor *managed, hammock_any *tensor);
int hammock_from_dlpack_versioned(struct DLManagedTensorVersioned *managed, hammock_any *tensor);
int hammock_to_dlpack(const hammock_any *from, struct DLManagedTensor **managed);
int hammock_to_dlpack_versioned(const hammock_any *from, struct DLManagedTensorVersioned **managed);

/* ---- Functions ---- */

/* A function value that calls `call` with `context`, from any thread; `free`, which may be null, ends it. */
int hammock_function(hammock_callback call, void *context, hammock_deleter free, hammock_any *function);
/* Calls a function value. `result` may be null. */
int hammock_call(const hammock_any *function, const hammock_any *args, size_t count, hammock_any *result);

/* Functions by name, which models made ready from now on find. */
int hammock_register(const char *name, const hammock_any *function);
int hammock_unregister(const char *name);
/* A function that was registered, or one of the runtime's own (vm.builtin.reshape, ...), and the names of them all: a
 * tuple of strings. */
int hammock_registered(const char *name, hammock_any *function);
int hammock_registered_names(hammock_any *names);

/* ---- Modules: whatever holds functions (not in the smallest build of the library) ---- */

enum {
    HAMMOCK_MODULE_SERIALIZABLE = 1, /* it can be saved */
    HAMMOCK_MODULE_RUNNABLE = 2      /* it has functions to call */
};

/* A module of `count` functions of the program's own, under a kind such as "app.tokenizer". */
int hammock_module(const char *kind, const char *const *names, const hammock_any *functions, size_t count,
                   hammock_any *module);
/* Its kind, a string, and what can be done with it. */
int hammock_module_kind(const hammock_any *module, hammock_any *kind);
int hammock_module_properties(const hammock_any *module, int64_t *properties);
/* Its own functions, a tuple of strings, and the function of a name, its own or else that of a module that it imports;
 * none if there is no such function. */
int hammock_module_functions(const hammock_any *module, hammock_any *names);
int hammock_module_function(const hammock_any *module, const char *name, hammock_any *function);
/* The modules that it imports: a tuple. */
int hammock_module_imports(const hammock_any *module, hammock_any *imports);
/* The module with all it imports as bytes, and back. */
int hammock_module_save(const hammock_any *module, hammock_any *bytes);
int hammock_module_load(const void *bytes, size_t size, hammock_any *module);

/* ---- Models ---- */

/* Opens a compiled model, or loads one from memory, which is copied. A damaged one is refused. */
int hammock_library_open(const char *path, hammock_library **library);
int hammock_library_load(const void *bytes, size_t size, hammock_library **library);
/* Null is allowed. Machines made of the library go on. */
void hammock_library_free(hammock_library *library);
/* The model as a module: an executable that imports its kernels. Its function `vm_load_executable` makes it ready. */
int hammock_library_module(const hammock_library *library, hammock_any *module);

enum { HAMMOCK_ALLOCATOR_POOLED = 0, HAMMOCK_ALLOCATOR_NAIVE = 1 };

/* How a model runs. Start from HAMMOCK_OPTIONS; zero means the usual. */
typedef struct hammock_options {
    size_t size;                   /* of this structure, in bytes */
    const hammock_device *devices; /* most wanted first; the host is always among them */
    size_t device_count;
    int32_t allocator;         /* what happens to memory given back: it is kept for reuse, or freed */
    int32_t unchecked_kernels; /* do not check kernels' arguments */
    uint64_t memory_limit;     /* the most bytes it may take on each device, the model itself included; by default
                                * 7/8 of the machine's memory, or of what its control group may take */
    uint64_t max_depth;        /* the most calls that may be nested */
    uint64_t max_stack;        /* the most bytes the frames of those may take */
    uint64_t timeout_ms;       /* the longest a call may take */
    int32_t flush_denormals;   /* denormals are zero, as operands and as results, on all threads of a call */
} hammock_options;

#ifdef __cplusplus
#define HAMMOCK_OPTIONS (hammock_options{sizeof(hammock_options), nullptr, 0, 0, 0, 0, 0, 0, 0, 0})
#else
#define HAMMOCK_OPTIONS ((hammock_options){.size = sizeof(hammock_options)})
#endif

/* Makes a model ready to run; any thread may call it, several at a time. `options` may be null. */
int hammock_vm_new(const hammock_library *library, const hammock_options *options, hammock_vm **vm);
/* Null is allowed. Functions taken from the machine go on, and calls under way end as usual: the last of them frees it. No
 * call may begin once this one has begun; that is for the caller to see to. */
void hammock_vm_free(hammock_vm *vm);

/* Tuples of strings: the functions that may be called, and the parameters of one. */
int hammock_vm_functions(const hammock_vm *vm, hammock_any *names);
int hammock_vm_parameters(const hammock_vm *vm, const char *function, hammock_any *names);
/* What a function takes and gives: a tuple of parameters and results, each a tuple of five:
 *   its role: "input", "weight" (each call is given it), "bound" (a weight that the model has), "output";
 *   its name; results without one have their number;
 *   its type for people, such as "float32[n, 64]";
 *   the dtype of a number or of a tensor's elements, or none;
 *   the sizes of a tensor or shape, or none if they are not known: a tuple of integers and, where a size is symbolic, of
 *   strings. */
int hammock_vm_signature(const hammock_vm *vm, const char *function, hammock_any *signature);
/* The same functions as a module, which goes on without the machine. */
int hammock_vm_module(const hammock_vm *vm, hammock_any *module);

/* Calls a function. `result` may be null.
 *
 * A call has a floating-point state of its own on every thread that works for it, whatever the caller's is: rounding to
 * nearest, no traps, and denormals as IEEE 754 has them, or flushed to zero by `flush_denormals`. The caller's is as it was
 * when the call returns. Callbacks run in the call's state, and leave it as they find it. */
int hammock_vm_call(const hammock_vm *vm, const char *function, const hammock_any *args, size_t count,
                    hammock_any *result);
/* The same, but it fails with a CancelledError once `interrupt` (or null) is cancelled, which any thread may do, or with a
 * TimeoutError after `timeout_ms` (or 0). A kernel under way runs to its end: one that may
 * never end belongs into a process of its own. */
int hammock_vm_call_with(const hammock_vm *vm, const hammock_interrupt *interrupt, uint64_t timeout_ms,
                         const char *function, const hammock_any *args, size_t count, hammock_any *result);
int hammock_interrupt_new(hammock_interrupt **interrupt);
int hammock_interrupt_cancel(const hammock_interrupt *interrupt);
int hammock_interrupt_is_cancelled(const hammock_interrupt *interrupt); /* 1 or 0 */
void hammock_interrupt_free(hammock_interrupt *interrupt);
/* A call, the tensors of its result copied into given ones, in order. */
int hammock_vm_call_into(const hammock_vm *vm, const char *function, const hammock_any *args, size_t count,
                         const hammock_any *outputs, size_t output_count);
/* A function of the model as a value, and the call of one that the model returned. */
int hammock_vm_function(const hammock_vm *vm, const char *name, hammock_any *function);
int hammock_vm_invoke(const hammock_vm *vm, const hammock_any *callee, const hammock_any *args, size_t count,
                      hammock_any *result);

/* Calls in steps: set inputs (all, or one by its parameter's name), invoke, read the output or the part of it that a
 * path of positions in tuples leads to. `arity` is the number of fields there, -1 if it is not a tuple. */
int hammock_vm_set_inputs(const hammock_vm *vm, const char *function, const hammock_any *args, size_t count);
int hammock_vm_set_input(const hammock_vm *vm, const char *function, const char *parameter, const hammock_any *input);
int hammock_vm_invoke_stateful(const hammock_vm *vm, const char *function);
int hammock_vm_output(const hammock_vm *vm, const char *function, const size_t *path, size_t depth,
                      hammock_any *output);
int hammock_vm_output_arity(const hammock_vm *vm, const char *function, const size_t *path, size_t depth,
                            int64_t *arity);

/* Makes `saved` a function without parameters that calls `function` with `args`. */
int hammock_vm_save_function(const hammock_vm *vm, const char *function, const char *saved, const hammock_any *args,
                             size_t count, int include_return);

/* How to time: `repeat` figures of `number` calls each; repeats shorter than `min_repeat_ms` get more calls. */
typedef struct hammock_evaluation {
    size_t number;
    size_t repeat;
    uint64_t min_repeat_ms;
    uint64_t cooldown_ms;
} hammock_evaluation;

/* Seconds a call took, over the repeats. */
typedef struct hammock_timings {
    double mean;
    double median;
    double std;
    double min;
    double max;
} hammock_timings;

/* Times a function. `seconds` may be null; else it gets the figure of each of the `repeat` repeats. */
int hammock_vm_time(const hammock_vm *vm, const char *function, const hammock_any *args, size_t count,
                    const hammock_evaluation *how, hammock_timings *timings, double *seconds);

/* The model's devices, most wanted first, the host among them: a tuple. */
int hammock_vm_devices(const hammock_vm *vm, hammock_any *devices);

/* Memory of the model's tensors and of kernels' temporaries on the device at a place there, in bytes: in use, the most
 * that was, kept for reuse. */
typedef struct hammock_memory {
    uint64_t used;
    uint64_t peak;
    uint64_t pooled;
} hammock_memory;

int hammock_vm_memory(const hammock_vm *vm, size_t device, hammock_memory *memory);
/* Gives memory kept for reuse back to the devices. */
int hammock_vm_trim(const hammock_vm *vm);

/* Sets the function that sees every call that the model's functions make; null for none. It gets what is called (a
 * function or closure), its name, whether the call comes or is over, the result (none before), and the arguments. If it
 * returns 1 beforehand, the call does not run, and none stands for its result. */
int hammock_vm_set_instrument(const hammock_vm *vm, const hammock_any *function);

/* What is called. */
enum {
    HAMMOCK_CALLEE_KERNEL = 0,    /* a compiled kernel of the model */
    HAMMOCK_CALLEE_BUILTIN = 1,   /* a function of the runtime */
    HAMMOCK_CALLEE_FUNCTION = 2,  /* a function of the model */
    HAMMOCK_CALLEE_REGISTERED = 3 /* a function that somebody registered */
};

/* A call that one of the model's functions makes. All of it lives until the function that was told of it returns. */
typedef struct hammock_event {
    const char *function; /* that calls */
    const char *callee;
    int32_t kind;     /* of the callee */
    uint32_t line;    /* of the model's source; 0 if unknown */
    const char *file; /* null if unknown */
    uint64_t instruction;
    const hammock_any *args;
    size_t count;
    const hammock_any *value; /* the callee: a function or closure */
} hammock_event;

/* Functions that see what a model does, on the threads that call it; each may be null. `before` returns 0 for the call
 * to run, 1 if it is not to, and `instead`, which is none beforehand, stands for its result. `after` gets null for the
 * result of a call that failed, and the error is the thread's. Both return -1 if they fail, as a hammock_callback does;
 * then the model's function fails. `enter` and `leave` tell of functions of the model, from wherever they are called. */
typedef struct hammock_instrument {
    void *context;
    hammock_deleter free; /* of the context, when the instrument is used no more */
    int32_t (*before)(void *context, const hammock_event *call, hammock_any *instead);
    int32_t (*after)(void *context, const hammock_event *call, const hammock_any *result);
    void (*enter)(void *context, const char *function);
    void (*leave)(void *context, const char *function);
} hammock_instrument;

/* Sets the functions that see what the model does, in the place of other instruments; null for none. */
int hammock_vm_watch(const hammock_vm *vm, const hammock_instrument *instrument);

/* Where the time goes, by function and kernel: make a profiler, which keeps up to `most_events` calls one by one for a
 * trace; set it; call; render it as "table", "json", "trace" (for Chrome or Perfetto) or "flame" (SVG), a string. A null
 * profiler ends it. */
int hammock_profiler_new(size_t most_events, hammock_profiler **profiler);
int hammock_vm_set_profiler(const hammock_vm *vm, const hammock_profiler *profiler);
int hammock_profiler_render(const hammock_profiler *profiler, const char *form, hammock_any *rendered);
/* Forgets what it has seen. */
int hammock_profiler_reset(const hammock_profiler *profiler);
void hammock_profiler_free(hammock_profiler *profiler);

/* How many threads kernels may use, in the whole process; 0 for as many as the machine has. A process may fork at any time,
 * except within a parallel loop of a kernel: the child has threads of its own when it needs them. It must not use values that
 * another thread was changing. */
void hammock_set_threads(size_t count);

/* Runs iterations `begin` to `end` (exclusive) of a parallel loop: 0, or -1 if one failed. */
typedef int32_t (*hammock_part)(void *loop, int64_t begin, int64_t end);
/* Calls `part(loop, begin, end)` for parts of 0 to `extent` that together are all of it, each iteration once: on any
 * threads, several at a time, in any order, until it returns. A part that is smaller than `grain` is not worth the time
 * of a thread. After a part that failed, no others need be called. */
typedef void (*hammock_runner)(void *pool, hammock_part part, void *loop, int64_t extent, int64_t grain);
/* From now on, parallel loops run through `runner`, which gets `pool`, instead of on the runtime's own threads; a null
 * runner goes back to those. Loops that are too small for two threads, and loops inside others, stay on the thread they
 * are on. `pool` has to stay, and threads other than the caller's may call `runner` at the same time. */
void hammock_set_pool(hammock_runner runner, void *pool);

#ifdef __cplusplus
}
#endif

#endif
