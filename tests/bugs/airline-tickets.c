/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Agents sell the seats of a flight. Whether a seat is left is looked up first and the seat is booked later, when the
 * ticket is printed: in between, another agent may sell the same one. */
// KIND: LEAP AirlineTickets: not-atomic interleaving
// FAILS: more tickets are sold than the flight has seats
// SHOWS: exit 1
// LEAST: 3 threads, all iterations, 1 preemption
// NATIVE: 124 in 1000
// ARGS: AGENTS=4 SEATS=40
// LARGE: 34 340
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct flight {
    char number[8];
    int seats;
    volatile int sold;
};

struct agent {
    pthread_t thread;
    int id, tickets;
    unsigned long checksum;
};

static struct flight flight = {.number = "WF 417"};
static pthread_barrier_t opening;

static void print_ticket(struct agent *a, int seat) {
    char ticket[64];
    int n = snprintf(ticket, sizeof ticket, "%s %d%c, agent %d", flight.number, seat / 6 + 1, 'A' + seat % 6, a->id);
    for (int i = 0; i < n; i++) a->checksum = a->checksum * 31 + (unsigned char)ticket[i];
}

static void *sell(void *arg) {
    struct agent *a = arg;
    pthread_barrier_wait(&opening);
    while (flight.sold < flight.seats) {
        print_ticket(a, flight.sold);
        flight.sold++;
        a->tickets++;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int agents = argc > 1 ? atoi(argv[1]) : 4;
    flight.seats = argc > 2 ? atoi(argv[2]) : 40;
    struct agent *a = calloc((size_t)agents, sizeof *a);
    pthread_barrier_init(&opening, NULL, (unsigned)agents);
    for (int i = 0; i < agents; i++) {
        a[i].id = i;
        pthread_create(&a[i].thread, NULL, sell, &a[i]);
    }
    int tickets = 0;
    for (int i = 0; i < agents; i++) {
        pthread_join(a[i].thread, NULL);
        tickets += a[i].tickets;
    }
    free(a);
    if (tickets > flight.seats) {
        fprintf(stderr, "%s is overbooked: %d tickets for %d seats\n", flight.number, tickets, flight.seats);
        return 1;
    }
    return 0;
}
