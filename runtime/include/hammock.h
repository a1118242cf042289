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
 * Functions that can fail return 0, or store an error for the thread and return -1. hammock_error_text() and related
 * functions read the error, until the thread's next such call. A null pointer where none is allowed is an error, too.
 *
 * The caller owns each hammock_any that a function writes, and releases it by hammock_any_free(). The previous value is
 * overwritten, not released. Functions do not take ownership of their arguments. Any thread may use and release values.
 */
#ifndef HAMMOCK_H
#define HAMMOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types ---- */

/* A data type in DLPack's layout: kind of number, bits, lanes (1). */
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

/* A device in DLPack's layout: kind and number. */
typedef struct hammock_device {
    int32_t kind;
    int32_t id;
} hammock_device;

enum { HAMMOCK_DEVICE_CPU = 1, HAMMOCK_DEVICE_CUDA = 2 };

/* A tensor descriptor, in the layout of DLPack's DLTensor. */
typedef struct hammock_tensor {
    void *data;
    hammock_device device;
    int32_t ndim;
    hammock_dtype dtype;
    int64_t *shape;
    int64_t *strides;     /* in elements; null if the tensor is contiguous */
    uint64_t byte_offset; /* from `data` to the first element */
} hammock_tensor;

/* Kinds of values: the `type_index` of a hammock_any. */
enum {
    HAMMOCK_NONE = 0,
    HAMMOCK_INT = 1,
    HAMMOCK_BOOL = 2,
    HAMMOCK_FLOAT = 3,
    HAMMOCK_POINTER = 4,
    HAMMOCK_DTYPE = 5,
    HAMMOCK_DEVICE = 6,
    HAMMOCK_TENSOR_VIEW = 7, /* a hammock_tensor that is only valid during the call */
    HAMMOCK_TEXT = 8,        /* a C string that is only valid during the call */
    HAMMOCK_SMALL_STRING = 11,
    HAMMOCK_OBJECT = 64,     /* from here on: reference-counted objects */
    HAMMOCK_STRING = 65,
    HAMMOCK_BYTES = 66,
    HAMMOCK_FUNCTION = 68,
    HAMMOCK_SHAPE = 69,
    HAMMOCK_TENSOR = 70,
    HAMMOCK_TUPLE = 71,
    HAMMOCK_CLOSURE = 0x48414D01,
    HAMMOCK_ADT = 0x48414D03, /* a tagged union (algebraic data type) */
    HAMMOCK_MODULE = 0x48414D04
};

/* A dynamically typed value, in the layout of tvm-ffi's TVMFFIAny. */
typedef struct hammock_any {
    int32_t type_index;
    uint32_t small_size; /* length of a small string, otherwise zero */
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

/* A compiled model, a virtual machine that runs it, an interrupt of calls, and a profiler. */
typedef struct hammock_library hammock_library;
typedef struct hammock_vm hammock_vm;
typedef struct hammock_interrupt hammock_interrupt;
typedef struct hammock_profiler hammock_profiler;

/* Called once with its context, when the memory or function is released. */
typedef void (*hammock_deleter)(void *context);

/* A function in C: writes its result (initially none) and returns 0, or returns -1 after hammock_fail() or another
 * function of this header has failed. */
typedef int32_t (*hammock_callback)(void *context, const hammock_any *args, int32_t count, hammock_any *result);

/* DLPack's managed tensors, as in dlpack.h. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* ---- Values without heap memory ---- */

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

/* For arguments: the text must be valid while the value is used. */
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

/* The thread's last error: its kind (ValueError, TypeError, ...), its message, and both with the stack trace. */
const char *hammock_error_kind(void);
const char *hammock_error_message(void);
const char *hammock_error_text(void);

/* A frame of the stack trace. */
typedef struct hammock_trace_entry {
    const char *function;
    const char *file; /* of the model's source; null if unknown */
    uint32_t line;
    uint32_t column;
    const char *text; /* of the line; null if unknown */
} hammock_trace_entry;

/* The stack trace, innermost frame first. Returns -1 if there is no frame at `index`. */
size_t hammock_error_trace_size(void);
int hammock_error_trace(size_t index, hammock_trace_entry *entry);

/* Stores an error and returns -1, for a hammock_callback to return. */
int hammock_fail(const char *kind, const char *message);

/* ---- Values ---- */

/* Copies a value, adding a reference to its object. A value that is only valid during a call becomes an owned one. */
int hammock_any_copy(const hammock_any *from, hammock_any *copy);
/* Releases a value and sets it to none. Null is allowed. */
void hammock_any_free(hammock_any *value);
/* Formats a value for people (feature `text`). */
int hammock_any_show(const hammock_any *from, hammock_any *shown);

/* Create a string, and a shape. */
int hammock_string(const char *bytes, size_t size, hammock_any *string);
int hammock_shape(const int64_t *sizes, size_t count, hammock_any *shape);
/* The fields are copied: the caller still owns its values. */
int hammock_tuple(const hammock_any *fields, size_t count, hammock_any *tuple);
int hammock_adt(int64_t tag, const hammock_any *fields, size_t count, hammock_any *adt);

/* Reading. The pointers are valid as long as the value, and must not be freed. A short string is inside the value
 * and moves with it; every string is NUL-terminated. A model that empties fields of its tuple arguments
 * (vm.builtin.tuple_reset_item) releases their values, so nobody may read them during the call. */
int hammock_as_int(const hammock_any *from, int64_t *number);
int hammock_as_float(const hammock_any *from, double *number);
int hammock_as_string(const hammock_any *from, const char **bytes, size_t *size);
int hammock_as_bytes(const hammock_any *from, const void **bytes, size_t *size);
int hammock_as_shape(const hammock_any *from, const int64_t **sizes, size_t *count);
int hammock_as_tuple(const hammock_any *from, const hammock_any **fields, size_t *count);
int hammock_as_adt(const hammock_any *from, int64_t *tag, const hammock_any **fields, size_t *count);
int hammock_tuple_field(const hammock_any *from, size_t index, const hammock_any **field);
int hammock_as_tensor(const hammock_any *from, hammock_tensor *tensor);

/* Objects such as ADT values and errors have fields: the tuple of their names, which is empty for other values, and a
 * field by name (feature `reflection`). */
int hammock_fields(const hammock_any *from, hammock_any *names);
int hammock_field(const hammock_any *from, const char *name, hammock_any *field);
/* Compares the contents of two values: 1 if they are equal, otherwise 0. Equal values have equal hashes. Functions are
 * only equal to themselves (feature `reflection`). */
int hammock_equal(const hammock_any *left, const hammock_any *right, int *equal);
int hammock_hash(const hammock_any *from, uint64_t *hash);
/* Saves a value as a JSON graph in tvm-ffi's format (a string), and loads it. Functions cannot be saved
 * (feature `reflection`). */
int hammock_to_json(const hammock_any *from, hammock_any *json);
int hammock_from_json(const char *json, hammock_any *loaded);

/* ---- Tensors ---- */

/* Parses a data type: float32, int64, bool, ... */
int hammock_dtype_parse(const char *name, hammock_dtype *dtype);

/* Creates a tensor of zeros on the host. */
int hammock_tensor_new(hammock_dtype dtype, const int64_t *shape, size_t ndim, hammock_any *tensor);
/* Creates a tensor from a copy of `size` bytes. */
int hammock_tensor_copy(hammock_dtype dtype, const int64_t *shape, size_t ndim, const void *data, size_t size,
                        hammock_any *tensor);
/* Tensor descriptors are validated wherever they are passed: at most 64 dimensions, no null address, no invalid offset
 * or stride. */
/* Creates a tensor over the caller's memory, without a copy. `deleter`, which may be null, is called with `context`
 * when the last value that uses the memory is released. After an error it is not called. */
int hammock_tensor_borrow(const hammock_tensor *memory, hammock_deleter deleter, void *context, hammock_any *tensor);
/* Returns the tensor if it is contiguous on the host, otherwise a contiguous copy there. */
int hammock_tensor_to_host(const hammock_any *from, hammock_any *dense);
/* Returns the tensor if it is on the device, otherwise a contiguous copy there. */
int hammock_tensor_to_device(const hammock_any *from, hammock_device device, hammock_any *tensor);

/* DLPack, plain and versioned, without copies. Importing a tensor takes ownership of it, unless it fails. */
int hammock_from_dlpack(struct DLManagedTensor *managed, hammock_any *tensor);
int hammock_from_dlpack_versioned(struct DLManagedTensorVersioned *managed, hammock_any *tensor);
int hammock_to_dlpack(const hammock_any *from, struct DLManagedTensor **managed);
int hammock_to_dlpack_versioned(const hammock_any *from, struct DLManagedTensorVersioned **managed);

/* ---- Functions ---- */

/* Creates a function value that calls `call` with `context`, from any thread. `free`, which may be null, releases the
 * context. */
int hammock_function(hammock_callback call, void *context, hammock_deleter free, hammock_any *function);
/* Calls a function value. `result` may be null. */
int hammock_call(const hammock_any *function, const hammock_any *args, size_t count, hammock_any *result);

/* Registers functions by name, for virtual machines that are created from now on. */
int hammock_register(const char *name, const hammock_any *function);
int hammock_unregister(const char *name);
/* Looks up a registered function or a builtin (vm.builtin.reshape, ...), and lists the names of all: a tuple of
 * strings. */
int hammock_registered(const char *name, hammock_any *function);
int hammock_registered_names(hammock_any *names);

/* ---- Modules: collections of functions ---- */

enum {
    HAMMOCK_MODULE_SERIALIZABLE = 1, /* it can be saved */
    HAMMOCK_MODULE_RUNNABLE = 2      /* it has functions to call */
};

/* Creates a module of `count` functions of the host program, with a kind such as "app.tokenizer" (feature `modules`). */
int hammock_module(const char *kind, const char *const *names, const hammock_any *functions, size_t count,
                   hammock_any *module);
/* Its kind (a string), and its property flags (feature `modules`). */
int hammock_module_kind(const hammock_any *module, hammock_any *kind);
int hammock_module_properties(const hammock_any *module, int64_t *properties);
/* The names of its own functions (a tuple of strings), and a function by name: its own, otherwise an imported module's;
 * none if there is no such function (feature `modules`). */
int hammock_module_functions(const hammock_any *module, hammock_any *names);
int hammock_module_function(const hammock_any *module, const char *name, hammock_any *function);
/* The modules that it imports: a tuple (feature `modules`). */
int hammock_module_imports(const hammock_any *module, hammock_any *imports);
/* Serializes the module with all its imports, and loads it (feature `modules`). */
int hammock_module_save(const hammock_any *module, hammock_any *bytes);
int hammock_module_load(const void *bytes, size_t size, hammock_any *module);

/* ---- Models ---- */

/* Opens a compiled model, or loads one from memory, which is copied. A damaged model is rejected. */
int hammock_library_open(const char *path, hammock_library **library);
int hammock_library_load(const void *bytes, size_t size, hammock_library **library);
/* Null is allowed. Virtual machines created from the library keep their own reference. */
void hammock_library_free(hammock_library *library);
/* The model as a module: an executable that imports its kernels. Its function `vm_load_executable`
 * creates a virtual machine (feature `modules`). */
int hammock_library_module(const hammock_library *library, hammock_any *module);

enum { HAMMOCK_ALLOCATOR_POOLED = 0, HAMMOCK_ALLOCATOR_NAIVE = 1 };

/* Options of a virtual machine. Start from HAMMOCK_OPTIONS; zero selects the default. */
typedef struct hammock_options {
    size_t size;                   /* of this structure, in bytes */
    const hammock_device *devices; /* in order of preference; the host is appended if it is missing; by default, the
                                     one that the kernels are compiled for */
    size_t device_count;
    int32_t allocator;         /* policy for released memory: cache it, or free it */
    int32_t unchecked_kernels; /* do not check kernels' arguments */
    uint64_t memory_limit;     /* maximum memory on each device in bytes, including the model itself; by default
                                * 7/8 of the machine's memory, or of its control group's limit, and all memory of a
                                * GPU */
    uint64_t max_depth;        /* maximum depth of nested calls */
    uint64_t max_stack;        /* maximum size of their frames in bytes */
    uint64_t timeout_ms;       /* maximum duration of a call */
    int32_t flush_denormals;   /* flush denormals to zero, in operands and results, on all threads of a call */
} hammock_options;

#ifdef __cplusplus
#define HAMMOCK_OPTIONS (hammock_options{sizeof(hammock_options), nullptr, 0, 0, 0, 0, 0, 0, 0, 0})
#else
#define HAMMOCK_OPTIONS ((hammock_options){.size = sizeof(hammock_options)})
#endif

/* Loads a model into a new virtual machine. Any number of threads may call it at once. `options` may be null. */
int hammock_vm_new(const hammock_library *library, const hammock_options *options, hammock_vm **vm);
/* Null is allowed. Its function values and calls in progress keep their own references; the last of them frees it. The
 * caller must ensure that no new call begins after this one has begun. */
void hammock_vm_free(hammock_vm *vm);

/* Tuples of strings: the callable functions, and the parameters of a function. */
int hammock_vm_functions(const hammock_vm *vm, hammock_any *names);
int hammock_vm_parameters(const hammock_vm *vm, const char *function, hammock_any *names);
/* The signature of a function: a tuple of parameters and results, each a tuple of five fields:
 *   its role: "input", "weight" (an argument of every call), "bound" (a weight in the model), "output";
 *   its name; results without one have their index;
 *   its type for people, such as "float32[n, 64]";
 *   the dtype of a number or tensor, or none;
 *   the sizes of a tensor or shape, or none if they are unknown: a tuple of integers, and of strings for symbolic
 *   sizes. */
int hammock_vm_signature(const hammock_vm *vm, const char *function, hammock_any *signature);
/* The callable functions as a module, which keeps its own reference to the virtual machine (feature `modules`). */
int hammock_vm_module(const hammock_vm *vm, hammock_any *module);

/* Calls a function. `result` may be null. Tensors are copied to the devices of the function's parameters, if they are
 * elsewhere; results stay where they were computed.
 *
 * A call sets a floating-point state of its own on every thread that works for it: round to nearest, no traps, and
 * denormals as in IEEE 754, or flushed to zero by `flush_denormals`. The caller's state is restored when the call
 * returns. Callbacks run in the call's state and must preserve it. */
int hammock_vm_call(const hammock_vm *vm, const char *function, const hammock_any *args, size_t count,
                    hammock_any *result);
/* Like hammock_vm_call, but fails with a CancelledError once `interrupt` (or null) is cancelled, which any thread
 * may do, or with a TimeoutError after `timeout_ms` (or 0). A running kernel is not interrupted: run kernels that
 * may not terminate in a separate process. */
int hammock_vm_call_with(const hammock_vm *vm, const hammock_interrupt *interrupt, uint64_t timeout_ms,
                         const char *function, const hammock_any *args, size_t count, hammock_any *result);
int hammock_interrupt_new(hammock_interrupt **interrupt);
int hammock_interrupt_cancel(const hammock_interrupt *interrupt);
int hammock_interrupt_is_cancelled(const hammock_interrupt *interrupt); /* 1 or 0 */
void hammock_interrupt_free(hammock_interrupt *interrupt);
/* Calls a function and copies the tensors of its result into the given ones, in order. */
int hammock_vm_call_into(const hammock_vm *vm, const char *function, const hammock_any *args, size_t count,
                         const hammock_any *outputs, size_t output_count);
/* Returns a function of the model as a value, and calls a function that the model returned. */
int hammock_vm_function(const hammock_vm *vm, const char *name, hammock_any *function);
int hammock_vm_invoke(const hammock_vm *vm, const hammock_any *callee, const hammock_any *args, size_t count,
                      hammock_any *result);

/* Stateful calls: set inputs (all, or one by parameter name), invoke, read the output or the part of it that a path of
 * tuple indices selects. `arity` is its number of fields, or -1 if it is not a tuple. */
int hammock_vm_set_inputs(const hammock_vm *vm, const char *function, const hammock_any *args, size_t count);
int hammock_vm_set_input(const hammock_vm *vm, const char *function, const char *parameter, const hammock_any *input);
int hammock_vm_invoke_stateful(const hammock_vm *vm, const char *function);
int hammock_vm_output(const hammock_vm *vm, const char *function, const size_t *path, size_t depth,
                      hammock_any *output);
int hammock_vm_output_arity(const hammock_vm *vm, const char *function, const size_t *path, size_t depth,
                            int64_t *arity);

/* Defines `saved` as a function without parameters that calls `function` with `args`. */
int hammock_vm_save_function(const hammock_vm *vm, const char *function, const char *saved, const hammock_any *args,
                             size_t count, int include_return);

/* Options for timing: `repeat` measurements of `number` calls each; if one is shorter than `min_repeat_ms`, it gets
 * more calls. */
typedef struct hammock_evaluation {
    size_t number;
    size_t repeat;
    uint64_t min_repeat_ms;
    uint64_t cooldown_ms;
} hammock_evaluation;

/* Seconds per call, over the repeats. */
typedef struct hammock_timings {
    double mean;
    double median;
    double std;
    double min;
    double max;
} hammock_timings;

/* Times a function. If `seconds` is not null, it receives the figures of the `repeat` repeats (feature
 * `profiler`). */
int hammock_vm_time(const hammock_vm *vm, const char *function, const hammock_any *args, size_t count,
                    const hammock_evaluation *how, hammock_timings *timings, double *seconds);

/* The model's devices in order of preference, including the host: a tuple. */
int hammock_vm_devices(const hammock_vm *vm, hammock_any *devices);

/* Memory of the model's tensors and of kernels' temporaries on a device, by its index among the model's devices, in
 * bytes: in use, peak, and cached for reuse. */
typedef struct hammock_memory {
    uint64_t used;
    uint64_t peak;
    uint64_t pooled;
} hammock_memory;

int hammock_vm_memory(const hammock_vm *vm, size_t device, hammock_memory *memory);
/* Returns cached memory to the devices. */
int hammock_vm_trim(const hammock_vm *vm);

/* Sets the function that is notified before and after every call in the model's functions; null removes it. It receives
 * the callee (a function or closure), its name, true before the call and false after it, the result (none before), and
 * the arguments. If it returns 1 before the call, the call is skipped, and its result is none. */
int hammock_vm_set_instrument(const hammock_vm *vm, const hammock_any *function);

/* Kinds of callees. */
enum {
    HAMMOCK_CALLEE_KERNEL = 0,    /* a compiled kernel of the model */
    HAMMOCK_CALLEE_BUILTIN = 1,   /* a function of the runtime */
    HAMMOCK_CALLEE_FUNCTION = 2,  /* a function of the model */
    HAMMOCK_CALLEE_REGISTERED = 3 /* a registered function */
};

/* A call in one of the model's functions. All pointers are valid until the callback that receives it returns. */
typedef struct hammock_event {
    const char *function; /* the caller */
    const char *callee;
    int32_t kind;     /* of the callee */
    uint32_t line;    /* of the model's source; 0 if unknown */
    const char *file; /* null if unknown */
    uint64_t instruction;
    const hammock_any *args;
    size_t count;
    const hammock_any *value; /* the callee: a function or closure */
} hammock_event;

/* An instrument: callbacks on the threads that call a model; each may be null. `before` returns 0 to run the call,
 * or 1 to skip it; then `instead`, which is initially none, becomes its result. `after` receives null as the result
 * of a call that failed; the error is the thread's last error. Both return -1 if they fail, like a hammock_callback;
 * then the model's function fails. `enter` and `leave` are called for every activation of a function of the model. */
typedef struct hammock_instrument {
    void *context;
    hammock_deleter free; /* of the context, when the instrument is released */
    int32_t (*before)(void *context, const hammock_event *call, hammock_any *instead);
    int32_t (*after)(void *context, const hammock_event *call, const hammock_any *result);
    void (*enter)(void *context, const char *function);
    void (*leave)(void *context, const char *function);
} hammock_instrument;

/* Sets the instrument, which replaces the previous one; null removes it. */
int hammock_vm_watch(const hammock_vm *vm, const hammock_instrument *instrument);

/* Profiling by function and kernel: create a profiler, which records up to `most_events` individual calls for a trace;
 * set it; call; render it as "table", "json", "trace" (for Chrome or Perfetto) or "flame" (SVG), a string. A null
 * profiler detaches it (feature `profiler`). */
int hammock_profiler_new(size_t most_events, hammock_profiler **profiler);
int hammock_vm_set_profiler(const hammock_vm *vm, const hammock_profiler *profiler);
int hammock_profiler_render(const hammock_profiler *profiler, const char *form, hammock_any *rendered);
/* Clears the recorded data, and releases the profiler (feature `profiler`). */
int hammock_profiler_reset(const hammock_profiler *profiler);
void hammock_profiler_free(hammock_profiler *profiler);

/* Sets the number of threads for kernels in the whole process; 0 for the number of CPUs. A process may fork at any
 * time, except in a parallel loop of a kernel: the child starts threads of its own when it needs them. It must not
 * use values that another thread was changing. */
void hammock_set_threads(size_t count);

/* Runs iterations `begin` to `end` (exclusive) of a parallel loop. Returns 0, or -1 if one failed. */
typedef int32_t (*hammock_part)(void *loop, int64_t begin, int64_t end);
/* Calls `part(loop, begin, end)` on ranges that partition 0 to `extent`, on any threads, concurrently, in any order,
 * before it returns. Ranges smaller than `grain` are not worth a thread's time. After one has failed, the others may be
 * skipped. */
typedef void (*hammock_runner)(void *pool, hammock_part part, void *loop, int64_t extent, int64_t grain);
/* Runs parallel loops through `runner`, with `pool` as its first argument, instead of on the runtime's own threads; a
 * null runner restores those. Loops that are too small for two threads, and nested loops, run on the calling thread.
 * `pool` must stay valid, and several threads may call `runner` at the same time. */
void hammock_set_pool(hammock_runner runner, void *pool);

#ifdef __cplusplus
}
#endif

#endif
