/* ae.h -- the event loop: file descriptors, timers, and hooks around the wait.
 *
 * One loop belongs to one thread. One turn (aeProcessEvents):
 *   before_sleep(loop) -> how long may it wait? -> before_wait(loop) -> wait at most until the next timer ->
 *   after_sleep(loop) -> ready files (readable first, writable second; behind them those that were raised),
 *   after_event(loop) behind each -> due timers.
 *
 * A handler or hook may call aeProcessEvents() again, to serve others during a long job. That nested turn runs only the
 * handlers that were registered with AE_REENTRANT: every other one may rely on the job not being under way, so its
 * event stays pending and is handled by the next outer turn.
 *
 * Runs on: the loop's own thread, except where said.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_AE_H
#define EVENT_AE_H

#include "platform.h"

typedef struct aeEventLoop aeEventLoop;

#define AE_NONE 0
#define AE_READABLE 1
#define AE_WRITABLE 2
/* The peer has closed its half, or the whole, whatever it has sent before: AE_READABLE for those who do not read. Told
 * where the system tells it; a failed connection is told everywhere. */
#define AE_HANGUP 4
/* Of a registration: its handlers may also run in a nested turn. */
#define AE_REENTRANT 8

#define AE_NOMORE (-1) /* a timer's result: do not run again */

typedef void aeFileProc(aeEventLoop *loop, int fd, void *arg, int mask);
/* Returns milliseconds until the next run, or AE_NOMORE. */
typedef long long aeTimeProc(aeEventLoop *loop, long long id, void *arg);
typedef void aeHook(aeEventLoop *loop, void *arg);

/* `setsize` is one more than the largest descriptor. epoll where there is one, else poll(2); the
 * environment variable AE_BACKEND=poll forces the latter (tests). NULL with errno when it fails. */
aeEventLoop *aeCreateEventLoop(int setsize);
void aeDeleteEventLoop(aeEventLoop *loop);
const char *aeApiName(const aeEventLoop *loop); /* "epoll" or "poll" */
int aeGetSetSize(const aeEventLoop *loop);
/* C_ERR when a descriptor above the new size is in use. */
int aeResizeSetSize(aeEventLoop *loop, int setsize);

/* C_ERR with errno when fd >= setsize (ERANGE) or the kernel refuses. AE_READABLE and AE_HANGUP have one handler, and a
 * descriptor is waited for in one of the two ways: the one that is asked for takes the place of the other. `mask` may
 * also hold AE_REENTRANT, which counts for the descriptor until its last event is deleted. */
int aeCreateFileEvent(aeEventLoop *loop, int fd, int mask, aeFileProc *proc, void *arg) must_check;
void aeDeleteFileEvent(aeEventLoop *loop, int fd, int mask);
int aeGetFileEvents(const aeEventLoop *loop, int fd);
/* Take fd for readable in the next turn, which does not wait, though the system may not say so: bytes of it lie in a
 * buffer above. Or no more. Concerns the present registration only, and is over when its handler is called. */
void aeRaiseReadable(aeEventLoop *loop, int fd, bool raised);
/* The number of this turn. */
uint64_t aeIteration(const aeEventLoop *loop);

/* Timer ids start at 0 and grow. Timers are kept in a heap. A timer may delete itself or others.
 * Another thread may make and delete timers while the loop's own thread is between before_wait and after_sleep, if
 * these two hooks hand it the right to (a lock): a timer that is due before the wait would end ends it by the bell. */
long long aeCreateTimeEvent(aeEventLoop *loop, long long after_ms, aeTimeProc *proc, void *arg);
int aeDeleteTimeEvent(aeEventLoop *loop, long long id); /* C_ERR when there is none */

void aeSetBeforeSleep(aeEventLoop *loop, aeHook *hook, void *arg);
/* The last thing before the wait; the loop looks at none of its timers from here until after_sleep has returned. */
void aeSetBeforeWait(aeEventLoop *loop, aeHook *hook, void *arg);
void aeSetAfterSleep(aeEventLoop *loop, aeHook *hook, void *arg);
/* Behind the handlers of each ready descriptor, when none of them is on the stack any more. */
void aeSetAfterEvent(aeEventLoop *loop, aeHook *hook, void *arg);
/* The next wait returns at once (set from before_sleep or before_wait when work is left). One turn only. */
void aeDontWait(aeEventLoop *loop);

/* One turn; returns the number of file events and timers handled. AE_FILE_EVENTS, AE_TIME_EVENTS, AE_DONT_WAIT. */
#define AE_FILE_EVENTS 1
#define AE_TIME_EVENTS 2
#define AE_ALL_EVENTS 3
#define AE_DONT_WAIT 4
int aeProcessEvents(aeEventLoop *loop, int flags);
void aeMain(aeEventLoop *loop); /* turns until aeStop() */
/* No further turn begins; called before the wait, no further event is seen either. */
void aeStop(aeEventLoop *loop);

/* Wait up to `timeout_ms` for one descriptor; returns the ready mask, 0 on time-out, -1 on error. */
int aeWait(int fd, int mask, long long timeout_ms);

/* Ends the wait of a loop from any thread. eventfd, or a pipe where there is none. */
typedef struct aeWakeup {
    int read_fd, write_fd;
    void (*woken)(void); /* may be NULL */
} aeWakeup;
/* Opens `bell` for the loop, which grows if the descriptor is larger. After each aeWakeupSend(), or after several of
 * them, the loop's thread calls `woken`, but not in a nested turn. NULL: the wait ends, also that of a nested turn, and
 * nothing is called. C_ERR with errno. */
int aeWakeupOpen(aeEventLoop *loop, aeWakeup *wakeup, void (*woken)(void)) must_check;
void aeWakeupClose(aeWakeup *wakeup);
void aeWakeupSend(const aeWakeup *wakeup); /* any thread, also a signal handler */

#endif
