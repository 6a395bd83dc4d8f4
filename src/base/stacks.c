/* stacks.c -- logs the stacks of all threads while they keep running.
 *
 * Each thread only records addresses (thread_suspend.c). Names are looked up here, on the thread that logs, so that
 * main loses no time with them.
 *
 * Not here    when (server/watchdog.c); the report of a crash (panic.c).
 * Threads     any one at a time.
 * Tests       tests/unit/base/stacks_test.c, tests/server/signals.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"
#include "panic.h"
#include "thread_suspend.h"
#include "symbols.h"

#include <unistd.h>

#define WAIT_MS 1000 /* a thread that waits for a slow disk responds only after that */

void stacksInit(void) {
    threadStacksPrepare();
    symbolsLoad();
}

static void logFrame(const void *frame, bool is_return) {
    char text[SYMBOL_TEXT_SIZE];
    symbolsDescribe(frame, is_return, text);
    serverLog(LL_WARNING, "%s", text);
}

static void logThread(const threadStack *s) {
    serverLog(LL_WARNING, "%d %s%s%s", s->id, s->id == (int)getpid() ? "main" : s->name,
              s->answered && s->answer ? " * (has the main role)" : "", s->answered ? "" : ": did not respond");
    for (int i = 0; i < s->count; i++) logFrame(s->frames[i], i > 0);
}

void stacksLog(const char *reason) {
    threadStack s;
    int threads = 0, answers = 0;
    threadStacksAsk(panicHoldsMainRole, WAIT_MS);
    serverLog(LL_WARNING, "%s", reason);
    serverLog(LL_WARNING, "------ STACK TRACE ------");
    for (size_t i = 0; threadStackGet(i, &s); i++) {
        threads++;
        answers += s.answered;
        logThread(&s);
    }
    serverLog(LL_WARNING, "%d/%d expected stacktraces.", answers, threads);
    serverLog(LL_WARNING, "------ STACK TRACE DONE ------");
}
