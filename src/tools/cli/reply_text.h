/* reply_text.h -- formats a reply as text, in one of several styles.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_REPLY_TEXT_H
#define CLI_REPLY_TEXT_H

#include "reply_value.h"
#include "sds.h"

typedef enum { STYLE_AUTO, STYLE_PRETTY, STYLE_RAW, STYLE_CSV, STYLE_JSON, STYLE_QUOTED_JSON } replyStyle;

/* Appends a reply for people: with types, numbers and quotes. Ends with a newline. `prefix` indents nested lines. */
sds replyTextPretty(sds out, const replyValue *v, const char *prefix);
/* Appends bare values, with `delimiter` between them and not after the last. */
sds replyTextRaw(sds out, const replyValue *v, const char *delimiter);
/* Appends all values of a reply as one row of CSV. */
sds replyTextCsv(sds out, const replyValue *v);
/* Appends a reply as JSON. With `ascii`, non-ASCII bytes are written as escapes. */
sds replyTextJson(sds out, const replyValue *v, bool ascii);

#endif
