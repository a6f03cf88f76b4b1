// A producer and a consumer with a mailbox between them.
#include "mailbox.h"
#include "stats.h"
#include <cstdio>
#include <thread>

int main() {
  const long items = 200;
  mailbox *box = mailbox_new();
  std::thread producer([&] {
    for (long item = 1; item <= items; item++)
      while (!mailbox_put(box, item)) std::this_thread::yield();
  });
  std::thread consumer([&] {
    long item;
    for (long count = 0; count < items; count++) {
      while (!mailbox_take(box, &item)) std::this_thread::yield();
      stats_add(item);
    }
  });
  producer.join();
  consumer.join();
  mailbox_free(box);
  std::printf("%ld\n", stats_sum());
}
