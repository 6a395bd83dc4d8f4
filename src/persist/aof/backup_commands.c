/* backup_commands.c -- BACKUP: a copy of the append-only file's folder, made by other programs, that starts.
 *
 *   START --> files are held --> list of the files
 *   SEAL  --> the increment is synced and ends, the next one begins --> list of all files before it, with their sizes
 *             and the manifest that names them and no other
 *   END   --> what became history is deleted, a rewrite that ended meanwhile takes effect
 *
 * START and SEAL wait for the AOF thread (blockOnOwner()); main waits for no disk.
 *
 * Not here    the states (aof_backup.c); what holding means (aof.c); listing and sealing (aof_thread.c).
 * Owns        the backup, and the answer that its client has not got yet.
 * Threads     main.
 * Invariants  1. The files are held exactly while there is a backup (aofBackupHolds()).
 *             2. A client waits only while START or SEAL waits for the disk.
 * Tests       tests/persist/backup.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "backup_commands.h"

#include "aof.h"
#include "aof_listing.h"
#include "blocking.h"
#include "clock.h"
#include "log.h"
#include "panic.h"
#include "persist_settings.h"
#include "reply.h"

#include <inttypes.h>
#include <string.h>

static struct {
    aofBackup state;
    client *waiting;     /* borrowed: that of START or SEAL, until it has its reply or closes; NULL: none */
    aofListing *listing; /* owns: the answer, while the reply is made */
    int error;           /* errno if there is no listing */
} backup;

static void backupCheck(void) {
    debugAssert(aofFilesAreHeld() == aofBackupHolds(&backup.state));
    debugAssert(!backup.waiting || aofBackupWaits(&backup.state));
    debugAssert(!backup.listing);
}

static const char *phaseName(void) {
    static const char *const names[] = {"none", "starting", "started", "sealing", "sealed"};
    return names[backup.state.phase];
}

static void replyNumber(client *c, const char *name, long long value) {
    addReplyBulkCString(c, name);
    addReplyLongLong(c, value);
}

static void replyText(client *c, const char *name, const char *value) {
    addReplyBulkCString(c, name);
    addReplyBulkCString(c, value);
}

static void replyListing(client *c, const aofListing *l) {
    addReplyMapLen(c, 7);
    replyNumber(c, "id", backup.state.id);
    replyText(c, "state", phaseName());
    replyText(c, "folder", l->folder);
    replyText(c, "manifest", l->manifest_name);
    replyText(c, "manifest-text", l->manifest);
    addReplyBulkCString(c, "files");
    addReplyArrayLen(c, (long long)l->count);
    for (size_t i = 0; i < l->count; i++) {
        addReplyArrayLen(c, 2);
        addReplyBulkCString(c, l->files[i].name);
        addReplyLongLong(c, l->files[i].size);
    }
    replyNumber(c, "bytes", l->bytes);
}

static void replyResult(client *c, void *wait) {
    unused(wait);
    if (backup.listing) replyListing(c, backup.listing);
    else if (aofBackupWaits(&backup.state))
        addReplyError(c, "Unblocked before the files of the append-only file were listed. The backup goes on.");
    else
        addReplyErrorFormat(c, "The append-only file cannot be listed now: %s. The server's log may say more.",
                            strerror(backup.error));
}

static void forgetWaiting(client *c, void *wait) {
    unused(wait);
    debugAssert(backup.waiting == c);
    unused(c);
    backup.waiting = NULL;
}

static void onListed(aofListing *listing, int error) {
    bool starting = backup.state.phase == BACKUP_STARTING;
    aofBackupListed(&backup.state, listing ? (int64_t)listing->bytes : -1, clockWallMs());
    if (!aofBackupHolds(&backup.state)) aofHoldFiles(false);
    if (!listing) serverLog(LL_WARNING, "BACKUP %s failed: %s", starting ? "START" : "SEAL", strerror(error));
    else if (!starting)
        serverLog(LL_NOTICE, "Backup %" PRId64 " is sealed: %zu files, %lld bytes", backup.state.id, listing->count,
                  (long long)listing->bytes);
    backup.listing = listing;
    backup.error = error;
    if (backup.waiting) blockingEnd(backup.waiting, NULL);
    backup.listing = NULL;
    aofListingFree(listing);
    backupCheck();
}

static void waitForListing(client *c, bool seal) {
    static const blockOwner owner = {.reply = replyResult, .forget = forgetWaiting};
    backup.waiting = c;
    blockOnOwner(c, &owner, &backup, 0);
    aofList(seal, onListed);
    backupCheck();
}

/* Parses the optional number of a backup; 0: none was given. */
static bool idArg(client *c, int64_t *id) {
    long long value = 0;
    if (c->argc > 3) return addReplySyntaxError(c);
    if (c->argc > 2 &&
        !getRangeLongFromArg(c, 2, 1, INT64_MAX, &value, "The number of a backup is that of START's reply"))
        return false;
    *id = value;
    return true;
}

/* Replies with an error if the log cannot be listed, or the client must not wait. */
static bool canList(client *c) {
    if (c->flags & CLIENT_DENY_BLOCKING)
        return addReplyErrorFormat(c, "BACKUP cannot be used where commands must not wait");
    if (aofIsOn()) return true;
    if (aofIsTurningOn())
        return addReplyErrorFormat(c, "The append-only file is being turned on. Try again when INFO has "
                                      "aof_rewrite_in_progress:0 and aof_rewrite_scheduled:0.");
    return addReplyErrorFormat(c, "BACKUP is about the append-only file, which is off. A snapshot needs no BACKUP: "
                                  "after BGSAVE the file 'dbfilename' is complete, and may be copied at any time.");
}

void backupStartCommand(client *c) {
    backupCheck();
    if (!canList(c)) return;
    const char *error = aofBackupStart(&backup.state, clockWallMs());
    if (error) {
        addReplyError(c, error);
        return;
    }
    serverLog(LL_NOTICE,
              "Backup %" PRId64 " of the append-only file begins: until BACKUP END no file of it is deleted and no "
              "rewrite begins",
              backup.state.id);
    aofHoldFiles(true);
    waitForListing(c, false);
}

void backupSealCommand(client *c) {
    int64_t id;
    backupCheck();
    if (!idArg(c, &id)) return;
    const char *error = aofBackupHolds(&backup.state) && !canList(c) ? ""
                                                                     : aofBackupSeal(&backup.state, id, clockWallMs());
    if (error && *error) addReplyError(c, error);
    if (!error) waitForListing(c, true);
}

static long long secondsSince(int64_t ms) { return (clockWallMs() - ms) / 1000; }

void backupEndCommand(client *c) {
    int64_t id;
    backupCheck();
    if (!idArg(c, &id)) return;
    bool sealed = backup.state.phase == BACKUP_SEALED;
    const char *error = aofBackupEnd(&backup.state, id, clockWallMs());
    if (error) {
        addReplyError(c, error);
        return;
    }
    serverLog(LL_NOTICE, "Backup %" PRId64 " ends after %lld seconds%s", backup.state.id,
              secondsSince(backup.state.began_ms), sealed ? "" : ", without BACKUP SEAL");
    aofHoldFiles(false);
    addReplyOk(c);
    backupCheck();
}

void backupStatusCommand(client *c) {
    backupCheck();
    const aofBackup *b = &backup.state;
    bool on = aofBackupHolds(b);
    aofBackupUse(&backup.state, clockWallMs());
    addReplyMapLen(c, 5);
    replyText(c, "state", phaseName());
    replyNumber(c, "id", on ? b->id : 0);
    replyNumber(c, "seconds", on ? secondsSince(b->began_ms) : 0);
    replyNumber(c, "timeout", on ? persist_settings.backup_timeout : 0);
    replyNumber(c, "bytes", on ? b->bytes : 0);
}

void backupTick(void) {
    if (likely(!aofBackupHolds(&backup.state))) return;
    if (!aofBackupExpire(&backup.state, persist_settings.backup_timeout, clockWallMs())) return;
    serverLog(LL_WARNING,
              "Backup %" PRId64 " of the append-only file is given up: no BACKUP command came for %lld seconds "
              "(backup-timeout). What it has copied may be incomplete.",
              backup.state.id, persist_settings.backup_timeout);
    aofHoldFiles(false);
    backupCheck();
}

const aofBackup *backupNow(void) { return &backup.state; }

void backupResetStats(void) { backup.state.completed = backup.state.given_up = 0; }

void backupInit(void) { aofBackupInit(&backup.state); }
