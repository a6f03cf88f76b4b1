// Two words that are exchanged together, for which the compiler calls the library unless it is told of an instruction
// (`-mcx16`). Who sees the second message sees what was written before it, if it is released.
// fencepost: robustness holds, races holds, assertions holds
// fencepost -mcx16: robustness holds, races holds, assertions holds
// fencepost -DORDER=memory_order_relaxed: races violated
// fencepost -mcx16 -DORDER=memory_order_relaxed: races violated
// fencepost -DEXPECTED=2: assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef ORDER
#define ORDER memory_order_release
#endif
#ifndef EXPECTED
#define EXPECTED 3
#endif

struct message {
    unsigned long number;
    int *text;
};

static int text[3];
static _Atomic struct message last;

static void *sender(void *unused)
{
    text[1] = 1;
    struct message sent = {1, &text[1]};
    atomic_store_explicit(&last, sent, ORDER);
    struct message expected = {1, &text[1]}, next = {2, &text[2]};
    text[2] = 2;
    if (!atomic_compare_exchange_strong_explicit(&last, &expected, next, ORDER, memory_order_relaxed))
        assert(expected.number == 3 && !expected.text);
    return NULL;
}

static void *receiver(void *unused)
{
    struct message seen = atomic_load_explicit(&last, memory_order_acquire);
    if (seen.text) {
        assert(*seen.text == seen.number);
        struct message none = {EXPECTED, NULL};
        struct message old = atomic_exchange_explicit(&last, none, memory_order_acq_rel);
        assert(old.number >= seen.number && *old.text == old.number);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, sender, NULL);
    pthread_create(&threads[1], NULL, receiver, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}
