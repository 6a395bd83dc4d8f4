/* aof_backup.h -- the states of a backup of the append-only file, without its files and without a clock.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_BACKUP_H
#define PERSIST_AOF_BACKUP_H

#include "platform.h"

#include <stdint.h>

typedef enum { BACKUP_NONE, BACKUP_STARTING, BACKUP_STARTED, BACKUP_SEALING, BACKUP_SEALED } aofBackupPhase;

typedef struct aofBackup {
    aofBackupPhase phase;
    bool sealed_before;        /* while SEALING: an earlier SEAL has succeeded */
    bool last_given_up;        /* the last backup ended by the timeout */
    int64_t id;                /* of this backup, or the last one; rises */
    int64_t began_ms, used_ms; /* of START; of the last command of the backup */
    int64_t bytes;             /* of the files, as listed last */
    int64_t completed_s;       /* wall clock, when the last one ended after a SEAL; -1: none has */
    long long completed, given_up;
} aofBackup;

/* Returns true if no file may be deleted, and no rewrite may begin or take effect. */
static inline bool aofBackupHolds(const aofBackup *b) { return b->phase != BACKUP_NONE; }
/* Returns true while START or SEAL waits for the disk. */
static inline bool aofBackupWaits(const aofBackup *b) {
    return b->phase == BACKUP_STARTING || b->phase == BACKUP_SEALING;
}

void aofBackupInit(aofBackup *b);
/* Each returns NULL, or the text of the error for the client; then nothing has changed. `id` is that of the client's
 * backup, 0 if it has given none. Times are those of the wall clock. */
const char *aofBackupStart(aofBackup *b, int64_t now_ms) must_check;
const char *aofBackupSeal(aofBackup *b, int64_t id, int64_t now_ms) must_check;
const char *aofBackupEnd(aofBackup *b, int64_t id, int64_t now_ms) must_check;
/* Call for any other command about the backup: it goes on. */
void aofBackupUse(aofBackup *b, int64_t now_ms);
/* Call when START or SEAL has its answer: the files have `bytes`; -1: it failed, and the backup is what it was before.
 */
void aofBackupListed(aofBackup *b, int64_t bytes, int64_t now_ms);
/* Gives the backup up if no command has used it for `timeout_s` seconds (0: without end). Returns whether it did. */
bool aofBackupExpire(aofBackup *b, long long timeout_s, int64_t now_ms) must_check;

#endif
