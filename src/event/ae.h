/* ae.h -- the event loop: file descriptors, timers, and hooks around the wait.
 *
 * One loop belongs to one thread. One iteration (aeProcessEvents()):
 *   before_sleep(loop) -> compute the timeout -> before_wait(loop) -> wait at most until the next timer ->
 *   after_sleep(loop) -> ready descriptors (readable first, writable second; then those raised by aeRaiseReadable()),
 *   after_event(loop) after each -> after_all(loop) -> due timers.
 *
 * A handler or hook may call aeProcessEvents() again, to serve other clients during a long job. That nested iteration
 * runs only the handlers that were registered with AE_REENTRANT. All others may assume that no such job runs, so their
 * events stay pending until the next outer iteration.
 *
 * Runs on: the loop's own thread, except where a function says otherwise.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_AE_H
#define EVENT_AE_H

#include "platform.h"

typedef struct aeEventLoop aeEventLoop;

#define AE_NONE 0
#define AE_READABLE 1
#define AE_WRITABLE 2
/* The peer has closed its half of the connection, or all of it, even if unread bytes are left: for owners that do not
 * read now. poll(2) reports the half on some systems only; a failed connection is always reported. */
#define AE_HANGUP 4
/* A flag of a registration: its handlers may also run in a nested iteration. */
#define AE_REENTRANT 8

#define AE_NOMORE (-1) /* returned by a timer that is not to run again */

/* A handler of a descriptor; `mask` has the events that are ready. */
typedef void aeFileProc(aeEventLoop *loop, int fd, void *arg, int mask);
/* A timer. Returns milliseconds until its next run, or AE_NOMORE. */
typedef long long aeTimeProc(aeEventLoop *loop, long long id, void *arg);
typedef void aeHook(aeEventLoop *loop, void *arg);

/* Creates a loop for descriptors below `setsize`. It waits with epoll(7) on Linux, else with poll(2); the environment
 * variable AE_BACKEND=poll forces the latter (for tests). Returns NULL with errno on failure. */
aeEventLoop *aeCreateEventLoop(int setsize);
/* Frees the loop. Descriptors stay open. */
void aeDeleteEventLoop(aeEventLoop *loop);
const char *aeApiName(const aeEventLoop *loop); /* "epoll" or "poll" */
int aeGetSetSize(const aeEventLoop *loop);
/* Changes `setsize`. Returns C_ERR if a descriptor that is not below the new one is in use. */
int aeResizeSetSize(aeEventLoop *loop, int setsize);

/* Registers a handler for the events in `mask`. AE_READABLE and AE_HANGUP exclude each other and share one handler: the
 * new one replaces the other. `mask` may include AE_REENTRANT, which applies to the descriptor until its last event is
 * deleted. Returns C_ERR with errno if fd >= setsize (ERANGE) or the kernel refuses. */
int aeCreateFileEvent(aeEventLoop *loop, int fd, int mask, aeFileProc *proc, void *arg) must_check;
/* Deletes the events in `mask`. */
void aeDeleteFileEvent(aeEventLoop *loop, int fd, int mask);
/* Returns the registered events: AE_READABLE, AE_WRITABLE, AE_HANGUP. */
int aeGetFileEvents(const aeEventLoop *loop, int fd);
/* Makes the next iteration handle fd as readable, without waiting, because a buffer above the socket has bytes; with
 * `raised` false, cancels that. Applies to the present registration only, until its handler is called. */
void aeRaiseReadable(aeEventLoop *loop, int fd, bool raised);
/* Returns the number of the present iteration. */
uint64_t aeIteration(const aeEventLoop *loop);

/* Creates a timer that first runs after `after_ms`, and returns its ID; IDs start at 0 and grow. Another thread may
 * create and delete timers while the loop's own thread is between before_wait and after_sleep, if these two hooks pass
 * it the right to do so (a lock). A timer that is due before the end of the wait ends it by the wakeup that was opened
 * with `woken` NULL. */
long long aeCreateTimeEvent(aeEventLoop *loop, long long after_ms, aeTimeProc *proc, void *arg);
/* Deletes a timer; a timer may delete itself. Returns C_ERR if there is none with that ID. */
int aeDeleteTimeEvent(aeEventLoop *loop, long long id);

/* Sets the hook that is called before the timeout is computed. */
void aeSetBeforeSleep(aeEventLoop *loop, aeHook *hook, void *arg);
/* Sets the hook that is called just before the wait. The loop does not access its timers from this call until
 * after_sleep has returned. */
void aeSetBeforeWait(aeEventLoop *loop, aeHook *hook, void *arg);
/* Sets the hook that is called after the wait. */
void aeSetAfterSleep(aeEventLoop *loop, aeHook *hook, void *arg);
/* Sets the hook that is called after the handlers of each ready descriptor have returned. */
void aeSetAfterEvent(aeEventLoop *loop, aeHook *hook, void *arg);
/* Sets the hook that is called once in each iteration, also in a nested one, after all ready descriptors; NULL:
 * none. */
void aeSetAfterAll(aeEventLoop *loop, aeHook *hook, void *arg);
/* Makes the next wait return at once. Call from before_sleep, before_wait or after_all if work is left. */
void aeDontWait(aeEventLoop *loop);

/* Flags of aeProcessEvents(). */
#define AE_FILE_EVENTS 1
#define AE_TIME_EVENTS 2
#define AE_ALL_EVENTS 3
#define AE_DONT_WAIT 4
/* Runs one iteration, for descriptors, timers or both. Returns the number of events and timers that were handled. */
int aeProcessEvents(aeEventLoop *loop, int flags);
void aeMain(aeEventLoop *loop); /* runs iterations until aeStop() */
/* Makes aeMain() end after the present iteration. If before_sleep calls it, that iteration neither waits nor handles
 * events. */
void aeStop(aeEventLoop *loop);

/* Waits up to `timeout_ms` for one descriptor (-1: no limit). Returns the ready mask, 0 on timeout, -1 on error. */
int aeWait(int fd, int mask, long long timeout_ms);

/* An object by which any thread can end the wait of a loop: an eventfd, or a pipe on systems without it. */
typedef struct aeWakeup {
    int read_fd, write_fd;
    void (*woken)(void); /* may be NULL */
} aeWakeup;
/* Opens a wakeup for the loop, whose setsize grows if necessary. The loop's thread calls `woken` once after one or more
 * aeWakeupSend(), but not in a nested iteration. With `woken` NULL it only ends the wait, also that of a nested
 * iteration. Returns C_ERR with errno on failure. */
int aeWakeupOpen(aeEventLoop *loop, aeWakeup *wakeup, void (*woken)(void)) must_check;
/* Closes the descriptors of the wakeup. */
void aeWakeupClose(aeWakeup *wakeup);
/* Ends the present or the next wait of the loop. Any thread, also in a signal handler. */
void aeWakeupSend(const aeWakeup *wakeup);

#endif
