// The address of a freed node comes back as that of another node, which another line of the program asked for, although blocks
// of the same size hold objects of two other types elsewhere.
// fencepost: assertions violated
// fencepost -DKEPT: races holds, assertions holds
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node { long number, unused; };
struct counter { atomic_int low, high; atomic_long rest; };
struct pair { atomic_long first, second; };

static _Atomic(struct node *) place;
static atomic_int replaced;

static struct node *new_node(long number) {
    struct node *node = malloc(sizeof *node);
    node->number = number;
    return node;
}

static void *taker(void *unused) {
    struct node *seen = atomic_load(&place);
    int before = atomic_load(&replaced);
    if (seen && before == 0 && atomic_compare_exchange_strong(&place, &seen, NULL))
        // What was taken is what was seen, so nobody can have put another in its place.
        assert(atomic_load(&replaced) == 0);
    return NULL;
}

static void *replacer(void *unused) {
    struct node *old = atomic_exchange(&place, NULL);
    if (old) {
#ifndef KEPT
        free(old);
#endif
        struct node *node = malloc(sizeof *node);
        node->number = 2;
        atomic_store(&replaced, 1);
        atomic_store(&place, node);
    }
    return NULL;
}

static void *user_of_other_types(void *unused) {
    struct counter *counter = malloc(sizeof *counter);
    atomic_store(&counter->low, 1);
    atomic_store(&counter->rest, (long)counter);
    free(counter);
    struct pair *pair = malloc(sizeof *pair);
    atomic_store(&pair->first, 1);
    atomic_store(&pair->second, (long)pair);
    free(pair);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, user_of_other_types, NULL);
    pthread_join(first, NULL);
    atomic_store(&place, new_node(1));
    pthread_create(&first, NULL, taker, NULL);
    pthread_create(&second, NULL, replacer, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}
