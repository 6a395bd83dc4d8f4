/* reply_format.h -- writes the headers and scalars of RESP2 and RESP3 replies.
 *
 * Each function writes to `out` and returns the number of bytes. Nothing allocates. `out` has at least RESP_HEADER_MAX
 * bytes unless a comment says otherwise.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESP_REPLY_FORMAT_H
#define RESP_REPLY_FORMAT_H

#include "slice.h"

#define RESP_HEADER_MAX 32
#define RESP_DOUBLE_MAX 160 /* size of the output of respDouble() in either protocol */

/* Writes "<prefix><n>\r\n"; the prefix is one of : $ * % ~ > | */
size_t respHeader(char *out, char prefix, long long n);
/* Writes a double: ",3.14\r\n" in RESP3, "$4\r\n3.14\r\n" in RESP2. `out` has RESP_DOUBLE_MAX bytes. */
size_t respDouble(char *out, double v, int resp);
size_t respBool(char *out, bool v, int resp); /* RESP3 #t; RESP2 :1 */
size_t respNull(char *out, int resp);         /* RESP3 "_"; RESP2 "$-1" */
size_t respNullArray(char *out, int resp);    /* RESP3 "_"; RESP2 "*-1" */

#endif
