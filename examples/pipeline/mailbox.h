/* Room for one item between one producer and one consumer: a static library. */
#ifndef MAILBOX_H
#define MAILBOX_H
#ifdef __cplusplus
extern "C" {
#endif
struct mailbox;
struct mailbox *mailbox_new(void);
void mailbox_free(struct mailbox *mailbox);
/* Returns 0 if the last item is still there. */
int mailbox_put(struct mailbox *mailbox, long item);
/* Returns 0 if there is nothing. */
int mailbox_take(struct mailbox *mailbox, long *item);
#ifdef __cplusplus
}
#endif
#endif
