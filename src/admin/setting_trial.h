/* setting_trial.h -- a configuration read without effect: what would a start with it have?
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_TRIAL_H
#define ADMIN_SETTING_TRIAL_H

#include "acl_lines.h"

typedef struct settingTrial settingTrial;

/* Read `text` as the configuration file, and after it what the start read beside the file. NULL with *why, which the
 * caller owns, when a start would end there. */
settingTrial *settingTrialRun(const sds text, sds *why) must_check;
void settingTrialFree(settingTrial *t);
/* The value of a setting (its index in settingEntries()) by the file alone: the command line is given again at each
 * start, and may say otherwise. Borrowed. */
sds settingTrialText(const settingTrial *t, size_t entry);
/* The users of the file, its includes, and the command line. Borrowed. */
const aclLines *settingTrialUsers(const settingTrial *t);
/* NULL when settings and users would be those in force; else the first that would not, which the caller owns. */
sds settingTrialDiffer(const settingTrial *t);

#endif
