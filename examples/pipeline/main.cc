// A producer and a consumer with a queue between them.
#include "ring.h"
#include "stats.h"
#include <cstdio>
#include <thread>

int main() {
  const long items = 1000;
  ring *queue = ring_new(8);
  std::thread producer([&] {
    for (long item = 1; item <= items; item++)
      while (!ring_push(queue, item)) std::this_thread::yield();
  });
  std::thread consumer([&] {
    long item;
    for (long count = 0; count < items; count++) {
      while (!ring_pop(queue, &item)) std::this_thread::yield();
      stats_add(item);
    }
  });
  producer.join();
  consumer.join();
  ring_free(queue);
  std::printf("%ld\n", stats_sum());
}
