/* reply_reader.h -- where one RESP2/RESP3 reply ends, for programs that only count and skip replies.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESP_REPLY_READER_H
#define RESP_REPLY_READER_H

#include "slice.h"

typedef struct replyScanner {
    int64_t pending; /* elements still to come before the reply is whole */
    int64_t skip;    /* bytes of a bulk body still to skip */
    char first_type; /* type byte of the reply at hand: '+', '-', ... ('|' when attributes stand before it) */
    bool bad;        /* malformed: no more is consumed */
} replyScanner;

void replyScannerReset(replyScanner *s);
/* Consume bytes of [p, p+len) up to the end of one reply. Returns bytes consumed; *whole tells whether the reply is
 * complete (then reset before the next). A header line that is split is not consumed (call again with more bytes). */
size_t replyScan(replyScanner *s, const char *p, size_t len, bool *whole);

#endif
