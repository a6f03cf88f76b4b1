// A seqlock: readers never wait for the writer, and try again if it came in between. Readers may see old data, which
// no interleaving of later writes explains; the program is not robust, but what it reads belongs together.
//
// fencepost: robustness violated, assertions holds
// fencepost -DBROKEN: robustness violated, assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_uint sequence;
static atomic_int left, right;

static void *writer(void *unused) {
    unsigned s = atomic_load_explicit(&sequence, memory_order_relaxed);
    atomic_store_explicit(&sequence, s + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&left, 1, memory_order_relaxed);
    atomic_store_explicit(&right, 1, memory_order_relaxed);
#ifdef BROKEN
    atomic_store_explicit(&sequence, s + 2, memory_order_relaxed);
#else
    atomic_store_explicit(&sequence, s + 2, memory_order_release);
#endif
    return NULL;
}

static void *reader(void *unused) {
    unsigned before, after;
    int l, r;
    do {
        before = atomic_load_explicit(&sequence, memory_order_acquire);
        l = atomic_load_explicit(&left, memory_order_relaxed);
        r = atomic_load_explicit(&right, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&sequence, memory_order_relaxed);
    } while (before != after || before % 2);
    assert(l == r);
    return NULL;
}

int main(void) {
    pthread_t w, r;
    pthread_create(&w, NULL, writer, NULL);
    pthread_create(&r, NULL, reader, NULL);
    pthread_join(w, NULL);
    pthread_join(r, NULL);
}
