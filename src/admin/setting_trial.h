/* setting_trial.h -- loads a configuration without effect, to see which settings and users it would give.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_TRIAL_H
#define ADMIN_SETTING_TRIAL_H

#include "acl_lines.h"

typedef struct settingTrial settingTrial;

/* Loads `text` as the configuration file, and then the lines of settingFileExtra(). Returns NULL with *why, which the
 * caller owns, if the server would not start with them. */
settingTrial *settingTrialRun(const sds text, sds *why) must_check;
void settingTrialFree(settingTrial *t);
/* Returns the value that the file alone gives to a setting (its index in settingEntries()). The command line is
 * excluded, because it may differ at the next start. Borrowed. */
sds settingTrialText(const settingTrial *t, size_t entry);
/* Returns the users of the file, its includes and the command line. Borrowed. */
const aclLines *settingTrialUsers(const settingTrial *t);
/* Returns NULL if settings and users would equal the present ones; else a text with the first difference, which the
 * caller owns. */
sds settingTrialDiffer(const settingTrial *t);

#endif
