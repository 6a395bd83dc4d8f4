/* text_escape.h -- any bytes as a string of JSON, or as text of XML.
 *
 * What is no UTF-8 becomes the replacement character: both formats know text only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_TEXT_ESCAPE_H
#define BENCH_TEXT_ESCAPE_H

#include "sds.h"

/* With its quotes; `s` NULL: null. */
sds catJsonString(sds out, const char *s);
/* Good in an element and in a quoted attribute. */
sds catXmlText(sds out, const char *s);

#endif
