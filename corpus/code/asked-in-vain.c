// An allocation that does not get the block which another thread frees is nothing that thread could notice.
// fencepost: robustness holds, races holds
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int number;
static long *block;

static void *asks(void *unused) {
    atomic_store(&number, 1);
    return malloc(sizeof *block) ? unused : NULL;
}

static void *frees(void *unused) {
    free(block);
    return atomic_load(&number) ? unused : NULL;
}

int main(void) {
    pthread_t first, second;
    block = malloc(sizeof *block);
    pthread_create(&first, NULL, asks, NULL);
    pthread_create(&second, NULL, frees, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}
