/* A queue for one producer and one consumer: a static library. */
#ifndef RING_H
#define RING_H
#ifdef __cplusplus
extern "C" {
#endif
struct ring;
struct ring *ring_new(unsigned size);
void ring_free(struct ring *ring);
/* Returns 0 if there is no room. */
int ring_push(struct ring *ring, long item);
/* Returns 0 if there is nothing. */
int ring_pop(struct ring *ring, long *item);
#ifdef __cplusplus
}
#endif
#endif
