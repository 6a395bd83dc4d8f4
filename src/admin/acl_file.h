/* acl_file.h -- users in files: lines of the configuration, or a file of their own (aclfile).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ACL_FILE_H
#define ADMIN_ACL_FILE_H

#include "sds.h"

/* A line "user NAME RULE ..." of the configuration, two words or more, which are sds. It is kept until aclFileStart().
 * NULL, or what is wrong with it (valid until the next call). Boot. */
const char *aclFileAddLine(sds *words, int count) must_check;
/* All users of the configuration or of aclfile, and requirepass. False with a line in the log: the process ends. Boot,
 * when the configuration has been read. */
bool aclFileStart(void) must_check;
/* The file's users take the place of all there are. NULL, or the text of an error, which is the caller's, and nothing
 * has changed. */
sds aclFileLoad(void) must_check;
/* Write all users to the file. False with errno. */
bool aclFileSave(void) must_check;

#endif
