#include "mailbox.h"
#include <stdatomic.h>
#include <stdlib.h>

/* The item must be there before the flag says so. */
#ifdef FIXED
#define ANNOUNCE memory_order_release
#else
#define ANNOUNCE memory_order_relaxed
#endif

struct mailbox {
  atomic_int full;
  long item;
};

struct mailbox *mailbox_new(void) {
  struct mailbox *mailbox = calloc(1, sizeof *mailbox);
  if (!mailbox) abort();
  return mailbox;
}

void mailbox_free(struct mailbox *mailbox) { free(mailbox); }

int mailbox_put(struct mailbox *mailbox, long item) {
  if (atomic_load_explicit(&mailbox->full, memory_order_acquire)) return 0;
  mailbox->item = item;
  atomic_store_explicit(&mailbox->full, 1, ANNOUNCE);
  return 1;
}

int mailbox_take(struct mailbox *mailbox, long *item) {
  if (!atomic_load_explicit(&mailbox->full, memory_order_acquire)) return 0;
  *item = mailbox->item;
  atomic_store_explicit(&mailbox->full, 0, memory_order_release);
  return 1;
}
