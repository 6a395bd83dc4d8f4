/* aof_scan.h -- scans an append-only file from start to end, for valkey-check-aof, and describes its first fault.
 *
 * Everything that the loader accepts is valid here, by the same parser, with one exception: MULTI within MULTI and EXEC
 * without MULTI, which a load ignores, are faults. Arguments are skipped, whatever length they claim; of a command only
 * the first bytes of two arguments are kept.
 *
 *   SELECT SET MULTI SET EXEC SET #TS MULTI SET SE
 *   ------ --- -------------- --- --- ............   units; aofScanGood() is the end of the last whole one
 *
 * Runs on: any thread; a scanner is used by one at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_SCAN_H
#define PERSIST_AOF_SCAN_H

#include "sds.h"
#include "slice.h"

#define AOF_SCAN_WORD 64 /* bytes that are kept of a command's name, and of its first argument */

typedef enum {
    AOF_SCAN_COMMAND,
    AOF_SCAN_ANNOTATION,
    AOF_SCAN_END,   /* the file ends after a whole unit */
    AOF_SCAN_FAULT, /* the file is faulty from here on: aofScanFault() */
    AOF_SCAN_FAILED /* a read failed: errno */
} aofScanKind;

typedef struct aofScanItem {
    uint64_t at, bytes; /* offset and length in the file */
    uint64_t unit;      /* offset of the unit that it belongs to */
    uint64_t argc;      /* if COMMAND */
    slice words[2];     /* if COMMAND: the first two, cut to AOF_SCAN_WORD bytes; the second is empty if argc is 1 */
    slice text;         /* if ANNOTATION: the line with its end */
} aofScanItem;          /* slices are valid until the next call of aofScanNext() */

typedef struct aofScanner aofScanner;

/* Creates a scanner of `fd` (borrowed) from offset `from` to `size`. Texts of faults call the file `name` and `path`,
 * which are borrowed. */
aofScanner *aofScanCreate(int fd, uint64_t from, uint64_t size, const char *name, const char *path);
void aofScanFree(aofScanner *s); /* keeps errno */
/* Returns the next item. Do not call it again after END, FAULT or FAILED. */
aofScanKind aofScanNext(aofScanner *s, aofScanItem *item) must_check;
/* Returns the offset of the end of the last whole unit. */
uint64_t aofScanGood(const aofScanner *s);
/* Returns the number of valid lines, in whole units or not. */
uint64_t aofScanLines(const aofScanner *s);
/* Returns the fault as a line for the operator, without a newline. Returns NULL if there is no fault, or if the file
 * just ends between two lines of a command. Borrowed until aofScanFree(). */
const char *aofScanFault(const aofScanner *s);

#endif
