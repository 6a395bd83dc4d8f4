/* setting_rewrite.h -- bring the configuration file up to date with the values in force.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_REWRITE_H
#define ADMIN_SETTING_REWRITE_H

#include "sds.h"

/* Rewrite the file at `path`, which need not exist. C_ERR with errno leaves it as it was. */
int settingRewrite(const char *path) must_check;
/* The new text for a file whose text is `old`. The caller owns it. */
sds settingRewriteText(const sds old);

#endif
