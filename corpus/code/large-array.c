// A table of 16,384 words is filled before there are threads, which takes as many rounds of a loop as a thread may seem to run
// in circles; and one thread runs in circles with the table behind it.
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DENDLESS: robustness holds, races holds, assertions holds
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static int table[16384];
static atomic_int flag;

static void *reader(void *unused)
{
    if (atomic_load_explicit(&flag, memory_order_acquire))
        assert(table[5] == 6);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 16384; i++)
        table[i] = i;
    pthread_create(&thread, NULL, reader, NULL);
    table[5]++;
    atomic_store_explicit(&flag, 1, memory_order_release);
#ifdef ENDLESS
    int own[512];
    for (int i = 0; i < 512; i++)
        own[i] = i;
    for (unsigned i = 0;; i = (i + 1) % 7)
        own[i] ^= 1;
#endif
    pthread_join(thread, NULL);
}
