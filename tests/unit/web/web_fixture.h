/* web_fixture.h -- a table of commands with INFO, and users.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_WEB_FIXTURE_H
#define TESTS_WEB_FIXTURE_H

#include "acl.h"

/* Sets up the table; may be called again. */
void webFixture(void);
/* Runs ACL SETUSER with these words. */
void setUser(const char *name, const char *words);

#endif
