/* snapshot_frame.h -- the framing of a snapshot (RDB) on a replication connection: its header and its end.
 *
 *   $LENGTH        LENGTH bytes follow
 *   $EOF:MARK      bytes follow, then the mark
 *
 * The sender sends nothing after the mark until it gets an answer, so the snapshot ends when the last bytes received
 * equal the mark. Therefore the last bytes, as many as the mark has, are withheld until more arrive.
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
    uint64_t length;                /* 0 if the frame has a mark */
    char mark[SNAPSHOT_MARK_BYTES]; /* set if it has no length */
} snapshotFrame;

/* Parses a header line, without its CRLF. Returns false if it is not valid. */
bool snapshotFrameParse(snapshotFrame *f, slice line);

typedef struct snapshotFrameScan {
    snapshotFrame frame;
    uint64_t left;                  /* bytes left, if the length is known */
    char held[SNAPSHOT_MARK_BYTES]; /* the last bytes received, which may be the mark */
    size_t held_len;
    bool ended; /* the end was found */
} snapshotFrameScan;

/* Starts the scan; call when the header has been read. */
void snapshotFrameBegin(snapshotFrameScan *s, const snapshotFrame *f);
/* Returns how many bytes may be read next into a buffer of `capacity` bytes; without a length, `capacity` must exceed
 * the size of the mark. Not to be called after the end. */
size_t snapshotFrameMost(const snapshotFrameScan *s, size_t capacity);
/* Call when `n` bytes, at most snapshotFrameMost(), were read into `buf`. Returns how many bytes of the snapshot are in
 * `buf` now; they may differ from those read, as the last ones are withheld. */
size_t snapshotFrameTake(snapshotFrameScan *s, char *buf, size_t n);

#endif
