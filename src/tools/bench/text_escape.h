/* text_escape.h -- escapes arbitrary bytes as a JSON string or as XML text.
 *
 * Bytes that are not UTF-8 become the replacement character, as both formats are text.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_TEXT_ESCAPE_H
#define BENCH_TEXT_ESCAPE_H

#include "sds.h"

/* Appends a JSON string with its quotes; null if `s` is NULL. */
sds catJsonString(sds out, const char *s);
/* Appends text that is valid in an element and in a quoted attribute. */
sds catXmlText(sds out, const char *s);

#endif
