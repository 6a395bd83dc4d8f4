/* rdb_pipeline.h -- the threads that read a snapshot: one scans, others decode, and the thread that started them takes
 * the results in the order of the file.
 *
 *   scanner ==pieces==> decoders ==batches, in order==> the taker
 *
 * Runs on: the thread that starts the pipeline; only that thread takes and gives back batches and stops it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_PIPELINE_H
#define PERSIST_RDB_PIPELINE_H

#include "rdb_decode.h"

/* A piece and what was decoded from it. */
typedef struct rdbBatch {
    rdbPiece piece;
    rdbDecoded decoded;
    uint64_t offset_end; /* in the file */
    bool is_last;        /* it ends at the file's end, or at a fault that the scanner has met */
} rdbBatch;

typedef struct rdbPipeline rdbPipeline;

/* Starts to read `fd`, which stays the caller's, or the source of `scan`. `decoders` is the number of threads, at least
 * 1. Returns NULL with errno if threads cannot be started. */
rdbPipeline *rdbPipelineStart(int fd, const rdbScanOptions *scan, const rdbDecodeOptions *decode, unsigned decoders);
/* Returns the next batch, or NULL if none is ready within `wait_ms`. Do not call it again after the last batch. */
rdbBatch *rdbPipelineTake(rdbPipeline *p, unsigned wait_ms);
/* Gives a batch back to be used again. `fresh` are the LRU bits of a key that is used now. */
void rdbPipelineGive(rdbPipeline *p, rdbBatch *b, uint32_t fresh);
/* Returns the scanner. Call only after the last batch was taken. */
const rdbScanner *rdbPipelineScanner(const rdbPipeline *p);
/* Stops the threads at once, and frees everything that was not taken. */
void rdbPipelineStop(rdbPipeline *p);

#endif
