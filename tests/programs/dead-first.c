/* Proves: a block's first words are spoilt when it is freed, natively too, as they are by libc: who still uses it finds no pointer there; and the same in replay. */
// RUN: %rr %s %t
#include "common.h"
#include <pthread.h>

struct node {
    struct node *volatile next;
    volatile long key, value;
};
static struct node *volatile current;

static void *look(void *x) {
    for (int i = 0; i < 3000; i++) {
        struct node *n = current; /* perhaps freed meanwhile */
        if (n->next != n) *(volatile long *)x += n->value & 1;
    }
    return x;
}

static struct node *made(long i) {
    struct node *n = malloc(sizeof *n);
    n->next = n;
    n->key = n->value = i;
    return n;
}

int main(void) {
    pthread_t t;
    volatile long odd = 0;
    struct node *n = made(1);
    current = n;
    free(n);
    if (n->next == n || n->key == 1 || n->value != 1) return 1;
    current = made(0);
    pthread_create(&t, NULL, look, (void *)&odd);
    for (int i = 0; i < 3000; i++) {
        n = current;
        current = made(i);
        free(n);
    }
    pthread_join(t, NULL);
    printf("%ld\n", odd);
    return 0;
}
