/* replication.h -- startup of the layer: connects its parts to each other and to the layers below.
 *
 * Runs on: main, at startup.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPLICATION_H
#define REPL_REPLICATION_H

#include "ae.h"

/* Initializes the layer. Call once, when the layers below are initialized. `hide_user_data` returns whether names of
 * keys stay out of the log. */
void replInit(aeEventLoop *loop, bool (*hide_user_data)(void));

/* Adds the commands of this layer to the command table. Call at startup only. */
void replCommandsRegister(void);

#endif
