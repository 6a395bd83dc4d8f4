/* reply_format.h -- replies as bytes: the headers and scalars of RESP2 and RESP3.
 *
 * Each function writes to `out` and returns the number of bytes. Nothing allocates. `out` has room for RESP_HEADER_MAX
 * bytes unless said otherwise.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESP_REPLY_FORMAT_H
#define RESP_REPLY_FORMAT_H

#include "slice.h"

#define RESP_HEADER_MAX 32
#define RESP_DOUBLE_MAX 160 /* room for respDouble in either protocol */

/* "<prefix><n>\r\n": prefix one of : $ * % ~ > | */
size_t respHeader(char *out, char prefix, long long n);
/* RESP3 ",3.14\r\n"; RESP2 "$4\r\n3.14\r\n". */
size_t respDouble(char *out, double v, int resp);
size_t respBool(char *out, bool v, int resp); /* RESP3 #t; RESP2 :1 */
size_t respNull(char *out, int resp);         /* RESP3 "_"; RESP2 "$-1" */
size_t respNullArray(char *out, int resp);    /* RESP3 "_"; RESP2 "*-1" */

#endif
