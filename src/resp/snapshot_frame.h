/* snapshot_frame.h -- a snapshot on a connection: what its header says, and where it ends.
 *
 *   $LENGTH        so many bytes follow
 *   $EOF:MARK      bytes follow, and behind them the mark
 *
 * The mark ends what the sender sends until it is answered: so it is there when the last bytes that have come are the
 * mark. As many are held back until more come.
 *
 * Runs on: any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESP_SNAPSHOT_FRAME_H
#define RESP_SNAPSHOT_FRAME_H

#include "slice.h"

#define SNAPSHOT_MARK_BYTES 40

typedef struct snapshotFrame {
    bool has_length;
    uint64_t length;                /* with one; else 0 */
    char mark[SNAPSHOT_MARK_BYTES]; /* without one */
} snapshotFrame;

/* A header line, without its CR LF. False when it is none. */
bool snapshotFrameParse(snapshotFrame *f, slice line);

typedef struct snapshotFrameScan {
    snapshotFrame frame;
    uint64_t left;                  /* of a known length */
    char held[SNAPSHOT_MARK_BYTES]; /* the last bytes that came, which may be the mark */
    size_t held_len;
    bool ended; /* all has come */
} snapshotFrameScan;

/* Behind the header. */
void snapshotFrameBegin(snapshotFrameScan *s, const snapshotFrame *f);
/* How many bytes may be read next into a buffer of `room` bytes, which without a length must be more than the mark has.
 * Not when all has come. */
size_t snapshotFrameMost(const snapshotFrameScan *s, size_t room);
/* `n` bytes have been read into `buf`, no more than that. The bytes of the snapshot that are certain are in `buf` now:
 * how many. */
size_t snapshotFrameTake(snapshotFrameScan *s, char *buf, size_t n);

#endif
