/* lists_bench.c -- how much a machine gains by interleaving walks over linked lists.
 *
 *     lists_bench [elements per list = 8388608]
 *
 * A check of the machine, not of the server. Sixteen linked lists with elements at random addresses are summed up: one
 * after another; interleaved, one element of each; interleaved with a prefetch of the next element. The gain of the
 * second and third over the first is the most that dictPrefetch() can reach on this machine.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "micro.h"
#include "zmalloc.h"
#include <sys/mman.h>

enum { LISTS = 16, ROUNDS = 3 };

typedef struct node {
    struct node *next;
    uint64_t value;
} node;

/* A bijection of [0, 2^bits): the position of the n-th element. Neighbors in a list are far apart in memory. */
static size_t scatter(size_t n, int bits) {
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (int i = 0; i < 3; i++) {
        n = (n * 0x9e3779b97f4a7c15ULL) & mask;
        n ^= n >> (bits / 2);
    }
    return n;
}

static void makeLists(node *nodes, node **heads, size_t per_list, int bits) {
    for (size_t l = 0; l < LISTS; l++) {
        node **link = &heads[l];
        for (size_t i = 0; i < per_list; i++) {
            node *n = &nodes[scatter(l * per_list + i, bits)];
            n->value = i;
            *link = n;
            link = &n->next;
        }
        *link = NULL;
    }
}

static uint64_t sumSequential(node **heads) {
    uint64_t sum = 0;
    for (size_t l = 0; l < LISTS; l++) {
        for (const node *n = heads[l]; n; n = n->next) sum += n->value;
    }
    return sum;
}

static inline uint64_t sumInTurns(node **heads, bool prefetch) {
    const node *at[LISTS];
    size_t left = LISTS;
    uint64_t sum = 0;
    memcpy(at, heads, sizeof(at));
    while (left) {
        for (size_t l = 0; l < LISTS; l++) {
            if (!at[l]) continue;
            sum += at[l]->value;
            at[l] = at[l]->next;
            if (!at[l]) left--;
            else if (prefetch) prefetchRead(at[l]);
        }
    }
    return sum;
}

int main(int argc, char **argv) {
    size_t per_list = argc > 1 ? strtoull(argv[1], NULL, 10) : (size_t)1 << 23;
    if (per_list == 0) return 1;
    int bits = 8;
    while (((size_t)1 << bits) < per_list * LISTS) bits++;
    clockInit();
    size_t bytes = sizeof(node) << bits;
    node *nodes = zmallocAligned((size_t)2 << 20, bytes), *heads[LISTS];
    (void)madvise(nodes, bytes, MADV_HUGEPAGE);
    makeLists(nodes, heads, per_list, bits);
    microSamples samples[3] = {0};
    uint64_t sums[3] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        for (int mode = 0; mode < 3; mode++) {
            monotime start = clockTicks();
            sums[mode] = mode == 0 ? sumSequential(heads) : sumInTurns(heads, mode == 2);
            microAdd(&samples[mode], microNs(start) / (double)(per_list * LISTS));
        }
    }
    if (sums[0] != sums[1] || sums[0] != sums[2]) {
        fprintf(stderr, "the sums differ\n");
        return 1;
    }
    char name[64];
    snprintf(name, sizeof(name), "16 lists of %zu", per_list);
    static const char *const modes[] = {"one after another", "in turns", "in turns with prefetch"};
    double ns[3];
    for (int mode = 0; mode < 3; mode++) {
        ns[mode] = microMedian(&samples[mode]);
        microReport(name, modes[mode], ns[mode], "ns/element");
    }
    microReport(name, "in turns against one after another", ns[0] / ns[1], "times faster");
    microReport(name, "with prefetch against one after another", ns[0] / ns[2], "times faster");
    zfree(nodes);
    return 0;
}
