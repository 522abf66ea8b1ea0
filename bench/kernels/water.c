/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* n molecules in a periodic box, with the force of Lennard-Jones up to a cutoff, as in SPLASH-2's water-nsquared: a thread
 * has a part of the molecules, and for each the pairs with half of the others; it adds up forces in an array of its own
 * and then adds that to the molecules', each under a lock of its own. Energies are summed up under one lock.
 *
 * Sums depend on the order in which threads come, so the last bits of the line that is printed differ from run to run.
 * Checked: the momentum stays zero, and the energy what it was. */
#include "kernel.h"
#include <math.h>

#define STEPS 50
#define DT 0.002
#define CUTOFF 2.5

struct molecule {
    double at[3], speed[3];
    double force[3]; /* under the lock while forces are added up */
    pthread_mutex_t lock;
};

static struct molecule *molecules;
static double box; /* its side */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double potential[STEPS + 1], kinetic[STEPS + 1]; /* under the lock */

/* Potential energy of the pairs of molecules [low, high), whose forces are added to `mine`, 3 for each molecule. */
static double forces(long low, long high, double *mine) {
    double energy = 0;
    const double shift = 4 * (pow(CUTOFF, -12) - pow(CUTOFF, -6)); /* the potential is zero at the cutoff */
    for (long i = low; i < high; i++) {
        const double *a = molecules[i].at;
        /* Each pair once: the next half of the ring; if n is even the opposite one belongs to the first of the two. */
        long half = size % 2 || i < size / 2 ? size / 2 : size / 2 - 1;
        for (long k = 1; k <= half; k++) {
            long j = i + k < size ? i + k : i + k - size;
            const double *b = molecules[j].at;
            double d[3], square = 0;
            for (int x = 0; x < 3; x++) {
                d[x] = a[x] - b[x];
                if (d[x] > box / 2) d[x] -= box;
                else if (d[x] < -box / 2) d[x] += box;
                square += d[x] * d[x];
            }
            if (square > CUTOFF * CUTOFF) continue;
            double r2 = 1 / square, r6 = r2 * r2 * r2, pull = 24 * r2 * r6 * (2 * r6 - 1);
            energy += 4 * r6 * (r6 - 1) - shift;
            for (int x = 0; x < 3; x++) mine[3 * i + x] += pull * d[x], mine[3 * j + x] -= pull * d[x];
        }
    }
    return energy;
}

static void *work(void *p) {
    int me = (int)(intptr_t)p;
    long low = part(size, me), high = part(size, me + 1);
    double *mine = room((size_t)(3 * size), sizeof *mine);
    for (int step = 0; step <= STEPS; step++) {
        /* Half a step of speed, a step of place: leapfrog. The last step only finds the energy. */
        for (long i = low; i < high; i++) {
            struct molecule *m = &molecules[i];
            for (int x = 0; x < 3; x++) {
                m->speed[x] += DT / 2 * m->force[x];
                m->at[x] += DT * m->speed[x];
                if (m->at[x] >= box) m->at[x] -= box;
                else if (m->at[x] < 0) m->at[x] += box;
                m->force[x] = 0;
            }
        }
        meet();
        memset(mine, 0, (size_t)(3 * size) * sizeof *mine);
        double energy = forces(low, high, mine), motion = 0;
        for (long k = 0; k < size; k++) { /* from its own part on, so that threads do not come to the same ones at once */
            long i = low + k < size ? low + k : low + k - size;
            struct molecule *m = &molecules[i];
            pthread_mutex_lock(&m->lock);
            for (int x = 0; x < 3; x++) m->force[x] += mine[3 * i + x];
            pthread_mutex_unlock(&m->lock);
        }
        meet();
        for (long i = low; i < high; i++) {
            struct molecule *m = &molecules[i];
            for (int x = 0; x < 3; x++) {
                m->speed[x] += DT / 2 * m->force[x];
                motion += m->speed[x] * m->speed[x] / 2;
            }
        }
        pthread_mutex_lock(&lock);
        potential[step] += energy;
        kinetic[step] += motion;
        pthread_mutex_unlock(&lock);
    }
    free(mine);
    return NULL;
}

int main(int argc, char **argv) {
    uint64_t s = 0x2545f4914f6cdd1dull, h = 0;
    options(argc, argv, 6000);
    long edge = (long)ceil(cbrt((double)size)); /* a cubic lattice to begin with */
    double distance = 1.2, drift[3] = {0, 0, 0};
    box = (double)edge * distance;
    if (box < 2 * CUTOFF) wrong("water: the box is smaller than the force reaches; -n 100 or more");
    molecules = room((size_t)size, sizeof *molecules);
    for (long i = 0; i < size; i++) {
        struct molecule *m = &molecules[i];
        long cell[3] = {i % edge, i / edge % edge, i / edge / edge};
        pthread_mutex_init(&m->lock, NULL);
        for (int x = 0; x < 3; x++) {
            m->at[x] = ((double)cell[x] + 0.5) * distance;
            m->speed[x] = rnd_double(&s) - 0.5;
            drift[x] += m->speed[x] / (double)size;
        }
    }
    for (long i = 0; i < size; i++)
        for (int x = 0; x < 3; x++) molecules[i].speed[x] -= drift[x];
    together(work);
    double momentum[3] = {0, 0, 0}, first = potential[0] + kinetic[0], last = potential[STEPS] + kinetic[STEPS];
    for (long i = 0; i < size; i++)
        for (int x = 0; x < 3; x++) momentum[x] += molecules[i].speed[x], h = mix_double(h, molecules[i].at[x]);
    for (int x = 0; x < 3; x++)
        if (fabs(momentum[x]) > 1e-8 * (double)size) wrong("water: momentum %g", momentum[x]);
    if (fabs(last - first) > 1e-3 * fabs(first)) wrong("water: energy %g became %g", first, last);
    printf("water: %ld molecules, %d threads, energy %.3f, %016llx\n", size, threads, last, (unsigned long long)h);
    return 0;
}
