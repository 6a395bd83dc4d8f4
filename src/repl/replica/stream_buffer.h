/* stream_buffer.h -- the stream is kept while the snapshot before it comes by another connection, and is loaded.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_STREAM_BUFFER_H
#define REPL_STREAM_BUFFER_H

#include "link_job.h"

/* The work of a job: put what comes on its connection into job->kept, until main has enough of it. Past job->keep_max
 * bytes of memory it reads no more: the rest waits where it comes from. */
void streamBufferWork(linkJob *job);

#endif
