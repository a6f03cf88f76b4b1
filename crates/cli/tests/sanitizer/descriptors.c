/* Data that is announced through a pipe, an event counter and a pair of sockets. With RACE, one of them is read
 * before it was announced. */
#include "run.h"
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
static int pipes[2], pair[2], counter, data[4];
static void check(int failed) {
  if (failed) abort();
}
static void *writer(void *p) {
  char byte = 1;
  data[0] = 1;
  data[1] = 1;
  check(eventfd_write(counter, 1));
  data[2] = 1;
  check(send(pair[1], &byte, 1, 0) != 1);
  check(read(pair[1], &byte, 1) != 1);
  data[2]++;
  struct iovec vector = {&byte, 1};
  data[3] = 1;
  check(writev(pipes[1], &vector, 1) != 1);
  return p;
}
static void *reader(void *p) {
  char byte;
  eventfd_t count;
#ifdef RACE
  data[0]++;
#endif
  check(eventfd_read(counter, &count));
  data[1]++;
  check(recv(pair[0], &byte, 1, 0) != 1);
  data[2]++;
  check(write(pair[0], &byte, 1) != 1);
  check(read(pipes[0], &byte, 1) != 1);
  data[3]++;
  data[0]++;
  return p;
}
int main(void) {
  check(pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  check((counter = eventfd(0, 0)) < 0);
  run2(writer, reader);
  printf("%d %d %d %d\n", data[0], data[1], data[2], data[3]);
}
