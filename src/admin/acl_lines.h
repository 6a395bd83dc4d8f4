/* acl_lines.h -- users as lines of the configuration: "user NAME RULE ...".
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
/* Keep a line of two words or more, which are copied. NULL, or what is wrong with it (valid until the next call). A
 * name of a command is judged later, when every command has its final name. */
const char *aclLinesAdd(aclLines *lines, sds *words, int count) must_check;
/* Make the users. False with a line in the log. */
bool aclLinesApply(const aclLines *lines) must_check;
/* NULL when a start with these lines has the users that are in force; else what is not so, which the caller owns. */
sds aclLinesDiffer(const aclLines *lines);
/* The lines of all users but those that `elsewhere` has. The caller owns the text. */
sds aclLinesText(const aclLines *elsewhere);

#endif
