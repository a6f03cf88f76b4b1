/* A library that is loaded at run time; its accesses are watched, too. */
#include <stdatomic.h>
int shared_data;
atomic_int shared_flag;
void touch(void) { shared_data++; }
int flagged(void) { return atomic_load_explicit(&shared_flag, memory_order_acquire); }
