/* What a program can tell the Fencepost sanitizer. Everything here is a plain C11 or C++11 loop, or
 * nothing at all, when the program is not built with `fencepost cc`.
 *
 *   fencepost_wait(&x, v, order)          blocks until x is v: `while (load(&x) != v) ;`
 *   fencepost_bcas(&x, v, w, order)       blocks until x was v and is now w
 *   fencepost_fence(order)                a fence that is written in assembly right here, which is not seen
 *   fencepost_begin(), fencepost_end()    a transaction: what is in between should look atomic, which
 *                                         `fencepost run --serial` judges
 *   fencepost_begin_named("deposit")      the same with a name for reports
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
void __fencepost_wait1(void *, unsigned char, int);
void __fencepost_wait2(void *, unsigned short, int);
void __fencepost_wait4(void *, unsigned int, int);
void __fencepost_wait8(void *, unsigned long long, int);
void __fencepost_bcas1(void *, unsigned char, unsigned char, int);
void __fencepost_bcas2(void *, unsigned short, unsigned short, int);
void __fencepost_bcas4(void *, unsigned int, unsigned int, int);
void __fencepost_bcas8(void *, unsigned long long, unsigned long long, int);
void __fencepost_ignore(int);
void __tsan_atomic_thread_fence(int);
#define fencepost_fence(order) __tsan_atomic_thread_fence((int)(order))
void __fencepost_transaction(int);
void __fencepost_transaction_named(const char *);
#define fencepost_begin() __fencepost_transaction(1)
#define fencepost_begin_named(name) __fencepost_transaction_named(name)
#define fencepost_end() __fencepost_transaction(0)
#define fencepost_ignore_begin() __fencepost_ignore(1)
#define fencepost_ignore_end() __fencepost_ignore(-1)
#define __fencepost_wait(size, at, value, order)                                                     \
  ((size) == 1   ? __fencepost_wait1((void *)(at), (unsigned char)(value), order)                    \
   : (size) == 2 ? __fencepost_wait2((void *)(at), (unsigned short)(value), order)                   \
   : (size) == 4 ? __fencepost_wait4((void *)(at), (unsigned int)(value), order)                     \
                 : __fencepost_wait8((void *)(at), (unsigned long long)(value), order))
#define __fencepost_bcas(size, at, value, desired, order)                                            \
  ((size) == 1   ? __fencepost_bcas1((void *)(at), (unsigned char)(value), (unsigned char)(desired), order) \
   : (size) == 2 ? __fencepost_bcas2((void *)(at), (unsigned short)(value), (unsigned short)(desired), order) \
   : (size) == 4 ? __fencepost_bcas4((void *)(at), (unsigned int)(value), (unsigned int)(desired), order) \
                 : __fencepost_bcas8((void *)(at), (unsigned long long)(value), (unsigned long long)(desired), order))
#else
#define fencepost_fence(order) ((void)0)
#define fencepost_begin() ((void)0)
#define fencepost_begin_named(name) ((void)0)
#define fencepost_end() ((void)0)
#define fencepost_ignore_begin() ((void)0)
#define fencepost_ignore_end() ((void)0)
#endif

#ifdef __cplusplus
}

#include <atomic>

/* For numbers; what is written out for other types is watched as any loop is. */
template <class T, class V>
inline void fencepost_wait(std::atomic<T> *at, V value, std::memory_order order) {
  T expected = static_cast<T>(value);
#if defined(__FENCEPOST__)
  __fencepost_wait(sizeof(T), at, expected, static_cast<int>(order));
#else
  while (at->load(order) != expected) {
  }
#endif
}

template <class T, class V, class W>
inline void fencepost_bcas(std::atomic<T> *at, V value, W desired, std::memory_order order) {
  T expected = static_cast<T>(value);
#if defined(__FENCEPOST__)
  __fencepost_bcas(sizeof(T), at, expected, static_cast<T>(desired), static_cast<int>(order));
#else
  while (!at->compare_exchange_strong(expected, static_cast<T>(desired), order,
                                      std::memory_order_relaxed)) {
    expected = static_cast<T>(value);
  }
#endif
}
#elif defined(__FENCEPOST__)
#define fencepost_wait(at, value, order) __fencepost_wait(sizeof(*(at)), at, value, order)
#define fencepost_bcas(at, value, desired, order)                                                    \
  __fencepost_bcas(sizeof(*(at)), at, value, desired, order)
#else
#include <stdatomic.h>

#define fencepost_wait(at, value, order)                                                             \
  do {                                                                                               \
  } while (atomic_load_explicit(at, order) != (value))

#define fencepost_bcas(at, value, desired, order)                                                    \
  do {                                                                                               \
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
