/* bio_test.c -- order, draining, independence of kinds; names and pinning of threads.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { JOBS = 1000 };
static int order[JOBS];
static int order_len; /* one bio thread, then main after bioDrain() */
static char worker_name[32];

static void appendJob(void *arg) {
    order[order_len++] = (int)(intptr_t)arg;
}

static void nameJob(void *arg) {
    unused(arg);
    pthread_getname_np(pthread_self(), worker_name, sizeof(worker_name));
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static void gatedJob(void *arg) {
    unused(arg);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

TEST(bio_jobs) {
    int wrong = 0;

    bioInit("");
    order_len = 0;
    for (int i = 0; i < JOBS; i++) bioSubmit(BIO_LAZY_FREE, appendJob, (void *)(intptr_t)i);
    bioDrain(BIO_LAZY_FREE);
    CHECK_EQ_INT(order_len, JOBS);
    for (int i = 0; i < JOBS; i++) wrong += order[i] != i;
    CHECK_EQ_INT(wrong, 0);
    CHECK_EQ_INT(bioPending(BIO_LAZY_FREE), 0);

    /* A kind that is held up holds up no other. */
    pthread_mutex_lock(&gate);
    bioSubmit(BIO_FSYNC, gatedJob, NULL);
    bioSubmit(BIO_FSYNC, gatedJob, NULL);
    bioSubmit(BIO_CLOSE_FILE, nameJob, NULL);
    bioDrain(BIO_CLOSE_FILE);
    CHECK_EQ_STR(worker_name, "bio_close_file");
    CHECK_EQ_INT(bioPending(BIO_FSYNC), 2);
    pthread_mutex_unlock(&gate);
    bioDrain(BIO_FSYNC);
    CHECK_EQ_INT(bioPending(BIO_FSYNC), 0);
    bioDrain(BIO_FSYNC);
}

static void *pinSelf(void *arg) {
    cpu_set_t set;

    threadSetName("a name that is too long");
    threadSetCpuAffinity(arg);
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    pthread_getname_np(pthread_self(), worker_name, sizeof(worker_name));
    return (void *)(intptr_t)CPU_COUNT(&set);
}

static int pinnedCount(const char *cpulist) {
    pthread_t thread;
    void *count = NULL;

    if (pthread_create(&thread, NULL, pinSelf, (void *)(uintptr_t)cpulist) == 0) pthread_join(thread, &count);
    return (int)(intptr_t)count;
}

TEST(bio_thread_pinning) {
    int all = pinnedCount("");
    cpu_set_t set;

    CHECK_EQ_STR(worker_name, "a name that is ");
    CHECK_EQ_INT(pinnedCount(NULL), all);
    sched_getaffinity(0, sizeof(set), &set);
    if (!CPU_ISSET(0, &set)) return;
    CHECK_EQ_INT(pinnedCount("0"), 1);
    CHECK_EQ_INT(pinnedCount(" 0-3:4 "), 1);
    CHECK_EQ_INT(pinnedCount("0-1023"), all);
    /* Not a list of processors: ignored. */
    static const char *const odd[] = {"x", "0,", "0-", "3-1", "0-1:0", "99999999999", "0;1", "-1"};
    for (size_t i = 0; i < array_len(odd); i++) CHECK_EQ_INT(pinnedCount(odd[i]), all);
}
