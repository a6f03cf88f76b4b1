// Two threads pay into an account. Each access is locked, and still a deposit can get lost: what is read under one lock is
// written back under the next. So the deposit, which should look atomic, is not serializable. -DFIXED keeps the lock.
#include <fencepost.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long balance;

static void deposit(void) {
    fencepost_begin_named("deposit");
    pthread_mutex_lock(&lock);
    long old = balance;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);  // somebody else may have been here
#endif
    balance = old + 1;
    pthread_mutex_unlock(&lock);
    fencepost_end();
}

static void *customer(void *unused) {
    for (int i = 0; i < 3; i++) deposit();
    return NULL;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, customer, NULL);
    pthread_create(&other, NULL, customer, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    printf("%ld\n", balance);
}
