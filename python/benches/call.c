/* Times calls of a model through the C API: `call MODEL INPUTS THREADS SECONDS SIZES…`. All inputs are float32 of one shape.
 * Prints the fastest nanoseconds per call on one thread, and the calls per second of all threads together. */
#include "hammock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_INPUTS = 8, MAX_RANK = 8, MAX_THREADS = 64, MAX_BATCH = 200 };

/* Duration of a batch of calls, in seconds. */
static const double BATCH = 1e-3;

static hammock_vm *vm;
static int inputs, rank;
static int64_t shape[MAX_RANK];
static double seconds;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void check(int status) {
    if (status == 0) return;
    fprintf(stderr, "%s\n", hammock_error_text());
    exit(1);
}

static void no_deleter(void *context) { (void)context; }

/* A call as a binding makes it: wraps memory of its own, calls, reads the result, releases everything. */
static void call(float *const *data) {
    hammock_any args[MAX_INPUTS], result = hammock_none();
    hammock_tensor output;
    for (int i = 0; i < inputs; i++) {
        hammock_tensor memory = {0};
        memory.data = data[i];
        memory.device.kind = 1;
        memory.ndim = rank;
        memory.dtype = hammock_float32();
        memory.shape = shape;
        check(hammock_tensor_borrow(&memory, no_deleter, NULL, &args[i]));
    }
    check(hammock_vm_call(vm, "main", args, inputs, &result));
    check(hammock_as_tensor(&result, &output));
    hammock_any_free(&result);
    for (int i = 0; i < inputs; i++) hammock_any_free(&args[i]);
}

static float *const *arguments(void) {
    static _Thread_local float *data[MAX_INPUTS];
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= shape[i];
    for (int i = 0; i < inputs; i++) data[i] = calloc(count, sizeof(float));
    return data;
}

static void *worker(void *calls) {
    float *const *data = arguments();
    double end = now() + seconds;
    while (now() < end) {
        call(data);
        ++*(long *)calls;
    }
    return NULL;
}

int main(int count, char **words) {
    hammock_library *library;
    pthread_t threads[MAX_THREADS];
    static long calls[MAX_THREADS][8];
    long total = 0;
    if (count < 6) return fprintf(stderr, "usage: call MODEL INPUTS THREADS SECONDS SIZES...\n"), 2;
    inputs = atoi(words[2]), seconds = atof(words[4]), rank = count - 5;
    for (int i = 0; i < rank; i++) shape[i] = atol(words[5 + i]);
    check(hammock_library_open(words[1], &library));
    check(hammock_vm_new(library, NULL, &vm));
    hammock_set_threads(1);

    float *const *data = arguments();
    call(data);
    double begin = now();
    call(data);
    double calls_per_batch = BATCH / (now() - begin), fastest = 1e9, end = now() + seconds;
    int batch = calls_per_batch < 1 ? 1 : calls_per_batch < MAX_BATCH ? (int)calls_per_batch : MAX_BATCH;
    while (now() < end) {
        begin = now();
        for (int i = 0; i < batch; i++) call(data);
        double time = (now() - begin) / batch;
        if (time < fastest) fastest = time;
    }
    int number = atoi(words[3]);
    begin = now();
    for (int i = 0; i < number; i++) pthread_create(&threads[i], NULL, worker, calls[i]);
    for (int i = 0; i < number; i++) pthread_join(threads[i], NULL), total += calls[i][0];
    printf("%.1f %.0f\n", fastest * 1e9, number ? total / (now() - begin) : 0);
    return 0;
}
