/* aof_backup.c -- the states of a backup of the append-only file, without its files and without a clock.
 *
 *             .--failed--.            .-----------END-----------.
 *             v          |            |                         |
 *   NONE --START--> STARTING --> STARTED --SEAL--> SEALING --> SEALED
 *    ^                             ^  |               |  ^      |  |
 *    |                             '--|----failed-----'  '-SEAL-'  |
 *    '-------- END, the timeout ------'----------------------------'
 *
 * In each state but NONE the files are held (aofHoldFiles()). A SEAL that fails leads back to the state before it. More
 * than one SEAL is allowed: each lists a later point, so that a script can copy most first and the rest again.
 *
 * Separate connections send the commands of one backup, so that a shell script can make one; a connection that closes
 * ends nothing. A script that died would hold the files for ever: a backup that no command has used for a while is
 * given up, and its END fails, so that a copy which took too long is not taken for a good one. The number of a backup
 * lets such a late END not end the backup of another script.
 *
 * Owns        nothing.
 * Threads     main.
 * Invariants  (backupCheck() asserts them)
 *             1. used_ms is not before began_ms.
 *             2. sealed_before only while SEALING.
 * Tests       tests/unit/persist/aof/aof_backup_test.c, tests/persist/backup.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_backup.h"

#include "panic.h"

static void backupCheck(const aofBackup *b) {
    debugAssert(b->phase <= BACKUP_SEALED);
    debugAssert(b->phase == BACKUP_NONE || (b->id > 0 && b->used_ms >= b->began_ms));
    debugAssert(!b->sealed_before || b->phase == BACKUP_SEALING);
    debugAssert(b->completed >= 0 && b->given_up >= 0 && b->completed_s >= -1);
    unused(b);
}

void aofBackupInit(aofBackup *b) { *b = (aofBackup){.phase = BACKUP_NONE, .completed_s = -1}; }

/* The clock may have been set back. */
static int64_t laterOf(int64_t a, int64_t b) { return a > b ? a : b; }

void aofBackupUse(aofBackup *b, int64_t now_ms) {
    if (b->phase != BACKUP_NONE) b->used_ms = laterOf(now_ms, b->began_ms);
}

const char *aofBackupStart(aofBackup *b, int64_t now_ms) {
    backupCheck(b);
    if (b->phase != BACKUP_NONE)
        return "A backup is under way. BACKUP STATUS shows its number and age, BACKUP END ends it.";
    b->phase = BACKUP_STARTING;
    b->id = laterOf(now_ms, b->id + 1);
    b->began_ms = b->used_ms = now_ms;
    b->bytes = 0;
    backupCheck(b);
    return NULL;
}

/* Returns the error of a command that needs a backup that waits for nothing, or NULL. */
static const char *whyNot(const aofBackup *b, int64_t id) {
    bool given_up = b->last_given_up && (!id || id == b->id);
    if (b->phase == BACKUP_NONE && given_up)
        return "The backup was given up after backup-timeout seconds without a BACKUP command. What it has copied may "
               "be incomplete.";
    if (b->phase == BACKUP_NONE) return "No backup is under way. BACKUP START begins one.";
    if (id && id != b->id) return "The backup that is under way has another number. That one has ended.";
    return aofBackupWaits(b) ? "An earlier command of the backup is not done yet." : NULL;
}

const char *aofBackupSeal(aofBackup *b, int64_t id, int64_t now_ms) {
    backupCheck(b);
    const char *error = whyNot(b, id);
    if (error) return error;
    b->sealed_before = b->phase == BACKUP_SEALED;
    b->phase = BACKUP_SEALING;
    aofBackupUse(b, now_ms);
    backupCheck(b);
    return NULL;
}

static void toNone(aofBackup *b, bool given_up) {
    b->phase = BACKUP_NONE;
    b->last_given_up = given_up;
}

const char *aofBackupEnd(aofBackup *b, int64_t id, int64_t now_ms) {
    backupCheck(b);
    const char *error = whyNot(b, id);
    if (error) return error;
    if (b->phase == BACKUP_SEALED) {
        b->completed++;
        b->completed_s = now_ms / 1000;
    }
    toNone(b, false);
    backupCheck(b);
    return NULL;
}

void aofBackupListed(aofBackup *b, int64_t bytes, int64_t now_ms) {
    debugAssert(aofBackupWaits(b));
    bool ok = bytes >= 0, starting = b->phase == BACKUP_STARTING;
    if (ok) b->bytes = bytes;
    aofBackupUse(b, now_ms);
    if (starting && !ok) toNone(b, false);
    else if (starting) b->phase = BACKUP_STARTED;
    else b->phase = ok || b->sealed_before ? BACKUP_SEALED : BACKUP_STARTED;
    b->sealed_before = false;
    backupCheck(b);
}

bool aofBackupExpire(aofBackup *b, long long timeout_s, int64_t now_ms) {
    if (b->phase == BACKUP_NONE || aofBackupWaits(b) || timeout_s == 0) return false;
    if (now_ms - b->used_ms < timeout_s * 1000) return false;
    b->given_up++;
    toNone(b, true);
    backupCheck(b);
    return true;
}
