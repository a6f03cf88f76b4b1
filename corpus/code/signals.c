// Programs say what to do about signals, which never come here.
// fencepost: races holds, assertions holds
// fencepost -DRACE: races violated
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

static int count;

static void hold(int signal) { (void)signal; }

static void *worker(void *unused) {
    prctl(PR_SET_NAME, "worker");
    struct sigaction action;
    sigemptyset(&action.sa_mask);
    action.sa_flags = 0;
    action.sa_handler = hold;
    assert(sigaction(SIGUSR1, &action, NULL) == 0);
    count++;
    return NULL;
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
#ifndef RACE
    pthread_join(thread, NULL);
    assert(count == 1);
#else
    count++;
    pthread_join(thread, NULL);
#endif
}
