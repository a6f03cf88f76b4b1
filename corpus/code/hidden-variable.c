// A variable whose address was given away in disguise is gone when its function has returned, also while a later call of the
// function has such a variable again.
// fencepost -DBROKEN: assertions violated
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static atomic_uintptr_t head;
static atomic_int turn;

static void *writes(void *unused) {
    while (turn != 1) {}
#ifdef BROKEN
    *(int *)~head = 7;
#endif
    turn = 2;
    return 0;
}

static void call(int round) {
    int variable = 0;
    if (round == 0) {
        head = ~(uintptr_t)&variable;
    } else {
        turn = 1;
        while (turn != 2) {}
    }
}

static void *calls(void *unused) {
    call(0);
    call(1);
    return 0;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, writes, 0);
    pthread_create(&other, 0, calls, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
}
