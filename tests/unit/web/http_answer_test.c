/* http_answer_test.c -- headers of responses to the byte; dates compared with the C library's.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "http_answer.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

TEST(http_answer_heads) {
    char head[HTTP_HEAD_MAX];
    httpAnswer a = {.status = 200, .type = "text/plain", .length = 12, .extra = "A: b\r\n"};
    size_t len = httpAnswerHead(head, &a, 784111777);
    CHECK_EQ_STR(head, "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\n"
                       "Content-Length: 12\r\nX-Content-Type-Options: nosniff\r\nA: b\r\n\r\n");
    CHECK_EQ_INT(len, strlen(head));
    a = (httpAnswer){.status = 304, .closes = true, .keep_alive = true};
    httpAnswerHead(head, &a, 0);
    CHECK_EQ_STR(head, "HTTP/1.1 304 Not Modified\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nConnection: close\r\n\r\n");
    a = (httpAnswer){.status = 304, .keep_alive = true};
    httpAnswerHead(head, &a, 0);
    CHECK(strstr(head, "\r\nConnection: keep-alive\r\n\r\n") != NULL);
}

TEST(http_answer_dates) {
    uint64_t rng = unitRandomSeed();
    for (int i = 0; i < 5000; i++) {
        char head[HTTP_HEAD_MAX], date[64];
        /* Up to the year 2500, and the days around the ends of February. */
        time_t at = i < 2000 ? (time_t)i * 31557600 / 4 + (time_t)(unitRandom(&rng) % 86400)
                             : (time_t)(unitRandom(&rng) % 16725225600);
        struct tm parts;
        strftime(date, sizeof(date), "\r\nDate: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&at, &parts));
        httpAnswerHead(head, &(httpAnswer){.status = 404}, at);
        if (!CHECK(strstr(head, date) != NULL)) break;
    }
}
