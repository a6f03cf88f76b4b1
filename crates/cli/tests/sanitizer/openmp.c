/* What OpenMP has to order threads: regions, barriers, loops, sections, single, critical sections, locks, tasks. With
 * RACE, two threads write the same without any of them. */
#include <omp.h>
#include <stdio.h>
enum { N = 64 };
static int numbers[N], sums[8], total, shared, named, locked, ordered, done[4], copied, x;
static omp_lock_t lock;
static int fib(int n) {
  if (n < 2) return n;
  int a, b;
#pragma omp task shared(a)
  a = fib(n - 1);
#pragma omp task shared(b)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}
int main(void) {
  omp_init_lock(&lock);
  for (int round = 0; round < 3; round++) {
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < N; i++) numbers[i] = i;
#pragma omp parallel num_threads(4)
    {
      int me = omp_get_thread_num();
#pragma omp for schedule(dynamic, 4)
      for (int i = 0; i < N; i++) numbers[N - 1 - i] += 1;
      sums[me] = numbers[me];
#pragma omp barrier
      int next = sums[(me + 1) % 4];
#pragma omp critical
      shared += next;
#pragma omp critical(other)
      named++;
      omp_set_lock(&lock);
      locked++;
      omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp single
      total += shared;
      int given;
#pragma omp single copyprivate(given)
      given = total;
#pragma omp critical
      copied += given;
#pragma omp for ordered
      for (int i = 0; i < 8; i++) {
#pragma omp ordered
        ordered += i;
      }
#pragma omp sections
      {
#pragma omp section
        done[0] = 1;
#pragma omp section
        done[1] = 1;
      }
#pragma omp master
      done[2] = done[0] + done[1];
#ifdef RACE
      done[3] = me;
#endif
    }
    int sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(guided) num_threads(4)
    for (int i = 0; i < N; i++) sum += numbers[i];
    total += sum;
#pragma omp parallel num_threads(4)
#pragma omp single
    total += fib(8);
#pragma omp parallel num_threads(4)
#pragma omp single
    {
      x = 0;
#pragma omp task depend(out : x) shared(x)
      x = 1;
#pragma omp task depend(in : x) shared(x)
      done[2] += x;
#pragma omp taskgroup
      {
#pragma omp task
        done[0] = 2;
      }
      done[1] = done[0];
    }
  }
  printf("%d %d %d %d %d\n", named, locked, ordered, done[1], done[2]);
}
