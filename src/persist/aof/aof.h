/* aof.h -- the append-only file on main: turns it on and off, appends what is propagated, decides whether replies may
 * be sent.
 *
 * Runs on: main; functions that start or end a thread, main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_H
#define PERSIST_AOF_H

#include "propagate.h"
#include "reply_hold.h"

#include <sys/types.h>

struct aofListing;

/* Call at startup. */
void aofInit(void);
/* Call at startup. With appendonly yes it loads the log, or creates the first files, and begins to append. Returns
 * false, after logging why, if the process has to exit. With `hide_user_data` no names of keys are logged. */
bool aofStart(bool hide_user_data) must_check;
/* Waits until all that was appended is written (not synced). Returns true if it is, or if the log is off. Returns
 * false, and logs a line, if the files cannot be written. */
bool aofWriteAll(void) must_check;
/* Writes and syncs everything and ends the thread. Waits for the disk. May be called while the log is off. */
void aofStop(void);
/* Sets the function that makes the first base of a log that is turned on while the server runs, at once or at a tick.
 * `received`, NULL or the path of a snapshot of the present dataset, may become the base; then it sets `*taken`. It
 * returns false if there will be no base, so that the log stays off. Startup only. */
typedef bool aofTurnOnFn(const char *received, bool *taken);
void aofOnTurnOn(aofTurnOnFn *fn);
/* Sets a function that is called when a log that was turned on while the server runs is complete on disk. Startup
 * only. */
void aofOnBegin(void (*fn)(void));
/* Adds a function that is called before the log stops; they are called in the order in which they were added. Startup
 * only. */
void aofOnStop(void (*fn)(void));

/* Call before the dataset is removed to load another one, or after a load has failed and left nothing. Until
 * keepFilesEnd() the append-only file is suspended, and save points and shutdown write no snapshot. Commands that ask
 * for a rewrite or a snapshot still get one. Calling it again has no effect. */
void keepFilesBegin(void);
/* Call when a load has succeeded, or when this server becomes a primary with the dataset that it has: the append-only
 * file is turned on again if `appendonly` is yes, and save points count. Does nothing without keepFilesBegin().
 * `received`, NULL or the path of the snapshot that was loaded (complete and synced), may become the base of the
 * append-only file. Returns whether it does: then the file belongs to the log, and the caller must not touch it. */
bool keepFilesEnd(const char *received);

/* Call before replies are sent: publishes complete units to the thread. Returns true if replies must wait until `*seq`
 * has reached `*offset`. */
bool aofBeforeReplies(holdSequence *seq, uint64_t *offset);
/* Returns true if everything appended before `offset` is synced, as far as main knows; false while the log is off or
 * being turned on. */
bool aofIsSynced(uint64_t offset);
/* Returns the offset of the end of the log, which must be on. The effect of every executed command is before it, or in
 * the base. */
uint64_t aofEnd(void);
/* Calls `reached` once `offset` is synced (holdWait()). The log must be on. A caller must cancel a wait that has not
 * ended when the log stops (aofOnStop()). */
void aofWhenSynced(holdEntry *w, uint64_t offset, void (*reached)(holdEntry *w));
/* Call at each tick: handles finished jobs, and errors of a log that is being turned on. */
void aofTick(void);
/* Returns true if there is a log: files that a start would load and that have all acknowledged writes. */
bool aofIsOn(void);
/* Returns true while the log is wanted but its first base is not complete. */
bool aofIsTurningOn(void);
/* Returns true if the log is on, is being turned on, or is read at startup: `appendonly` is yes and the log is not
 * suspended. */
bool aofIsEnabled(void);
/* Called at a tick with the result of one of the following two functions; `error` is errno. */
typedef void aofDoneFn(bool ok, int error);
/* Makes everything that is appended from now on go to the next increment, for a rewrite. The log must be on. */
void aofCut(aofDoneFn *done);
/* Makes the complete file `path` (an sds; takes ownership), which has everything before the last cut, the base; history
 * is deleted after that. `ending` is "rdb" or "aof". With `received` the log says that the file came from a primary. */
void aofSwitchBase(char *path, const char *ending, bool received, aofDoneFn *done);
/* Holds the files for a backup: from here on none is deleted, and the manifest changes in no other way than by SEAL,
 * unless the log is turned off and on. A rewrite that ends meanwhile takes effect when the files are not held any
 * more. */
void aofHoldFiles(bool hold);
bool aofFilesAreHeld(void);
/* Called at a tick with the files (takes ownership), or with NULL and errno. */
typedef void aofListedFn(struct aofListing *listing, int error);
/* Lists the files of the log, which must be on, with everything that was appended so far. With `seal` the increment is
 * synced and ends there. Call only if no earlier call waits for its answer. */
void aofList(bool seal, aofListedFn *done);
/* Call at the fork of the first rewrite, while the log is being turned on: what is propagated from now on goes to a
 * temporary increment, which aofSwitchBase() renames later. `failed` is called, at most once, if it cannot be written.
 * Returns false, and logs a line, without any effect on failure. */
bool aofBeginFirst(void (*failed)(int error)) must_check;
/* Returns true if aofBeginFirst() may be called: no thread of an earlier attempt is left. */
bool aofMayBeginFirst(void);
/* Abandons the first rewrite: its files are removed in the background, and replies that wait for it are sent. Does
 * nothing if there is none, or the log is on. */
void aofAbandonFirst(void);
/* Empties the dataset and loads the files, for DEBUG LOADAOF. Logs failures. NO_FILES leaves the dataset as it was;
 * BROKEN leaves it empty, and the caller must call keepFilesBegin(). Waits for the disk; clients are
 * served meanwhile (loading.h). */
typedef enum { AOF_RELOAD_DONE, AOF_RELOAD_NO_FILES, AOF_RELOAD_BROKEN } aofReloadEnd;
aofReloadEnd aofReload(bool hide_user_data) must_check;
/* Call when a child was forked (true) or has ended (false): no-appendfsync-on-rewrite depends on it. */
void aofSetChildRunning(bool running);

/* INFO fields. */
typedef struct aofFigures {
    bool write_ok;
    off_t current_size, base_size;
    size_t buffer_length; /* bytes that are not written yet */
    size_t buffer_memory; /* of all blocks, those kept for reuse too */
    bool pending_sync;
    long long delayed_sync;
} aofFigures;
aofFigures aofFiguresNow(void);
/* Resets delayed_sync, for CONFIG RESETSTAT. */
void aofResetStats(void);

/* Registers the INFO fields. Startup only. */
void aofInfoRegister(void);

#endif
