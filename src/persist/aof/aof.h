/* aof.h -- the append-only file as the server sees it: turned on and off, fed with what is propagated, asked whether
 * replies may leave.
 *
 * Runs on: main; beginning and end on main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_H
#define PERSIST_AOF_H

#include "propagate.h"
#include "reply_hold.h"

#include <sys/types.h>

/* Boot. */
void aofInit(void);
/* At the start, with appendonly yes: load what there is, or make the first files, and begin to append. False with lines
 * in the log: the process is to end. `hide_user_data`: no names of keys there. */
bool aofStart(bool hide_user_data) must_check;
/* Write all there is, and wait for the disk. True: it is in the files, or the log is off. False with a line in the log:
 * they cannot be written. */
bool aofWriteAll(void) must_check;
/* Write and sync all there is and end the thread. Waits for the disk. Also with the log off. */
void aofStop(void);
/* Boot only. `fn` makes the first base of a log that is turned on while the server runs, now or at a tick. `received`,
 * NULL or the path of a snapshot that has the dataset of this moment, may become the base; then `*taken` is set. False:
 * there will be no base, and the log is off again. */
typedef bool aofTurnOnFn(const char *received, bool *taken);
void aofOnTurnOn(aofTurnOnFn *fn);
/* Who is told when a log that was turned on while the server runs is there. Boot only. */
void aofOnBegin(void (*fn)(void));
/* Who is told before the log stops, in the order in which they have said so. Boot only. */
void aofOnStop(void (*fn)(void));

/* Stops the log and leaves its files as they are, until aofResume() turns it on again with the dataset that there is
 * then; if that cannot begin at once, ticks try again. CONFIG SET appendonly no ends the suspension, too. Waits for the
 * disk. Nothing happens while the log is off, or is suspended already. `received`, NULL or the path of a snapshot that
 * has the dataset of this moment, complete and synced, may become the base: aofResume() returns whether it does, and
 * then the file belongs to the log. */
void aofSuspend(void);
bool aofResume(const char *received);

/* Before replies leave: give complete units to the thread. True when they must wait for `*seq` to reach
 * `*offset`. */
bool aofBeforeReplies(holdSequence *seq, uint64_t *offset);
/* Whether what was appended up to `offset` is synced, as far as main knows; false while the log is not there. */
bool aofIsSynced(uint64_t offset);
/* While it is on: the offset at which it ends. All that was executed is before it, or in the base. */
uint64_t aofEnd(void);
/* While it is on: call w->reached then (holdWait()). Who waits when the log stops cancels before. */
void aofWhenSynced(holdWaiter *w, uint64_t offset, void (*reached)(holdWaiter *w));
/* Ten times a second. */
void aofTick(void);
/* Whether there is a log: files that a start would load, and that have what was answered. */
bool aofIsOn(void);
/* It is to be on, and its first base is not there yet. */
bool aofIsTurningOn(void);
/* Whether it is on, is being turned on, or is read at the start: `appendonly` is yes, and the log is not suspended. */
bool aofIsEnabled(void);
/* For a rewrite, while it is on: what is appended from now on goes to the next increment; and the complete file `path`
 * (taken: an sds), with all up to the last cut, becomes the base ("rdb" or "aof"), after which history is deleted.
 * `received`: the log of the server says that the file came from a primary. `done` hears how it went, at a tick;
 * `error` is errno. */
typedef void aofDoneFn(bool ok, int error);
void aofCut(aofDoneFn *done);
void aofSwitchBase(char *path, const char *ending, bool received, aofDoneFn *done);
/* For the first rewrite, while it is turning on, at the moment of the fork: what is propagated from now on goes to a
 * temporary increment, to which aofSwitchBase() then gives its place. `failed` hears, once, if it cannot be written.
 * False with a line in the log: nothing has happened. */
bool aofBeginFirst(void (*failed)(int error)) must_check;
/* Another can begin: nothing is left of one that was given up. */
bool aofMayBeginFirst(void);
/* That was in vain, and its files are removed in the background: replies that wait for it leave. Nothing when there is
 * none, or the log is on. */
void aofGiveUpFirst(void);
/* DEBUG LOADAOF: empty the dataset, and load what the files have. Failures are logged. NO_FILES leaves the dataset as
 * it was; BROKEN leaves it empty, and the caller must call keepFilesBegin() (keep_files.h). Waits for the disk; clients
 * are served meanwhile (loading.h). */
typedef enum { AOF_RELOAD_DONE, AOF_RELOAD_NO_FILES, AOF_RELOAD_BROKEN } aofReloadEnd;
aofReloadEnd aofReload(bool hide_user_data) must_check;
/* A child lives, or does no more: no-appendfsync-on-rewrite. */
void aofChildLives(bool lives);

/* What INFO shows. */
typedef struct aofFigures {
    bool write_ok;
    off_t current_size, base_size;
    size_t buffer_length; /* bytes that are not written yet */
    size_t buffer_memory; /* of blocks, those of the next busy moment too */
    bool pending_sync;
    long long delayed_sync;
} aofFigures;
aofFigures aofFiguresNow(void);
/* CONFIG RESETSTAT. */
void aofResetStats(void);

/* Put what this layer shows and offers into the tables of the layers below. Boot only. */
void aofInfoRegister(void);

#endif
