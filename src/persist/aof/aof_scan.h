/* aof_scan.h -- an append-only file walked from its begin to its end, with what is wrong in words.
 *
 * What the loader takes is good here, by the same parser, but for one thing: MULTI inside of MULTI and an EXEC without
 * MULTI, which a load passes over, are faults. Arguments are stepped over, whatever length they tell: of a command no
 * more is kept than its name.
 *
 *   SELECT SET MULTI SET EXEC SET #TS MULTI SET SE
 *   ------ --- -------------- --- --- ............   units; what is not whole is behind aofScanGood()
 *
 * Runs on: any thread; a scanner belongs to one at a time.
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
    AOF_SCAN_END,   /* the file ends behind a whole unit */
    AOF_SCAN_FAULT, /* it does not go on: aofScanFault() */
    AOF_SCAN_FAILED /* it cannot be read: errno */
} aofScanKind;

typedef struct aofScanItem {
    uint64_t at, bytes; /* in the file */
    uint64_t unit;      /* where the unit begins that it belongs to */
    uint64_t argc;      /* COMMAND */
    slice words[2];     /* COMMAND: the first two, cut to AOF_SCAN_WORD; the second is empty when argc is 1 */
    slice text;         /* ANNOTATION: the line with its end */
} aofScanItem;          /* slices are good until the next one is asked for */

typedef struct aofScanner aofScanner;

/* Walk `fd` (borrowed) from offset `from` to `size`. Faults call the file `name` and `path`, which are borrowed. */
aofScanner *aofScanCreate(int fd, uint64_t from, uint64_t size, const char *name, const char *path);
void aofScanFree(aofScanner *s); /* keeps errno */
/* The next item. Not to be called again after the last three kinds. */
aofScanKind aofScanNext(aofScanner *s, aofScanItem *item) must_check;
/* The end of the last whole unit. */
uint64_t aofScanGood(const aofScanner *s);
/* Lines of commands that were found good, whole units or not. */
uint64_t aofScanLines(const aofScanner *s);
/* A line for those who run the server, without its end. NULL: there is none, or the file just ends between two lines of
 * a command. Borrowed until aofScanFree(). */
const char *aofScanFault(const aofScanner *s);

#endif
