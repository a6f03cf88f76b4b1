// A pointer to a variable that an earlier call left behind, used by another thread during a later call of the same
// function from the same place.
// fencepost: races holds, assertions holds
// fencepost -DBROKEN: assertions violated
#include <pthread.h>
#include <stdatomic.h>

static _Atomic(atomic_int *) kept;
static atomic_int turn;

static void call(int round) {
    atomic_int x = round;
#ifdef BROKEN
    if (round == 0)
        kept = &x;
#else
    if (round == 1)
        kept = &x;
#endif
    if (round == 1) {
        turn = 1;
        while (turn != 2)
            ;
    }
}

static void *use(void *unused) {
    while (turn != 1)
        ;
    *kept = 7;
    turn = 2;
    return unused;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, use, 0);
    for (int round = 0; round < 2; round++)
        call(round);
    pthread_join(t, 0);
    return 0;
}
