/* reply_text.h -- a reply as text, in the style that was asked for.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_REPLY_TEXT_H
#define CLI_REPLY_TEXT_H

#include "reply_value.h"
#include "sds.h"

typedef enum { STYLE_AUTO, STYLE_PRETTY, STYLE_RAW, STYLE_CSV, STYLE_JSON, STYLE_QUOTED_JSON } replyStyle;

/* For people: types, numbering, quotes; ends with a newline. `prefix` indents nested lines. */
sds replyTextPretty(sds out, const replyValue *v, const char *prefix);
/* Bare values, one per line; `delimiter` stands between them and ends nothing. */
sds replyTextRaw(sds out, const replyValue *v, const char *delimiter);
sds replyTextCsv(sds out, const replyValue *v);
/* `ascii`: bytes beyond ASCII as escapes instead of as they are. */
sds replyTextJson(sds out, const replyValue *v, bool ascii);

#endif
