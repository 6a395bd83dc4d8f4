/* acl_file.h -- users in files: "user" lines of the configuration file, or a separate file (aclfile).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ACL_FILE_H
#define ADMIN_ACL_FILE_H

#include "sds.h"

/* Adds a line "user NAME RULE ..." of the configuration, given as two or more words. It is stored until aclFileStart().
 * Returns NULL, or an error text that is valid until the next call. Call only at startup. */
const char *aclFileAddLine(sds *words, int count) must_check;
/* Creates all users, of the configuration or of aclfile, and applies requirepass. Returns false after logging an error;
 * the process must then exit. Call at startup, after the configuration has been read. */
bool aclFileStart(void) must_check;
/* Replaces all users by those of aclfile. Returns NULL; or an error text, which the caller owns, if nothing has
 * changed. */
sds aclFileLoad(void) must_check;
/* Writes all users to aclfile. Returns false with errno set on failure. */
bool aclFileSave(void) must_check;

#endif
