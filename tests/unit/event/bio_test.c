/* bio_test.c -- order, draining and independence of the kinds of jobs.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
#include "unit.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { JOBS = 1000 };
static int order[JOBS];
static int order_len; /* written by one bio thread, then read by main after bioDrain() */
static char worker_name[32];

static void appendJob(void *arg) { order[order_len++] = (int)(intptr_t)arg; }

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

    /* A blocked kind of jobs does not block other kinds. */
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
