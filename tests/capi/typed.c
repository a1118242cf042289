/* Calls the functions of a header that `compile --emit c-header` wrote; prints "ok" at the end. */
#include "typed.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                    \
    do {                                                                                                    \
        if (!(condition)) {                                                                                 \
            fprintf(stderr, "line %d: %s\n  last error: %s\n", __LINE__, #condition, hammock_error_text()); \
            exit(1);                                                                                        \
        }                                                                                                   \
    } while (0)

int main(void) {
    const float x[6] = {1, 2, 3, 4, 5, 6};
    const int64_t numbers[4] = {1, 2, 3, 4};
    typed_main_results results;
    typed_nothing_results same;
    const hammock_any text = hammock_text("a text");
    const int64_t *sizes;
    size_t rank;
    hammock_vm *vm;

    CHECK(TYPED_MAIN_X_RANK == 2 && TYPED_MAIN_X_SIZE_1 == 2 && TYPED_MAIN_INPUTS == 3 && TYPED_MAIN_RESULTS == 4);
    CHECK(typed_open(NULL, &vm) == 0);
    CHECK(typed_main(vm, 3, x, numbers, 0.5, &results) == 0);
    CHECK(results.twice_shape[0] == 3 && results.twice_shape[1] == 2 && results.twice[5] == 12);
    CHECK(results.total[0] == 10 && results.k == 0.5);
    CHECK(hammock_as_shape(&results.shape, &sizes, &rank) == 0 && rank == 2 && sizes[0] == 3);
    typed_main_free(&results);
    CHECK(results.twice == NULL);
    typed_main_free(&results);

    /* Without elements, or with a negative size, the call fails, and there is nothing to free. */
    CHECK(typed_main(vm, 3, NULL, numbers, 0.5, &results) == -1 && results.twice == NULL);
    CHECK(typed_main(vm, -1, x, numbers, 0.5, &results) == -1);
    CHECK(typed_main(vm, 0, x, numbers, 0.5, &results) == 0 && results.twice_shape[0] == 0 && results.total[0] == 1);
    typed_main_free(&results);
    CHECK(typed_nothing(vm, &text, &same) == 0);
    typed_nothing_free(&same);
    CHECK(typed_nothing(vm, NULL, &same) == -1);
    hammock_vm_free(vm);
    puts("ok");
    return 0;
}
