/* http_answer.h -- the head of an HTTP/1.1 response: status line and header fields.
 *
 * Threads     any: there is no state.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_HTTP_ANSWER_H
#define WEB_HTTP_ANSWER_H

#include "platform.h"

#define HTTP_HEAD_MAX 2048

typedef struct httpAnswer {
    int status;
    const char *type;  /* Content-Type; NULL for a response without content (304) */
    size_t length;     /* bytes of the content, even if it is not sent (HEAD) */
    const char *extra; /* more header fields, each with its line end; or NULL */
    bool closes;       /* the connection is closed after the response */
    bool keep_alive;   /* the connection stays open, which the peer would not assume */
} httpAnswer;

/* Writes the head, its empty line included, with `unix_s` as the date, and returns its length. `out` has HTTP_HEAD_MAX
 * bytes, in which `extra` must fit, too. */
size_t httpAnswerHead(char *out, const httpAnswer *a, int64_t unix_s);
/* Returns the text of a status: "Not Found" for 404. */
const char *httpReason(int status);

#endif
