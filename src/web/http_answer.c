/* http_answer.c -- the head of an HTTP/1.1 response: status line and header fields.
 *
 * The date is computed here, because the C library's functions take a lock that a forked child might find locked.
 *
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/web/http_answer_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "http_answer.h"

#include "panic.h"

#include <stdio.h>
#include <string.h>

#define DAY_S 86400

static const struct {
    int status;
    const char *reason;
} reasons[] = {{200, "OK"},
               {304, "Not Modified"},
               {400, "Bad Request"},
               {401, "Unauthorized"},
               {403, "Forbidden"},
               {404, "Not Found"},
               {405, "Method Not Allowed"},
               {413, "Content Too Large"},
               {414, "URI Too Long"},
               {421, "Misdirected Request"},
               {431, "Request Header Fields Too Large"},
               {503, "Service Unavailable"},
               {505, "HTTP Version Not Supported"}};

const char *httpReason(int status) {
    for (size_t i = 0; i < array_len(reasons); i++)
        if (reasons[i].status == status) return reasons[i].reason;
    serverPanic("No reason is known for the HTTP status %d", status);
}

/* Writes a date such as "Sun, 06 Nov 1994 08:49:37 GMT". Years are counted from March, so that a leap day is the last
 * day of its year. */
static size_t putDate(char *out, size_t size, int64_t unix_s) {
    static const char days[] = "ThuFriSatSunMonTueWed", months[] = "MarAprMayJunJulAugSepOctNovDecJanFeb";
    int64_t day = unix_s / DAY_S, second = unix_s % DAY_S;
    int64_t since = day + 719468;                          /* days since the first of March of the year 0 */
    int64_t era = since / 146097, in_era = since % 146097; /* 400 years */
    int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * in_year + 2) / 153, in_month = in_year - (153 * month + 2) / 5 + 1;
    debugAssert(unix_s >= 0 && in_year >= 0 && in_year < 366);
    debugAssert(month >= 0 && month < 12 && in_month >= 1 && in_month <= 31);
    return (size_t)snprintf(out, size, "%.3s, %02d %.3s %lld %02d:%02d:%02d GMT", days + day % 7 * 3, (int)in_month,
                            months + month * 3, (long long)(era * 400 + year + (month >= 10)), (int)(second / 3600),
                            (int)(second / 60 % 60), (int)(second % 60));
}

size_t httpAnswerHead(char *out, const httpAnswer *a, int64_t unix_s) {
    char date[48];
    debugAssert(a->type || a->length == 0);             /* without a type there is no content */
    debugAssert(!a->extra || strstr(a->extra, "\r\n")); /* otherwise the next header field would be part of it */
    putDate(date, sizeof(date), unix_s);
    int n = snprintf(out, HTTP_HEAD_MAX, "HTTP/1.1 %d %s\r\nDate: %s\r\n", a->status, httpReason(a->status), date);
    if (a->type)
        n += snprintf(out + n, HTTP_HEAD_MAX - (size_t)n,
                      "Content-Type: %s\r\nContent-Length: %zu\r\nX-Content-Type-Options: nosniff\r\n", a->type,
                      a->length);
    n += snprintf(out + n, HTTP_HEAD_MAX - (size_t)n, "%s%s\r\n", a->extra ? a->extra : "",
                  a->closes       ? "Connection: close\r\n"
                  : a->keep_alive ? "Connection: keep-alive\r\n"
                                  : "");
    serverAssert(n < HTTP_HEAD_MAX);
    return (size_t)n;
}
