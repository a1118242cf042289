/* The digits as one program in C: the compiled model is in it.
 *
 *     hammock compile model.py --params weights.safetensors -o digits.so
 *     hammock compile model.py --params weights.safetensors -o digits.h --emit c-header
 *     cc -DDIGITS_FILE='"digits.so"' -I../../runtime/include digits.c libhammock.a -lm -o digits
 */
#include "digits.h"

#include <stdio.h>

static int fail(void) {
    fprintf(stderr, "%s\n", hammock_error_text());
    return 1;
}

int main(void) {
    enum { IMAGES = 2, PIXELS = DIGITS_CLASSIFY_IMAGES_SIZE_1 };
    static float images[IMAGES * PIXELS];
    digits_classify_results guesses;
    hammock_vm *vm;

    /* The second image is a vertical bar: a one. */
    for (int row = 0; row < 8; row++) images[PIXELS + row * 8 + 3] = images[PIXELS + row * 8 + 4] = 16;
    if (digits_open(NULL, &vm)) return fail();
    if (digits_classify(vm, IMAGES, images, &guesses)) return fail();
    printf("%d images, the second is a %d\n", (int)guesses.guesses_shape[0], (int)guesses.guesses[1]);
    digits_classify_free(&guesses);
    hammock_vm_free(vm);
    return 0;
}
