// A variable of a function that runs before `main`, used by a thread that it starts.
// fencepost: assertions holds
// fencepost -DBROKEN: races violated
#include <pthread.h>

static pthread_t t;

static void *use(void *p) {
    *(int *)p = 2;
    return 0;
}

__attribute__((constructor)) static void begin(void) {
#ifdef BROKEN
    int x;
#else
    static int x;
#endif
    x = 1;
    pthread_create(&t, 0, use, &x);
}

int main(void) {
    pthread_join(t, 0);
    return 0;
}
