// A bounded queue for many producers and many consumers: every slot has a sequence number that says whose turn it is
// (Vyukov).
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef BROKEN
#define HAND_OVER memory_order_relaxed
#else
#define HAND_OVER memory_order_release
#endif

#define SLOTS 2

struct slot {
    atomic_size_t turn;
    int value;
};

struct ring {
    struct slot slots[SLOTS];
    atomic_size_t put, taken;
};

static struct ring ring;

static void ring_init(struct ring *ring) {
    for (size_t k = 0; k < SLOTS; k++)
        atomic_init(&ring->slots[k].turn, k);
}

static bool ring_put(struct ring *ring, int value) {
    size_t at = atomic_load_explicit(&ring->put, memory_order_relaxed);
    for (;;) {
        struct slot *slot = &ring->slots[at % SLOTS];
        size_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
        if (turn == at) {
            if (atomic_compare_exchange_weak_explicit(&ring->put, &at, at + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) {
                slot->value = value;
                atomic_store_explicit(&slot->turn, at + 1, HAND_OVER);
                return true;
            }
        } else if (turn < at) {
            return false;
        } else {
            at = atomic_load_explicit(&ring->put, memory_order_relaxed);
        }
    }
}

static bool ring_take(struct ring *ring, int *value) {
    size_t at = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    for (;;) {
        struct slot *slot = &ring->slots[at % SLOTS];
        size_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
        if (turn == at + 1) {
            if (atomic_compare_exchange_weak_explicit(&ring->taken, &at, at + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) {
                *value = slot->value;
                atomic_store_explicit(&slot->turn, at + SLOTS, HAND_OVER);
                return true;
            }
        } else if (turn < at + 1) {
            return false;
        } else {
            at = atomic_load_explicit(&ring->taken, memory_order_relaxed);
        }
    }
}

static void *producer(void *arg) {
    int value = (int)(size_t)arg;
    while (!ring_put(&ring, value))
        ;
    return NULL;
}

static void *consumer(void *unused) {
    int value;
    while (!ring_take(&ring, &value))
        ;
    assert(value == 1 || value == 2);
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    ring_init(&ring);
    pthread_create(&threads[0], NULL, producer, (void *)1);
    pthread_create(&threads[1], NULL, producer, (void *)2);
    pthread_create(&threads[2], NULL, consumer, NULL);
    pthread_create(&threads[3], NULL, consumer, NULL);
    for (int k = 0; k < 4; k++)
        pthread_join(threads[k], NULL);
}
