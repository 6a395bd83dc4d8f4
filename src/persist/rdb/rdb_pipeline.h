/* rdb_pipeline.h -- the threads that read a snapshot: one scans, others decode, whoever has started them takes the
 * outcome in the order of the file.
 *
 *   scanner ==pieces==> decoders ==batches, in order==> the taker
 *
 * Runs on: the thread that starts it, which alone takes, gives back and ends it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_PIPELINE_H
#define PERSIST_RDB_PIPELINE_H

#include "rdb_decode.h"

/* A piece and what has come of it. */
typedef struct rdbBatch {
    rdbPiece piece;
    rdbDecoded decoded;
    uint64_t offset_end; /* in the file */
    bool is_last;        /* the file's end, or the scanner's fault behind the keys */
} rdbBatch;

typedef struct rdbPipeline rdbPipeline;

/* Start to read `fd`, which stays the caller's, or the source. `decoders`: how many threads, at least 1. NULL with
 * errno when threads cannot be had. */
rdbPipeline *rdbPipelineStart(int fd, const rdbScanOptions *scan, const rdbDecodeOptions *decode, unsigned decoders);
/* The next batch, or NULL when there is none within about so long. Not again after the last one. */
rdbBatch *rdbPipelineTake(rdbPipeline *p, unsigned wait_ms);
/* The batch has been dealt with. `fresh`: the LRU bits of what is used now. */
void rdbPipelineGive(rdbPipeline *p, rdbBatch *b, uint32_t fresh);
/* The scanner, once the last batch was taken. */
const rdbScanner *rdbPipelineScanner(const rdbPipeline *p);
/* End the threads, wherever they are, and free all that nobody has taken. */
void rdbPipelineStop(rdbPipeline *p);

#endif
