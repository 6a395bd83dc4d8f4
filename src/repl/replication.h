/* replication.h -- the layer as a whole: its parts wired to each other and to those below.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPLICATION_H
#define REPL_REPLICATION_H

#include "ae.h"

/* Boot, behind the parts of lower layers. `hide_user_data`: whether names of keys stay out of the log. */
void replInit(aeEventLoop *loop, bool (*hide_user_data)(void));

/* Put what this layer shows and offers into the tables of the layers below. Boot only. */
void replCommandsRegister(void);

#endif
