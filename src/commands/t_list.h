/* t_list.h -- what the files of list commands share.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_T_LIST_H
#define COMMANDS_T_LIST_H

#include "typed_key.h"
#include "value_list.h"

/* Append `n` elements to the reply, from number `from` on, which are there; backward: towards the front. */
void addReplyListRange(client *c, const robj *o, size_t from, size_t n, bool backward);
/* Elements have been taken from a list: tell of it, `event` and their number, and delete the key if it is empty. */
void listElementsTaken(client *c, hashedKey key, robj *o, const char *event, size_t n);

#endif
