// Neither `free` nor an initialisation that was done before empties a store buffer.
// fencepost --model tso -- -DFREE: robustness violated
// fencepost --model tso -- -DONCE: robustness violated
// fencepost --model pso -- -DFREE: robustness violated
// fencepost --model tso -- -DFENCE: robustness holds, assertions holds
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef FREE
#define BETWEEN(block) free(block)
#elif defined ONCE
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void nothing(void) {}
#define BETWEEN(block) pthread_once(&once, nothing)
#else
#define BETWEEN(block) atomic_thread_fence(memory_order_seq_cst)
#endif

static atomic_int x, y;
static int *first_block, *second_block, seen_y, seen_x;

static void *first(void *unused) {
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    BETWEEN(first_block);
    seen_y = atomic_load_explicit(&y, memory_order_relaxed);
    return unused;
}

static void *second(void *unused) {
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    BETWEEN(second_block);
    seen_x = atomic_load_explicit(&x, memory_order_relaxed);
    return unused;
}

static void *third(void *unused) {
    // Somebody asks for blocks of this size, so it matters which are free.
    return malloc(sizeof(int)) ? unused : NULL;
}

int main(void) {
    pthread_t threads[3];
    first_block = malloc(sizeof(int));
    second_block = malloc(sizeof(int));
#ifdef ONCE
    pthread_once(&once, nothing);
#endif
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_create(&threads[2], NULL, third, NULL);
    for (int k = 0; k < 3; k++) pthread_join(threads[k], NULL);
    assert(seen_x || seen_y);
}
