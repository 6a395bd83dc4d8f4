/* http_answer.h -- the head of an HTTP/1.1 answer: status line and fields.
 *
 * Threads     any: nothing is kept.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_HTTP_ANSWER_H
#define WEB_HTTP_ANSWER_H

#include "platform.h"

#define HTTP_HEAD_MAX 2048

typedef struct httpAnswer {
    int status;
    const char *type;  /* Content-Type; NULL: there is no content at all (304) */
    size_t length;     /* of the content, also where it is not sent (HEAD) */
    const char *extra; /* more fields, each with its end of line; or NULL */
    bool closes;       /* the connection ends behind it */
    bool says_keep;    /* it stays, which the peer would not assume */
} httpAnswer;

/* Write it, with the empty line, for the time `unix_s`. Returns its length; `out` has HTTP_HEAD_MAX bytes, in which
 * `extra` must leave room. */
size_t httpAnswerHead(char *out, const httpAnswer *a, int64_t unix_s);
/* "Not Found" for 404. */
const char *httpReason(int status);

#endif
