/* parser_bench.c -- nanoseconds per command of request_reader over pipelines of 16.
 *
 * The whole pipeline is in the buffer, as after one read. Bodies are skipped and not read, so their size must not
 * matter.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "micro.h"
#include "request_reader.h"

enum { PIPELINE = 16, ROUNDS = 11, REPEATS = 20000, ARGS = 8 };

static char buffer[PIPELINE * 20000];
static requestArg args[ARGS];

static bool noRoom(requestReader *r, size_t want) {
    unused(r);
    unused(want);
    return false;
}

static size_t writeGets(void) {
    size_t len = 0;
    for (int i = 0; i < PIPELINE; i++)
        len += (size_t)sprintf(buffer + len, "*2\r\n$3\r\nGET\r\n$16\r\nkey:%012d\r\n", i * 7919);
    return len;
}

static size_t writeSets(size_t value) {
    size_t len = 0;
    for (int i = 0; i < PIPELINE; i++) {
        len += (size_t)sprintf(buffer + len, "*3\r\n$3\r\nSET\r\n$16\r\nkey:%012d\r\n$%zu\r\n", i * 7919, value);
        memset(buffer + len, 'x', value);
        len += value;
        len += (size_t)sprintf(buffer + len, "\r\n");
    }
    return len;
}

static void parse(requestReader *r, size_t end) {
    static const requestLimits limits = {.args_max = 1 << 30, .bulk_len_max = 512 << 20, .authenticated = true};
    size_t pos = 0;
    for (int i = 0; i < PIPELINE; i++) {
        readerReset(r, pos);
        if (readerFeed(r, &limits, buffer, end) != READ_DONE) {
            fprintf(stderr, "not a request: %s\n", r->error);
            exit(1);
        }
        pos = r->pos;
    }
}

static void measure(const char *what, size_t end) {
    requestReader r = {.args = args, .args_cap = ARGS, .grow = noRoom};
    microSamples samples = {0};
    for (int round = 0; round < ROUNDS; round++) {
        monotime start = clockTicks();
        for (int i = 0; i < REPEATS; i++) parse(&r, end);
        microAdd(&samples, microNs(start) / (REPEATS * PIPELINE));
    }
    microReport("parser pipeline of 16", what, microMedian(&samples), "ns/command");
}

int main(void) {
    clockInit();
    measure("GET", writeGets());
    measure("SET 16 B", writeSets(16));
    measure("SET 512 B", writeSets(512));
    measure("SET 16 KB", writeSets(16384));
    return 0;
}
