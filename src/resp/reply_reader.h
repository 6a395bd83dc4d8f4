/* reply_reader.h -- finds the end of a RESP2/RESP3 reply, for programs that only count and skip replies.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESP_REPLY_READER_H
#define RESP_REPLY_READER_H

#include "slice.h"

typedef struct replyScanner {
    int64_t pending; /* elements still to come before the reply is whole */
    int64_t skip;    /* bytes of a bulk body still to skip */
    char first_type; /* type byte of the current reply: '+', '-', ... ('|' if attributes precede it) */
    bool bad;        /* malformed: nothing more is consumed */
} replyScanner;

void replyScannerReset(replyScanner *s); /* call before each reply */
/* Consumes bytes of [p, p+len) up to the end of one reply and returns how many. *whole becomes true if the reply is
 * complete: reset the scanner before the next one. A partial header line is not consumed; call again with more
 * bytes. */
size_t replyScan(replyScanner *s, const char *p, size_t len, bool *whole);

#endif
