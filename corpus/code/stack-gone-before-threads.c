// A variable of a function that returned before there was any other thread.
// fencepost: assertions violated
#include <pthread.h>

static int *kept;

static void keep(void) {
    int x = 1;
    kept = &x;
}

static void *use(void *unused) {
    *kept = 5;
    return unused;
}

int main(void) {
    pthread_t t;
    keep();
    pthread_create(&t, 0, use, 0);
    pthread_join(t, 0);
    return 0;
}
