/* acl_lines.h -- lists of "user NAME RULE ..." lines of the configuration.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ACL_LINES_H
#define ADMIN_ACL_LINES_H

#include "sds.h"

typedef struct aclLines aclLines;

aclLines *aclLinesCreate(void);
void aclLinesFree(aclLines *lines);
bool aclLinesEmpty(const aclLines *lines);
/* Adds a line of two or more words, which are copied. Returns NULL, or an error text that is valid until the next call.
 * A rule with an unknown command name is accepted: it is checked by aclLinesApply(), when all commands have their final
 * names. */
const char *aclLinesAdd(aclLines *lines, sds *words, int count) must_check;
/* Creates the users. Returns false after logging an error. */
bool aclLinesApply(const aclLines *lines) must_check;
/* Returns NULL if these lines would create exactly the present users; else a text with the first difference, which the
 * caller owns. */
sds aclLinesDiffer(const aclLines *lines);
/* Returns the lines of all users except those that `elsewhere` has. The caller owns the text. */
sds aclLinesText(const aclLines *elsewhere);

#endif
