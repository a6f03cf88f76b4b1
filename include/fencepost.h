/* What a program can tell the Fencepost sanitizer. Everything here is a plain C11 or C++11 loop, or
 * nothing at all, when the program is not built with `fencepost cc`.
 *
 *   fencepost_wait(&x, v, order)          blocks until x is v: `while (load(&x) != v) ;`
 *   fencepost_bcas(&x, v, w, order)       blocks until x was v and is now w
 *   fencepost_begin(), fencepost_end()    a transaction, for `fencepost serial`
 *   fencepost_ignore_begin(), _end()      report nothing that this thread does in between
 *
 * A loop written out is recognised as well. A wait says more: what matters is only whether x can be
 * seen to be v too early.
 */
#ifndef FENCEPOST_H
#define FENCEPOST_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__FENCEPOST__)
void __fencepost_arrive1(void *, unsigned char, int, int, void *);
void __fencepost_arrive2(void *, unsigned short, int, int, void *);
void __fencepost_arrive4(void *, unsigned int, int, int, void *);
void __fencepost_arrive8(void *, unsigned long long, int, int, void *);
void __fencepost_ignore(int);

__attribute__((noinline, unused)) static void *__fencepost_here(void) {
  return __builtin_return_address(0);
}
#define __fencepost_arrive(size, at, value, order, cas)                                              \
  ((size) == 1   ? __fencepost_arrive1((void *)(at), (unsigned char)(value), order, cas, __fencepost_here()) \
   : (size) == 2 ? __fencepost_arrive2((void *)(at), (unsigned short)(value), order, cas, __fencepost_here()) \
   : (size) == 4 ? __fencepost_arrive4((void *)(at), (unsigned int)(value), order, cas, __fencepost_here()) \
                 : __fencepost_arrive8((void *)(at), (unsigned long long)(value), order, cas, __fencepost_here()))
#define fencepost_ignore_begin() __fencepost_ignore(1)
#define fencepost_ignore_end() __fencepost_ignore(-1)
#else
#define __fencepost_arrive(size, at, value, order, cas) ((void)0)
#define fencepost_ignore_begin() ((void)0)
#define fencepost_ignore_end() ((void)0)
#endif

#define fencepost_begin() ((void)0)
#define fencepost_end() ((void)0)

#ifdef __cplusplus
}

#include <atomic>

template <class T, class V>
inline void fencepost_wait(std::atomic<T> *at, V value, std::memory_order order) {
  T expected = static_cast<T>(value);
  __fencepost_arrive(sizeof(T), at, expected, static_cast<int>(order), 0);
  while (at->load(order) != expected) {
  }
}

template <class T, class V, class W>
inline void fencepost_bcas(std::atomic<T> *at, V value, W desired, std::memory_order order) {
  T expected = static_cast<T>(value);
  __fencepost_arrive(sizeof(T), at, expected, static_cast<int>(order), 1);
  while (!at->compare_exchange_strong(expected, static_cast<T>(desired), order,
                                      std::memory_order_relaxed)) {
    expected = static_cast<T>(value);
  }
}
#else
#include <stdatomic.h>

#define fencepost_wait(at, value, order)                                                             \
  do {                                                                                               \
    __fencepost_arrive(sizeof(*(at)), at, value, order, 0);                                          \
    while (atomic_load_explicit(at, order) != (value)) {                                             \
    }                                                                                                \
  } while (0)

#define fencepost_bcas(at, value, desired, order)                                                    \
  do {                                                                                               \
    __fencepost_arrive(sizeof(*(at)), at, value, order, 1);                                          \
    for (;;) {                                                                                       \
      __typeof__((void)0, *(at)) fencepost_expected = (value);                                       \
      if (atomic_compare_exchange_strong_explicit(at, &fencepost_expected, desired, order,           \
                                                  memory_order_relaxed)) {                           \
        break;                                                                                       \
      }                                                                                              \
    }                                                                                                \
  } while (0)
#endif

#endif
