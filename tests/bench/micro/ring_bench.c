/* ring_bench.c -- the cost of passing messages from one thread to another through spsc_queue.
 *
 * "stream N": the producer commits every N messages and the consumer releases all it finds; nanoseconds per message of
 * the slower side. "ping-pong": one message there and one back, half of the round trip. Both threads spin, each on its
 * own processor: the figures are those of moving the cache line, without sleeping. The best round counts, because in
 * the others something else has used a processor. With fewer than two processors nothing is measured.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "micro.h"
#include "spsc_queue.h"
#include <unistd.h>

enum { ROUNDS = 7, MESSAGES = 2000000, TRIPS = 200000, CAPACITY = 4096 };

/* Has the size of a message of the server (net/thread/io_threads.h). */
typedef struct message {
    uint64_t words[5];
} message;

static spscQueue there, back;

static void push(spscQueue *q, uint64_t value) {
    message *m;
    while ((m = spscReserve(q)) == NULL) {
    }
    m->words[0] = value;
}

static uint64_t pull(spscQueue *q) {
    const message *m;
    while ((m = spscTake(q)) == NULL) {
    }
    uint64_t value = m->words[0];
    spscRelease(q);
    return value;
}

static void *consumeStream(void *arg) {
    unused(arg);
    microPin(1);
    uint64_t sum = 0;
    for (size_t got = 0; got < MESSAGES;) {
        const message *m;
        size_t before = got;
        while ((m = spscTake(&there)) != NULL) {
            sum += m->words[0];
            got++;
        }
        if (got != before) spscRelease(&there);
    }
    microUse(&sum);
    return NULL;
}

static void *answer(void *arg) {
    unused(arg);
    microPin(1);
    for (size_t i = 0; i < TRIPS; i++) {
        push(&back, pull(&there));
        spscCommit(&back);
    }
    return NULL;
}

static pthread_t startThread(void *(*fn)(void *)) {
    pthread_t t;
    if (pthread_create(&t, NULL, fn, NULL) != 0) {
        perror("pthread_create");
        exit(1);
    }
    return t;
}

static double streamOnce(size_t batch) {
    pthread_t t = startThread(consumeStream);
    monotime start = clockTicks();
    for (size_t i = 0; i < MESSAGES; i++) {
        message *m;
        while ((m = spscReserve(&there)) == NULL) spscCommit(&there);
        m->words[0] = i;
        if ((i + 1) % batch == 0) spscCommit(&there);
    }
    spscCommit(&there);
    pthread_join(t, NULL);
    return microNs(start) / MESSAGES;
}

static double pingPongOnce(void) {
    pthread_t t = startThread(answer);
    monotime start = clockTicks();
    for (size_t i = 0; i < TRIPS; i++) {
        push(&there, i);
        spscCommit(&there);
        pull(&back);
    }
    double ns = microNs(start) / TRIPS / 2;
    pthread_join(t, NULL);
    return ns;
}

int main(void) {
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return 0;
    clockInit();
    microPin(0);
    spscInit(&there, CAPACITY, sizeof(message));
    spscInit(&back, CAPACITY, sizeof(message));
    static const size_t batches[] = {1, 4, 16, 64};
    for (size_t b = 0; b < array_len(batches); b++) {
        microSamples samples = {0};
        for (int round = 0; round < ROUNDS; round++) microAdd(&samples, streamOnce(batches[b]));
        double ns = microBest(&samples);
        char parameter[64];
        snprintf(parameter, sizeof(parameter), "stream %zu", batches[b]);
        microReport("ring hand-over", parameter, ns, "ns/message");
        microReport("ring hand-over", parameter, 1000 / ns, "million messages/s");
    }
    microSamples samples = {0};
    for (int round = 0; round < ROUNDS; round++) microAdd(&samples, pingPongOnce());
    microReport("ring hand-over", "ping-pong one way", microBest(&samples), "ns/message");
    spscDestroy(&there);
    spscDestroy(&back);
    return 0;
}
