/* Template of toy.sh for kernels. The arguments are float tensors; the tensor of an object follows its header. */
#include "hammock.h"

#define HEADER 24

static const hammock_tensor *tensor_of(const hammock_any *value) {
    const char *object = value->as.pointer;
    return value->type_index == HAMMOCK_TENSOR_VIEW ? value->as.tensor : (const hammock_tensor *)(object + HEADER);
}

static float *elements(const hammock_tensor *tensor) { return (float *)((char *)tensor->data + tensor->byte_offset); }

static int scaled_add(const hammock_any *args, int32_t count) {
    if (count != 3) return -1;
    const hammock_tensor *out = tensor_of(&args[2]);
    const float *x = elements(tensor_of(&args[0])), *y = elements(tensor_of(&args[1]));
    float *sum = elements(out);
    int64_t size = 1;
    for (int32_t axis = 0; axis < out->ndim; ++axis) size *= out->shape[axis];
    for (int64_t i = 0; i < size; ++i) sum[i] = (float)FACTOR * x[i] + y[i];
    return 0;
}

#define SCALED_ADD(name)                                                                                        \
    int32_t __tvm_ffi_##name(void *self, const hammock_any *args, int32_t count, hammock_any *result) {        \
        (void)self, (void)result;                                                                              \
        return scaled_add(args, count);                                                                        \
    }
