/* apply_faults.h -- what a replica does about commands of its primary that fail here, or that its disk will not have.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_APPLY_FAULTS_H
#define REPL_APPLY_FAULTS_H

#include "client.h"

/* Boot. `hide_user_data`: whether what users have sent stays out of the log. */
void applyFaultsInit(bool (*hide_user_data)(void));
/* A command of the primary has run. */
void applyFaultsCheck(const client *c);

#endif
