/* setting_rewrite.h -- CONFIG REWRITE: updates the configuration file to the present values.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_REWRITE_H
#define ADMIN_SETTING_REWRITE_H

#include "sds.h"

/* Rewrites the file at `path`, which need not exist. Returns false with *why, which the caller owns; the file is then
 * unchanged. */
bool settingRewrite(const char *path, sds *why) must_check;
/* Returns the new text for a file with the text `old`. Returns NULL with *why if the server would not start with the
 * new text, or would have other settings or users than now. The caller owns both. */
sds settingRewriteText(const sds old, sds *why) must_check;

#endif
