/* panic_test.c -- crash reports of child processes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"
#include "panic.h"
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static char report[65536];

static void goodSection(void) {
    panicPrint("section says %d\n", 5);
}

static void badSection(void) {
    raise(SIGSEGV);
}

static void prepare(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    panicSetProgram("valkey 1.2.3");
    panicInstallHandlers();
}

static void failAssert(void *arg) {
    prepare();
    panicAddSection("GOOD SECTION", goodSection);
    serverAssert(arg != NULL);
}

TEST(failed_assertion_reports_and_aborts) {
    int status = unitInChild(failAssert, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(report, "\n\n=== VALKEY BUG REPORT START: Cut & paste starting from here ===\n") != NULL);
    CHECK(strstr(report, "# === ASSERTION FAILED ===\n") != NULL);
    CHECK(strstr(report, "# ==> panic_test.c:") != NULL);
    CHECK(strstr(report, " 'arg != NULL' is not true\n") != NULL);
    CHECK(strstr(report, "------ STACK TRACE ------\n") != NULL);
    CHECK(strstr(report, "\n------ GOOD SECTION ------\nsection says 5\n") != NULL);
    CHECK(strstr(report, "=== VALKEY BUG REPORT END. Make sure to include from START to END. ===\n") != NULL);
    /* Aborting is not one more crash. */
    CHECK(strstr(report, "crashed by signal") == NULL);
}

static void panicNow(void *arg) {
    prepare();
    serverPanic("value %d", *(int *)arg);
}

TEST(panic_meditates) {
    int seven = 7;
    int status = unitInChild(panicNow, &seven, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(report, "!!! Software Failure. Press left mouse button to continue\n") != NULL);
    CHECK(strstr(report, "# Guru Meditation: value 7 #panic_test.c:") != NULL);
}

static void crash(void *arg) {
    prepare();
    panicAddSection("GOOD SECTION", goodSection);
    if (arg) panicAddSection("BAD SECTION", badSection);
    raise(SIGSEGV);
}

TEST(crash_reports_registers_and_dies_by_its_signal) {
    int status = unitInChild(crash, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(strstr(report, "# valkey 1.2.3 crashed by signal: 11, si_code: ") != NULL);
    CHECK(strstr(report, "------ REGISTERS ------\n") != NULL);
    CHECK(strstr(report, "section says 5\n") != NULL);
}

TEST(crash_inside_the_report_ends_it_shorter) {
    int yes = 1;
    int status = unitInChild(crash, &yes, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(strstr(report, "------ BAD SECTION ------\n") != NULL);
#ifndef BUILT_WITH_TSAN /* which holds a signal back while another one's handler runs */
    CHECK(strstr(report, "Crashed running signal handler. Providing reduced version") != NULL);
#endif
    CHECK(strstr(report, "BUG REPORT END") != NULL);
}

static void *crashThread(void *arg) {
    raise(SIGBUS);
    return arg;
}

static void crashTogether(void *arg) {
    pthread_t t[3];
    prepare();
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, crashThread, arg);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
}

TEST(threads_that_crash_together_write_one_report) {
    int status = unitInChild(crashTogether, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    const char *first = strstr(report, "crashed by signal");
    CHECK(first && strstr(first + 1, "crashed by signal") == NULL);
}

static void removed(void *arg) {
    prepare();
    panicRemoveHandlers();
    raise(SIGSEGV);
    unused(arg);
}

TEST(removed_handlers_are_silent) {
    int status = unitInChild(removed, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK_EQ_STR(report, "");
}

static void *askOther(void *arg) {
    *(bool *)arg = panicOnMainThread();
    return NULL;
}

TEST(main_thread_is_known) {
    bool other = true;
    pthread_t t;
    panicSetMainThread();
    CHECK(panicOnMainThread());
    pthread_create(&t, NULL, askOther, &other);
    pthread_join(t, NULL);
    CHECK(!other);
}
