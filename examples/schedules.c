/* Counts the blocks of every schedule: schedules STAGES MICRO_BATCHES. */
#include <evenkeel/evenkeel.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int n_stages = argc > 1 ? atoi(argv[1]) : 4, n_micro_batches = argc > 2 ? atoi(argv[2]) : 8;
    printf("evenkeel %s, headers %s\n", ek_version(), EK_VERSION);
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        ek_shape shape = {n_stages, 1, n_micro_batches, 1};
        ek_error err;
        ek_order *order = NULL;
        if (ek_order_new(*s, &shape, &order, &err) == EK_OK)
            printf("%s: %zu blocks\n", (*s)->name, ek_order_n_blocks(order));
        ek_order_free(order);
    }
    return 0;
}
