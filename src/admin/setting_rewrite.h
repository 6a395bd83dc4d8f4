/* setting_rewrite.h -- bring the configuration file up to date with the values in force.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_REWRITE_H
#define ADMIN_SETTING_REWRITE_H

#include "sds.h"

/* Rewrite the file at `path`, which need not exist. False with *why, which the caller owns: the file is as it was. */
bool settingRewrite(const char *path, sds *why) must_check;
/* The new text for a file whose text is `old`. NULL with *why when a start with it would end, or would have other
 * settings or users than are in force now. The caller owns either. */
sds settingRewriteText(const sds old, sds *why) must_check;

#endif
