/* unit.c -- runs the registered unit tests and counts the results.
 *
 * Owns        the list of tests and the counters of the run.
 * Threads     main runs the tests; checks count with an atomic add, so a test's threads may check too.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "panic.h"

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unitTest *tests;
static atomic_int failed_checks;
static const char *running = "(no test)";
static pid_t own_pid;

#define UNIT_NOTHING_RAN 3 /* exit code */

/* The order of constructors is not guaranteed, so the list is kept sorted. */
static int testCmp(const unitTest *a, const unitTest *b) {
    int d = strcmp(a->file, b->file);
    return d ? d : a->line - b->line;
}

void unitRegister(unitTest *test) {
    unitTest **at = &tests;
    while (*at && testCmp(*at, test) < 0) at = &(*at)->next;
    test->next = *at;
    *at = test;
}

static void fail(const char *what, const char *file, int line) {
    atomic_fetch_add_explicit(&failed_checks, 1, memory_order_relaxed);
    printf("%s:%d: %s: failed: %s", file, line, running, what);
}

bool unitCheck(bool held, const char *what, const char *file, int line) {
    if (held) return true;
    fail(what, file, line);
    printf("\n");
    return false;
}

bool unitCheckInt(long long got, long long want, const char *what, const char *file, int line) {
    if (got == want) return true;
    fail(what, file, line);
    printf(" is %lld, not %lld\n", got, want);
    return false;
}

bool unitCheckStr(const char *got, const char *want, const char *what, const char *file, int line) {
    if (got == want || (got && want && strcmp(got, want) == 0)) return true;
    fail(what, file, line);
    printf(" is \"%s\", not \"%s\"\n", got ? got : "(null)", want ? want : "(null)");
    return false;
}

bool unitCheckDouble(double got, double want, const char *what, const char *file, int line) {
    if (memcmp(&got, &want, sizeof(got)) == 0 || got == want) return true;
    fail(what, file, line);
    printf(" is %.17g, not %.17g\n", got, want);
    return false;
}

bool unitCheckMem(const void *got, const void *want, size_t len, const char *what, const char *file, int line) {
    const unsigned char *a = got, *b = want;
    for (size_t i = 0; i < len; i++) {
        if (a[i] == b[i]) continue;
        fail(what, file, line);
        printf(" has 0x%02x, not 0x%02x, at byte %zu of %zu\n", a[i], b[i], i, len);
        return false;
    }
    return true;
}

uint64_t unitRandomSeed(void) {
    static uint64_t seed;
    static bool known;
    if (known) return seed;
    const char *wish = getenv("UNIT_SEED");
    if (wish) {
        seed = strtoull(wish, NULL, 0);
    } else {
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        seed = (uint64_t)ts.tv_sec * 1000003u ^ (uint64_t)ts.tv_nsec ^ (uint64_t)getpid() << 32;
    }
    known = true;
    printf("UNIT_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* splitmix64, for which any state is valid, also 0. */
uint64_t unitRandom(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Defined only with AddressSanitizer. */
__attribute__((weak)) void __lsan_disable(void);

static uint64_t nowMs(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Returns the milliseconds for which the threads of this process were runnable but not run; 0 if that is not known. */
static uint64_t waitedMs(void) {
    uint64_t sum_ns = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return 0;
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[64 + sizeof(task->d_name)];
        unsigned long long waited_ns;
        snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", task->d_name);
        FILE *f = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!f) continue;
        if (fscanf(f, "%*u %llu", &waited_ns) == 1) sum_ns += waited_ns;
        fclose(f);
    }
    closedir(tasks);
    return sum_ns / 1000000;
}

unitLimit unitLimitStart(uint64_t ms) {
    return (unitLimit){.began_ms = nowMs(), .length_ms = ms, .waited_ms = waitedMs()};
}

bool unitLimitOver(const unitLimit *limit) {
    uint64_t passed = nowMs() - limit->began_ms;
    if (passed <= limit->length_ms) return false;
    if (passed > 20 * limit->length_ms) return true;
    uint64_t waited = waitedMs(); /* lower than before if threads have ended */
    return passed > limit->length_ms + (waited > limit->waited_ms ? waited - limit->waited_ms : 0);
}

#ifdef __SANITIZE_THREAD__
/* Lets a child process with its own threads exit as a server would. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }
#endif

int unitInChild(void (*body)(void *arg), void *arg, char *output, size_t size) {
    int fds[2], status = -1;
    fflush(NULL);
    if (pipe(fds) != 0) return -1;
    pid_t pid = fork();
    if (pid < 0) {
        close(fds[0]);
        close(fds[1]);
        return -1;
    }
    if (pid == 0) {
        dup2(fds[1], 1);
        dup2(fds[1], 2);
        close(fds[0]);
        close(fds[1]);
        if (__lsan_disable) __lsan_disable(); /* memory is no leak if a process ends itself */
        body(arg);
        fflush(NULL);
        _exit(0);
    }
    close(fds[1]);
    size_t used = 0;
    char rest[512];
    for (;;) {
        bool room = output && used + 1 < size;
        ssize_t n = room ? read(fds[0], output + used, size - 1 - used) : read(fds[0], rest, sizeof(rest));
        if (n <= 0) break;
        if (room) used += (size_t)n;
    }
    if (output && size) output[used] = '\0';
    close(fds[0]);
    waitpid(pid, &status, 0);
    return status;
}

bool unitLittleMemory(size_t more) {
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    bool known = f && fscanf(f, "%lu", &pages) == 1;
    if (f) fclose(f);
    limit.rlim_cur = limit.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + more;
    if (!known || setrlimit(RLIMIT_AS, &limit)) return false;
    void *too_much =
        mmap(NULL, more + 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* has no effect in an emulator */
    if (too_much == MAP_FAILED) return true;
    munmap(too_much, more + 1);
    return false;
}

static bool wanted(const unitTest *t, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strstr(t->name, argv[i])) return true;
    }
    return argc < 2;
}

/* Handles SIGUSR2, which ends a program that has run for too long: prints which test was running. */
static void tooLong(int sig) {
    (void)sig;
    static const char text[] = " has not come to its end\n";
    if (getpid() == own_pid) {
        ssize_t written = write(1, "FAIL ", 5);
        written += write(1, running, strlen(running));
        written += write(1, text, sizeof(text) - 1);
        if (written < 0) _exit(125);
    }
    _exit(124);
}

int main(int argc, char **argv) {
    int passed = 0, failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (unitTest *t = tests; t; t = t->next) printf("%s:%d: %s\n", t->file, t->line, t->name);
        return 0;
    }
    own_pid = getpid();
    signal(SIGUSR2, tooLong);
    unitRandomSeed();
    for (unitTest *t = tests; t; t = t->next) {
        if (!wanted(t, argc, argv)) continue;
        running = t->name;
        int before = atomic_load(&failed_checks);
        panicSetMainThread(); /* a test may follow one that has released the main role */
        t->run();
        bool ok = atomic_load(&failed_checks) == before;
        if (ok) passed++;
        else failed++;
        printf("%s %s\n", ok ? "ok  " : "FAIL", t->name);
    }
    printf("%d passed, %d failed\n", passed, failed);
    if (passed + failed == 0) return UNIT_NOTHING_RAN;
    return failed > 0;
}
