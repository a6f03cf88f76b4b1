/* Counters that any thread may add to: a shared library. */
#ifndef STATS_H
#define STATS_H
#ifdef __cplusplus
extern "C" {
#endif
void stats_add(long amount);
long stats_sum(void);
#ifdef __cplusplus
}
#endif
#endif
