/* Loads and runs a model, and exercises all kinds of misuse. Prints "ok" at the end. */
#include "hammock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#define CHECK(condition)                                                                                    \
    do {                                                                                                    \
        if (!(condition)) {                                                                                 \
            fprintf(stderr, "line %d: %s\n  last error: %s\n", __LINE__, #condition, hammock_error_text()); \
            exit(1);                                                                                        \
        }                                                                                                   \
    } while (0)

static int fails(int status, const char *kind, const char *part) {
    return status == -1 && strcmp(hammock_error_kind(), kind) == 0 && strstr(hammock_error_message(), part) != NULL;
}

static const int64_t SHAPE[] = {2, 3};
static float ones[6] = {1, 1, 1, 1, 1, 1};
static const float counts[6] = {0, 1, 2, 3, 4, 5};

static const float *elements(const hammock_any *value) {
    hammock_tensor tensor;
    CHECK(hammock_as_tensor(value, &tensor) == 0);
    CHECK(tensor.ndim == 2 && tensor.shape[0] == 2 && tensor.shape[1] == 3 && tensor.dtype.bits == 32);
    return (const float *)((const char *)tensor.data + tensor.byte_offset);
}

/* A function that the model calls: doubles its argument. */
static int32_t twice(void *context, const hammock_any *args, int32_t count, hammock_any *result) {
    float doubled[6];
    ++*(int *)context;
    if (count != 1) return hammock_fail("TypeError", "twice takes one tensor");
    for (int i = 0; i < 6; i++) doubled[i] = 2 * elements(&args[0])[i];
    return hammock_tensor_copy(hammock_float32(), SHAPE, 2, doubled, sizeof doubled, result);
}

static int32_t stubborn(void *context, const hammock_any *args, int32_t count, hammock_any *result) {
    (void)context, (void)args, (void)count, (void)result;
    return hammock_fail("ValueError", "not today");
}

static void count_up(void *context) { ++*(int *)context; }

static void tag_data(void) {
    const hammock_any fields[2] = {hammock_int(5), hammock_text("rest")};
    const hammock_any *read;
    hammock_any adt;
    int64_t tag;
    size_t count;
    CHECK(hammock_adt(3, fields, 2, &adt) == 0 && adt.type_index == HAMMOCK_ADT);
    CHECK(hammock_as_adt(&adt, &tag, &read, &count) == 0 && tag == 3 && count == 2 && read[0].as.integer == 5);
    CHECK(fails(hammock_as_tuple(&adt, &read, &count), "TypeError", "not a tuple"));
    CHECK(fails(hammock_as_adt(&fields[0], &tag, &read, &count), "TypeError", "not tagged data"));
    CHECK(fails(hammock_adt(3, NULL, 2, &adt), "ValueError", "`fields` is null"));
    hammock_any_free(&adt);
}

static void reflect(const hammock_any *args) {
    const hammock_any fields[2] = {hammock_int(5), args[0]};
    const char *text;
    hammock_any adt, same, names, field, json;
    uint64_t hashes[2];
    size_t count;
    int equal;
    const hammock_any *read;
    CHECK(hammock_adt(3, fields, 2, &adt) == 0 && hammock_fields(&adt, &names) == 0);
    CHECK(hammock_as_tuple(&names, &read, &count) == 0 && count == 2);
    CHECK(hammock_as_string(&read[0], &text, NULL) == 0 && strcmp(text, "tag") == 0);
    CHECK(hammock_field(&adt, "tag", &field) == 0 && field.as.integer == 3);
    CHECK(fails(hammock_field(&adt, "tail", &field), "AttributeError", "no field `tail`"));
    CHECK(fails(hammock_field(&fields[0], "tag", &field), "AttributeError", "no field `tag`"));
    hammock_any_free(&names);

    CHECK(hammock_to_json(&adt, &json) == 0 && hammock_as_string(&json, &text, NULL) == 0);
    CHECK(hammock_from_json(text, &same) == 0 && hammock_equal(&adt, &same, &equal) == 0 && equal == 1);
    CHECK(hammock_hash(&adt, &hashes[0]) == 0 && hammock_hash(&same, &hashes[1]) == 0 && hashes[0] == hashes[1]);
    CHECK(hammock_equal(&adt, &fields[0], &equal) == 0 && equal == 0);
    hammock_any_free(&json);
    hammock_any_free(&same);
    hammock_any_free(&adt);
    CHECK(fails(hammock_from_json("{}", &same), "ValueError", "is not a graph"));
    CHECK(fails(hammock_from_json("{\"nodes\"", &same), "ValueError", "byte"));
    CHECK(fails(hammock_from_json(NULL, &same), "ValueError", "`json` is null"));
    CHECK(fails(hammock_to_json(NULL, &json), "ValueError", "`from` is null"));
    CHECK(fails(hammock_equal(&adt, NULL, &equal), "ValueError", "`right` is null"));
    CHECK(fails(hammock_equal(&adt, &adt, NULL), "ValueError", "`equal` is null"));
    CHECK(fails(hammock_hash(&adt, NULL), "ValueError", "`hash` is null"));
    CHECK(fails(hammock_fields(&adt, NULL), "ValueError", "`names` is null"));
    CHECK(fails(hammock_field(&adt, NULL, &field), "ValueError", "`name` is null"));
}

/* Number of strings in a tuple that equal `wanted`. */
static int times(const hammock_any *names, const char *wanted) {
    const hammock_any *name;
    const char *text;
    size_t count;
    int found = 0;
    CHECK(hammock_as_tuple(names, &name, &count) == 0);
    for (size_t i = 0; i < count; i++) {
        CHECK(hammock_as_string(&name[i], &text, NULL) == 0);
        found += strcmp(text, wanted) == 0;
    }
    return found;
}

static void use_builtins(void) {
    const hammock_any fields[2] = {hammock_int(5), hammock_text("a rather long text")};
    hammock_any names, function, tuple, other;
    const hammock_any *field;
    CHECK(hammock_registered_names(&names) == 0 && times(&names, "vm.builtin.make_tuple") == 1);
    CHECK(times(&names, "capi.nobody") == 0 && fails(hammock_registered_names(NULL), "ValueError", "`names` is null"));
    hammock_any_free(&names);
    CHECK(hammock_registered("vm.builtin.make_tuple", &function) == 0 && hammock_call(&function, fields, 2, &tuple) == 0);
    hammock_any_free(&function);
    CHECK(hammock_any_copy(&tuple, &other) == 0 && hammock_tuple_field(&other, 1, &field) == 0);
    CHECK(field->type_index == HAMMOCK_STRING);
    /* Clearing a tuple affects all of its owners. */
    const hammock_any reset[2] = {tuple, hammock_int(1)};
    CHECK(hammock_registered("vm.builtin.tuple_reset_item", &function) == 0);
    CHECK(hammock_call(&function, reset, 2, NULL) == 0 && field->type_index == HAMMOCK_NONE);
    const hammock_any beyond[2] = {tuple, hammock_int(2)};
    CHECK(fails(hammock_call(&function, beyond, 2, NULL), "IndexError", "no field 2"));
    hammock_any_free(&function);
    hammock_any_free(&tuple);
    hammock_any_free(&other);
    CHECK(fails(hammock_registered("capi.nobody", &function), "ValueError", "nobody registered"));
}

static void use_modules(const hammock_library *library, const hammock_vm *vm, const hammock_any *args) {
    const char *const names[1] = {"five"};
    const char *text;
    const void *bytes;
    size_t size, count;
    int64_t properties;
    hammock_any module, kind, found, imports, saved, result;
    const hammock_any *import;
    CHECK(hammock_vm_module(vm, &module) == 0 && module.type_index == HAMMOCK_MODULE);
    CHECK(hammock_module_kind(&module, &kind) == 0 && hammock_as_string(&kind, &text, NULL) == 0);
    CHECK(strcmp(text, "relax.VirtualMachine") == 0);
    hammock_any_free(&kind);
    CHECK(hammock_module_properties(&module, &properties) == 0 && properties == HAMMOCK_MODULE_RUNNABLE);
    CHECK(hammock_module_functions(&module, &found) == 0 && times(&found, "main") == 1);
    hammock_any_free(&found);
    CHECK(hammock_module_function(&module, "main", &found) == 0 && hammock_call(&found, args, 2, NULL) == 0);
    CHECK(fails(hammock_module_save(&module, &saved), "TypeError", "cannot be saved"));
    const hammock_any own[1] = {found};
    hammock_any_free(&module);
    CHECK(hammock_module("capi.own", names, own, 1, &module) == 0);
    CHECK(hammock_module_function(&module, "five", &result) == 0 && result.type_index == found.type_index);
    hammock_any_free(&result);
    CHECK(hammock_module_function(&module, "six", &result) == 0 && result.type_index == HAMMOCK_NONE);
    hammock_any_free(&module);
    CHECK(fails(hammock_module("capi.own", names, args, 1, &module), "TypeError", "not a function"));
    CHECK(fails(hammock_module(NULL, names, own, 1, &module), "ValueError", "`kind` is null"));
    CHECK(fails(hammock_module("capi.own", NULL, own, 1, &module), "ValueError", "`names` is null"));
    CHECK(fails(hammock_module("capi.own", names, NULL, 1, &module), "ValueError", "`functions` is null"));
    hammock_any_free(&found);

    CHECK(hammock_library_module(library, &module) == 0 && hammock_module_imports(&module, &imports) == 0);
    CHECK(hammock_as_tuple(&imports, &import, &count) == 0 && count == 1);
    CHECK(hammock_module_properties(import, &properties) == 0 && (properties & HAMMOCK_MODULE_SERIALIZABLE) != 0);
    hammock_any_free(&imports);
    CHECK(hammock_module_save(&module, &saved) == 0 && hammock_as_bytes(&saved, &bytes, &size) == 0);
    hammock_any_free(&module);
    CHECK(hammock_module_load(bytes, size - 1, &module) == -1 && hammock_module_load(bytes, size, &module) == 0);
    hammock_any_free(&saved);
    CHECK(hammock_module_function(&module, "vm_load_executable", &found) == 0);
    CHECK(hammock_call(&found, NULL, 0, &result) == 0 && result.type_index == HAMMOCK_MODULE);
    hammock_any_free(&found);
    hammock_any_free(&module);
    CHECK(hammock_module_function(&result, "main", &found) == 0 && hammock_call(&found, args, 2, NULL) == 0);
    hammock_any_free(&found);
    hammock_any_free(&result);

    CHECK(fails(hammock_module_kind(&args[0], &kind), "TypeError", "not a module"));
    CHECK(fails(hammock_module_kind(NULL, &kind), "ValueError", "`module` is null"));
    CHECK(fails(hammock_module_properties(&args[0], &properties), "TypeError", "not a module"));
    CHECK(fails(hammock_module_functions(&args[0], &found), "TypeError", "not a module"));
    CHECK(fails(hammock_module_function(&args[0], "main", &found), "TypeError", "not a module"));
    CHECK(fails(hammock_module_imports(&args[0], &imports), "TypeError", "not a module"));
    CHECK(fails(hammock_module_save(&args[0], &saved), "TypeError", "not a module"));
    CHECK(fails(hammock_module_load(NULL, 8, &module), "ValueError", "`bytes` is null"));
    CHECK(fails(hammock_module_load("no module", 9, &module), "ValueError", "not saved modules"));
    CHECK(fails(hammock_library_module(NULL, &module), "ValueError", "`library` is null"));
    CHECK(fails(hammock_vm_module(NULL, &module), "ValueError", "`vm` is null"));
    CHECK(fails(hammock_as_bytes(&args[0], &bytes, &size), "TypeError", "not bytes"));
}

/* True if the field of a signature entry has this text. */
static int says(const hammock_any *entry, size_t index, const char *text) {
    const hammock_any *field;
    const char *bytes;
    size_t size;
    CHECK(hammock_tuple_field(entry, index, &field) == 0 && hammock_as_string(field, &bytes, &size) == 0);
    return size == strlen(text) && memcmp(bytes, text, size) == 0;
}

static void sign(const hammock_vm *vm) {
    hammock_any signature;
    const hammock_any *entries, *field, *sizes;
    size_t count;
    int64_t rows;
    CHECK(hammock_vm_signature(vm, "main", &signature) == 0);
    CHECK(hammock_as_tuple(&signature, &entries, &count) == 0 && count == 4);
    CHECK(says(&entries[1], 0, "input") && says(&entries[1], 1, "y") && says(&entries[1], 2, "float32[2, 3]"));
    CHECK(hammock_tuple_field(&entries[1], 3, &field) == 0 && field->type_index == HAMMOCK_DTYPE);
    CHECK(field->as.dtype.code == HAMMOCK_CODE_FLOAT && field->as.dtype.bits == 32);
    CHECK(hammock_tuple_field(&entries[1], 4, &field) == 0 && hammock_as_tuple(field, &sizes, &count) == 0);
    CHECK(count == 2 && hammock_as_int(&sizes[0], &rows) == 0 && rows == 2);
    CHECK(says(&entries[2], 0, "output") && says(&entries[2], 1, "sum"));
    CHECK(says(&entries[3], 1, "1") && says(&entries[3], 2, "(float32[2, 3])"));
    CHECK(hammock_tuple_field(&entries[3], 3, &field) == 0 && field->type_index == HAMMOCK_NONE);
    CHECK(hammock_tuple_field(&entries[3], 4, &field) == 0 && field->type_index == HAMMOCK_NONE);
    hammock_any_free(&signature);
    CHECK(hammock_vm_signature(vm, "nobody", &signature) == -1);
    CHECK(hammock_vm_signature(vm, "main", NULL) == -1 && hammock_vm_signature(NULL, "main", &signature) == -1);
}

static void run(const hammock_vm *vm, const hammock_any *args) {
    hammock_any result, field, names;
    const hammock_any *inner;
    const char *name;
    size_t size;
    CHECK(hammock_vm_parameters(vm, "main", &names) == 0);
    CHECK(hammock_tuple_field(&names, 1, &inner) == 0 && hammock_as_string(inner, &name, &size) == 0);
    CHECK(size == 1 && strcmp(name, "y") == 0);
    hammock_any_free(&names);
    sign(vm);

    CHECK(hammock_vm_call(vm, "main", args, 2, &result) == 0);
    CHECK(hammock_tuple_field(&result, 0, &inner) == 0);
    for (int i = 0; i < 6; i++) CHECK(elements(inner)[i] == counts[i] + 1);
    CHECK(fails(hammock_tuple_field(&result, 2, &inner), "IndexError", "no field 2"));
    CHECK(hammock_any_show(&result, &field) == 0 && hammock_as_string(&field, &name, NULL) == 0);
    CHECK(strstr(name, "float32[2, 3]") != NULL);
    hammock_any_free(&field);
    hammock_any_free(&result);
    CHECK(result.type_index == HAMMOCK_NONE);

    CHECK(hammock_vm_call(vm, "main", args, 2, NULL) == 0);
    CHECK(fails(hammock_vm_call(vm, "main", args, 1, &result), "TypeError", "takes 2 arguments (x, y), not 1"));
    CHECK(fails(hammock_vm_call(vm, "mian", args, 2, &result), "ValueError", "no function `mian`"));
    CHECK(fails(hammock_vm_call(vm, NULL, args, 2, &result), "ValueError", "`function` is null"));
    CHECK(fails(hammock_vm_call(NULL, "main", args, 2, &result), "ValueError", "`vm` is null"));
    CHECK(fails(hammock_vm_call(vm, "main", NULL, 2, &result), "ValueError", "`args` is null"));
    hammock_any wrong[2] = {hammock_int(1), hammock_float(2)};
    CHECK(hammock_vm_call(vm, "main", wrong, 2, &result) == -1 && hammock_error_trace_size() > 0);
    hammock_trace_entry entry;
    CHECK(hammock_error_trace(0, &entry) == 0 && strcmp(entry.function, "main") == 0 && entry.line > 0);
    CHECK(strstr(entry.file, "model.py") != NULL && hammock_error_trace(99, &entry) == -1);
    wrong[0].type_index = HAMMOCK_TENSOR;
    wrong[0].as.pointer = NULL;
    CHECK(fails(hammock_vm_call(vm, "main", wrong, 2, &result), "ValueError", "is null"));
}

static void run_in_steps(const hammock_vm *vm, const hammock_any *args) {
    size_t path[] = {1, 0};
    int64_t arity;
    hammock_any output, given[2];
    CHECK(hammock_vm_set_inputs(vm, "main", args, 2) == 0);
    CHECK(hammock_vm_set_input(vm, "main", "x", &args[1]) == 0);
    CHECK(fails(hammock_vm_set_input(vm, "main", "z", &args[1]), "ValueError", "no parameter `z`"));
    CHECK(hammock_vm_invoke_stateful(vm, "main") == 0);
    CHECK(hammock_vm_output_arity(vm, "main", NULL, 0, &arity) == 0 && arity == 2);
    CHECK(hammock_vm_output_arity(vm, "main", path, 2, &arity) == 0 && arity == -1);
    CHECK(hammock_vm_output(vm, "main", path, 2, &output) == 0);
    for (int i = 0; i < 6; i++) CHECK(elements(&output)[i] == 1);
    hammock_any_free(&output);

    for (int i = 0; i < 2; i++) CHECK(hammock_tensor_new(hammock_float32(), SHAPE, 2, &given[i]) == 0);
    CHECK(hammock_vm_call_into(vm, "main", args, 2, given, 2) == 0 && elements(&given[1])[5] == 5);
    CHECK(fails(hammock_vm_call_into(vm, "main", args, 2, given, 1), "TypeError", "more tensors"));
    for (int i = 0; i < 2; i++) hammock_any_free(&given[i]);

    hammock_evaluation how = {5, 3, 0, 0};
    hammock_timings timings;
    double seconds[3] = {0, 0, 0};
    CHECK(hammock_vm_save_function(vm, "main", "bound", args, 2, 0) == 0);
    CHECK(hammock_vm_time(vm, "bound", NULL, 0, &how, &timings, seconds) == 0);
    CHECK(timings.min > 0 && timings.min <= timings.mean && timings.mean <= timings.max && seconds[2] > 0);
}

/* Frees the virtual machine that calls it; the call continues. */
static int32_t last_wish(void *context, const hammock_any *args, int32_t count, hammock_any *result) {
    int calls = 0;
    hammock_vm_free(*(hammock_vm **)context);
    return twice(&calls, args, count, result);
}

static void free_while_running(const hammock_library *library, const hammock_any *args) {
    hammock_vm *vm;
    hammock_any function, result;
    CHECK(hammock_function(last_wish, &vm, NULL, &function) == 0 && hammock_register("capi.twice", &function) == 0);
    hammock_any_free(&function);
    CHECK(hammock_vm_new(library, NULL, &vm) == 0);
    CHECK(hammock_vm_call(vm, "ask", args, 1, &result) == 0 && elements(&result)[4] == 12);
    hammock_any_free(&result);
    CHECK(hammock_unregister("capi.twice") == 0);
}

/* Multiplies denormals by one; returns the first element. */
static float denormal_product(const hammock_library *library, int flush) {
    static float tiny[6] = {1e-39f, 1e-39f, 1e-39f, 1e-39f, 1e-39f, 1e-39f};
    hammock_options options = HAMMOCK_OPTIONS;
    const hammock_any *inner;
    hammock_any args[2], result;
    hammock_vm *vm;
    float product;
    options.flush_denormals = flush;
    CHECK(hammock_vm_new(library, &options, &vm) == 0);
    CHECK(hammock_tensor_copy(hammock_float32(), SHAPE, 2, tiny, sizeof tiny, &args[0]) == 0);
    CHECK(hammock_tensor_copy(hammock_float32(), SHAPE, 2, ones, sizeof ones, &args[1]) == 0);
    CHECK(hammock_vm_call(vm, "main", args, 2, &result) == 0);
    CHECK(hammock_tuple_field(&result, 1, &inner) == 0 && hammock_tuple_field(inner, 0, &inner) == 0);
    memcpy(&product, elements(inner), sizeof product);
    for (int i = 0; i < 2; i++) hammock_any_free(&args[i]);
    hammock_any_free(&result);
    hammock_vm_free(vm);
    return product;
}

/* Results do not depend on the caller's floating-point state, which is preserved. */
static void keep_float_state(const hammock_library *library) {
    const float kept = denormal_product(library, 0), flushed = denormal_product(library, 1);
    CHECK(memcmp(&kept, &(float){1e-39f}, sizeof kept) == 0 && memcmp(&flushed, &(float){0}, sizeof flushed) == 0);
#ifdef __SSE__
    /* Flushes denormals, rounds up. */
    const unsigned before = _mm_getcsr(), state = (before & 0xFFC0) | 0x8040 | 0x4000;
    _mm_setcsr(state);
    const float in_state = denormal_product(library, 0);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    CHECK((after & 0xFFC0) == state && memcmp(&in_state, &kept, sizeof kept) == 0);
#endif
}

static void register_functions(const hammock_library *library, const hammock_any *args) {
    int calls = 0, ended = 0;
    hammock_any function, result;
    hammock_vm *vm;
    CHECK(hammock_vm_new(library, NULL, &vm) == 0);
    CHECK(fails(hammock_vm_call(vm, "ask", args, 1, &result), "ValueError", "nobody registered it"));
    hammock_vm_free(vm);

    CHECK(hammock_function(twice, &calls, NULL, &function) == 0 && hammock_register("capi.twice", &function) == 0);
    CHECK(fails(hammock_call(&function, args, 2, &result), "TypeError", "takes one tensor") && calls == 1);
    hammock_any_free(&function);
    CHECK(hammock_vm_new(library, NULL, &vm) == 0);
    CHECK(hammock_vm_call(vm, "ask", args, 1, &result) == 0 && calls == 2 && elements(&result)[4] == 12);
    hammock_any_free(&result);
    hammock_vm_free(vm);

    CHECK(hammock_function(stubborn, &ended, count_up, &function) == 0);
    CHECK(hammock_register("capi.twice", &function) == 0);
    hammock_any_free(&function);
    CHECK(hammock_vm_new(library, NULL, &vm) == 0);
    CHECK(fails(hammock_vm_call(vm, "ask", args, 1, &result), "ValueError", "not today"));
    CHECK(strstr(hammock_error_text(), "in ask") != NULL);
    hammock_vm_free(vm);
    CHECK(ended == 0 && hammock_unregister("capi.twice") == 0 && ended == 1);
    CHECK(hammock_unregister("capi.twice") == -1);
}

static void load(const char *path, hammock_library **library) {
    CHECK(fails(hammock_library_open("missing.so", library), "ValueError", "missing.so"));
    CHECK(fails(hammock_library_open(NULL, library), "ValueError", "`path` is null"));
    CHECK(hammock_library_load("\177ELF and no more", 16, library) == -1);
    CHECK(hammock_library_load(NULL, 16, library) == -1 && hammock_library_load(NULL, 0, library) == -1);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    size_t size = (size_t)ftell(file);
    char *bytes = malloc(size);
    rewind(file);
    CHECK(bytes != NULL && fread(bytes, 1, size, file) == size);
    fclose(file);
    CHECK(hammock_library_load(bytes, size, library) == 0);
    hammock_library_free(*library);
    bytes[size / 2] ^= 1;
    CHECK(hammock_library_load(bytes, size, library) == -1);
    free(bytes);
    CHECK(hammock_library_open(path, library) == 0);
}

static void limits(const hammock_library *library, const hammock_any *args) {
    hammock_options options = HAMMOCK_OPTIONS;
    hammock_memory memory;
    hammock_any devices;
    const hammock_any *device;
    size_t count;
    hammock_vm *vm;
    options.memory_limit = 16;
    options.allocator = HAMMOCK_ALLOCATOR_NAIVE;
    CHECK(fails(hammock_vm_new(library, &options, &vm), "MemoryError", "limit of 16"));
    /* A limit that admits the model itself ("the model: 1234 bytes would exceed…"), but not its results. */
    options.memory_limit = strtoull(strchr(hammock_error_message(), ':') + 1, NULL, 10) + 16;
    CHECK(hammock_vm_new(library, &options, &vm) == 0);
    CHECK(fails(hammock_vm_call(vm, "main", args, 2, NULL), "MemoryError", "would exceed the limit"));
    CHECK(hammock_vm_memory(vm, 0, &memory) == 0 && memory.used == 0);
    CHECK(fails(hammock_vm_memory(vm, 9, &memory), "IndexError", "none is number 9"));
    CHECK(hammock_vm_trim(vm) == 0 && hammock_vm_devices(vm, &devices) == 0);
    CHECK(hammock_as_tuple(&devices, &device, &count) == 0 && count == 1);
    CHECK(device->type_index == HAMMOCK_DEVICE && device->as.device.kind == HAMMOCK_DEVICE_CPU);
    hammock_any_free(&devices);
    hammock_vm_free(vm);
    options.size = 3;
    CHECK(fails(hammock_vm_new(library, &options, &vm), "ValueError", "options.size"));
}

static void stop(const hammock_vm *vm, const hammock_any *args) {
    hammock_interrupt *interrupt;
    CHECK(hammock_interrupt_new(&interrupt) == 0);
    CHECK(hammock_vm_call_with(vm, interrupt, 60000, "main", args, 2, NULL) == 0);
    CHECK(hammock_interrupt_is_cancelled(interrupt) == 0 && hammock_interrupt_cancel(interrupt) == 0);
    CHECK(hammock_interrupt_is_cancelled(interrupt) == 1 && hammock_interrupt_is_cancelled(NULL) == 0);
    CHECK(fails(hammock_vm_call_with(vm, interrupt, 0, "main", args, 2, NULL), "CancelledError", "cancelled"));
    hammock_interrupt_free(interrupt);
}

/* Counts the calls of kernels. */
static int32_t look_on(void *context, const hammock_any *args, int32_t count, hammock_any *result) {
    const char *name;
    int64_t before;
    CHECK(count >= 4 && hammock_as_string(&args[1], &name, NULL) == 0 && hammock_as_int(&args[2], &before) == 0);
    CHECK(args[0].type_index == HAMMOCK_FUNCTION || args[0].type_index == HAMMOCK_CLOSURE);
    if (before && strncmp(name, "vm.builtin", 10) != 0) ++*(int *)context;
    *result = hammock_int(0);
    return 0;
}

/* Events of an instrument. */
struct diary {
    int kernels, results, entered, left, freed;
};

static int32_t before_call(void *context, const hammock_event *call, hammock_any *instead) {
    struct diary *diary = context;
    if (call->kind != HAMMOCK_CALLEE_KERNEL) return 0;
    if (strcmp(call->function, "main") != 0 || call->line == 0 || strstr(call->file, "model.py") == NULL) return -1;
    if (call->value->type_index != HAMMOCK_FUNCTION) return -1;
    if (call->count < 3 || elements(&call->args[0])[5] != 5) return hammock_fail("ValueError", "not these");
    *instead = hammock_none();
    return ++diary->kernels == 4; /* The second kernel of the second call. */
}

static int32_t after_call(void *context, const hammock_event *call, const hammock_any *result) {
    struct diary *diary = context;
    if (call->kind == HAMMOCK_CALLEE_KERNEL && result != NULL) diary->results++;
    return diary->results < 3 ? 0 : hammock_fail("ValueError", "three are enough");
}

static void begin(void *context, const char *function) { ((struct diary *)context)->entered += function[0] == 'm'; }
static void end(void *context, const char *function) { ((struct diary *)context)->left += function[0] == 'm'; }
static void close_diary(void *context) { ((struct diary *)context)->freed++; }

static void keep_a_diary(const hammock_vm *vm, const hammock_any *args) {
    struct diary diary = {0, 0, 0, 0, 0};
    hammock_instrument instrument = {&diary, close_diary, before_call, after_call, begin, end};
    CHECK(hammock_vm_watch(vm, &instrument) == 0 && hammock_vm_call(vm, "main", args, 2, NULL) == 0);
    CHECK(diary.kernels == 2 && diary.results == 2 && diary.entered == 1 && diary.left == 1 && diary.freed == 0);
    CHECK(fails(hammock_vm_call(vm, "main", args, 2, NULL), "ValueError", "three are enough"));
    CHECK(diary.kernels == 3 && diary.left == 2);
    diary.results = 0;
    CHECK(hammock_vm_call(vm, "main", args, 2, NULL) == 0 && diary.kernels == 5 && diary.results == 1);
    const hammock_any ones[2] = {args[1], args[1]};
    CHECK(fails(hammock_vm_call(vm, "main", ones, 2, NULL), "ValueError", "not these"));
    CHECK(hammock_vm_watch(vm, NULL) == 0 && diary.freed == 1);
    instrument = (hammock_instrument){.context = NULL};
    CHECK(hammock_vm_watch(vm, &instrument) == 0 && hammock_vm_call(vm, "main", args, 2, NULL) == 0);
}

static void watch(const hammock_vm *vm, const hammock_any *args) {
    int kernels = 0;
    const char *text;
    hammock_any function, table;
    hammock_profiler *profiler;
    CHECK(hammock_function(look_on, &kernels, NULL, &function) == 0);
    CHECK(hammock_vm_set_instrument(vm, &function) == 0 && hammock_vm_call(vm, "main", args, 2, NULL) == 0);
    CHECK(kernels == 2);
    hammock_any_free(&function);
    CHECK(hammock_profiler_new(100, &profiler) == 0 && hammock_vm_set_profiler(vm, profiler) == 0);
    CHECK(hammock_vm_call(vm, "main", args, 2, NULL) == 0 && hammock_vm_set_profiler(vm, NULL) == 0);
    CHECK(hammock_profiler_render(profiler, "table", &table) == 0 && hammock_as_string(&table, &text, NULL) == 0);
    CHECK(strstr(text, "model.py:12") != NULL && strstr(text, "kernel") != NULL);
    hammock_any_free(&table);
    CHECK(hammock_profiler_reset(profiler) == 0 && hammock_profiler_render(profiler, "table", &table) == 0);
    CHECK(hammock_as_string(&table, &text, NULL) == 0 && strstr(text, "model.py:12") == NULL);
    hammock_any_free(&table);
    CHECK(fails(hammock_profiler_render(profiler, "pie", &table), "ValueError", "none of table"));
    hammock_profiler_free(profiler);
}

/* Invalid tensor descriptions through every interface; and a valid one. */
static void lend_wrongly(hammock_vm *vm, const hammock_tensor *good, const hammock_any *other) {
    int64_t shape[2] = {2, 3}, strides[2] = {3, 1}, much[2] = {2, INT64_MAX}, none[2] = {2, -3};
    /* As sizes, more elements than fit any memory; as strides, addresses below zero. */
    int64_t far[2] = {(int64_t)1 << 57, 1}, back[2] = {-((int64_t)1 << 50), 1};
    const struct {
        hammock_tensor tensor;
        const char *why;
    } wrong[] = {
        {{NULL, good->device, 2, good->dtype, shape, NULL, 0}, "null address"},
        {{ones, good->device, 2, good->dtype, shape, NULL, UINT64_MAX}, "offset"},
        {{ones, good->device, 2, good->dtype, shape, NULL, (uint64_t)1 << 63}, "no memory is there"},
        {{ones, good->device, 2, good->dtype, shape, NULL, (uint64_t)1 << 58}, "no memory is there"},
        {{ones, good->device, 2, good->dtype, far, NULL, 0}, "no memory is there"},
        {{ones, good->device, 2, good->dtype, shape, back, 0}, "no memory is there"},
        {{ones, good->device, 2, good->dtype, shape, much, 0}, "strides"},
        {{ones, good->device, 100000, good->dtype, shape, NULL, 0}, "100000 dimensions"},
        {{ones, good->device, -1, good->dtype, shape, NULL, 0}, "-1 dimensions"},
        {{ones, good->device, 2, good->dtype, none, NULL, 0}, "shape"},
        {{ones, good->device, 2, good->dtype, NULL, NULL, 0}, "no shape"},
        {{ones, good->device, 2, {HAMMOCK_CODE_FLOAT, 0, 1}, shape, NULL, 0}, "elements"},
    };
    hammock_any function, result, taken;
    hammock_any args[2] = {{.type_index = HAMMOCK_TENSOR_VIEW}, *other};
    CHECK(hammock_vm_function(vm, "main", &function) == 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct {
            hammock_tensor tensor;
            void *context;
            void (*deleter)(void *);
        } loan = {wrong[i].tensor, NULL, NULL};
        args[0].as.pointer = (void *)&wrong[i].tensor;
        CHECK(fails(hammock_vm_call(vm, "main", args, 2, &result), "ValueError", wrong[i].why));
        CHECK(fails(hammock_call(&function, args, 2, &result), "ValueError", wrong[i].why));
        CHECK(fails(hammock_vm_set_inputs(vm, "main", args, 2), "ValueError", wrong[i].why));
        CHECK(fails(hammock_tuple(args, 2, &taken), "ValueError", wrong[i].why));
        CHECK(fails(hammock_any_copy(args, &taken), "ValueError", wrong[i].why));
        CHECK(fails(hammock_any_show(args, &taken), "ValueError", wrong[i].why));
        CHECK(fails(hammock_tensor_borrow(&wrong[i].tensor, NULL, NULL, &taken), "ValueError", wrong[i].why));
        CHECK(fails(hammock_from_dlpack((void *)&loan, &taken), "ValueError", wrong[i].why));
    }
    args[0].as.pointer = NULL;
    CHECK(fails(hammock_vm_call(vm, "main", args, 2, &result), "ValueError", "null"));
    CHECK(fails(hammock_tensor_new(good->dtype, shape, 100000, &taken), "ValueError", "100000 dimensions"));
    hammock_tensor view = {ones, good->device, 2, good->dtype, shape, strides, 0};
    args[0].as.pointer = &view;
    CHECK(hammock_vm_call(vm, "main", args, 2, &result) == 0 && hammock_any_copy(args, &taken) == 0);
    CHECK(elements(&taken)[5] == 1);
    hammock_any_free(&taken);
    hammock_any_free(&result);
    hammock_any_free(&function);
}

/* Thread pool of one thread, which counts its loops. */
static void run_here(void *loops, hammock_part part, void *loop, int64_t extent, int64_t grain) {
    CHECK(extent >= 2 * grain);
    ++*(int *)loops;
    CHECK(part(loop, extent / 2, extent) == 0 && part(loop, 0, extent / 2) == 0);
}

static void run_on_own_pool(hammock_vm *vm, hammock_dtype dtype) {
    static float large[512 * 512];
    const int64_t shape[2] = {512, 512};
    hammock_any input, output;
    hammock_tensor computed;
    int loops = 0;
    large[512 * 512 - 1] = 100;
    hammock_set_threads(2);
    hammock_set_pool(run_here, &loops);
    CHECK(hammock_tensor_copy(dtype, shape, 2, large, sizeof large, &input) == 0);
    CHECK(hammock_vm_call(vm, "large", &input, 1, &output) == 0);
    CHECK(hammock_as_tensor(&output, &computed) == 0 && ((const float *)computed.data)[512 * 512 - 1] == 1);
    CHECK(loops == 1);
    hammock_any_free(&output);
    hammock_set_pool(NULL, NULL);
    CHECK(hammock_vm_call(vm, "large", &input, 1, &output) == 0 && loops == 1);
    hammock_any_free(&output);
    hammock_any_free(&input);
}

int main(int count, char **args) {
    int freed = 0;
    hammock_library *library;
    hammock_vm *vm;
    hammock_any inputs[2];
    hammock_dtype dtype;
    CHECK(count == 2 && hammock_error_kind()[0] == '\0');
    CHECK(hammock_dtype_parse("float32", &dtype) == 0 && dtype.code == HAMMOCK_CODE_FLOAT && dtype.bits == 32);
    CHECK(fails(hammock_dtype_parse("float33x", &dtype), "ValueError", "is not a data type"));
    load(args[1], &library);
    CHECK(hammock_vm_new(library, NULL, &vm) == 0);

    CHECK(hammock_tensor_copy(dtype, SHAPE, 2, counts, sizeof counts, &inputs[0]) == 0);
    CHECK(fails(hammock_tensor_copy(dtype, SHAPE, 2, counts, 4, &inputs[1]), "ValueError", "24"));
    hammock_tensor memory = {ones, {HAMMOCK_DEVICE_CPU, 0}, 2, dtype, (int64_t *)SHAPE, NULL, 0};
    CHECK(hammock_tensor_borrow(&memory, count_up, &freed, &inputs[1]) == 0);
    CHECK(elements(&inputs[1]) == ones);

    tag_data();
    lend_wrongly(vm, &memory, &inputs[1]);
    reflect(inputs);
    use_builtins();
    use_modules(library, vm, inputs);
    run(vm, inputs);
    run_in_steps(vm, inputs);
    stop(vm, inputs);
    keep_a_diary(vm, inputs);
    watch(vm, inputs);
    limits(library, inputs);
    run_on_own_pool(vm, dtype);
    register_functions(library, inputs);
    free_while_running(library, inputs);
    keep_float_state(library);

    hammock_library_free(library);
    hammock_vm_free(vm);
    hammock_any_free(&inputs[0]);
    CHECK(freed == 0);
    hammock_any_free(&inputs[1]);
    CHECK(freed == 1);
    puts("ok");
    return 0;
}
