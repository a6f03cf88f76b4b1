#include <stdlib.h>

struct node { int key; struct node *next; };
struct list { struct node *first; };
struct entry { int a; struct { short other, deep; } in; };

struct list global;
struct entry table[4];
int *count;

void use(struct list *list) {
    struct node *n = malloc(sizeof *n), *items;
    int pair[2];
    n->key = 1;
    n->next = NULL;
    list->first = n;
    list->first->next = malloc(sizeof *n);
    list->first->next->key = 2;
    global.first = n;
    table[2].in.deep = 3;
    *count = 4;
    pair[1] = 5;
    items = malloc(3 * sizeof *items);
}
