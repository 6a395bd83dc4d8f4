/* t_list.h -- helpers that t_list.c and t_list_move.c share.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_T_LIST_H
#define COMMANDS_T_LIST_H

#include "typed_key.h"
#include "value_list.h"

/* Adds `n` elements to the reply, from index `from` on, in the direction of the tail or, if `backward`, of the head.
 * The caller makes sure that they exist. */
void addReplyListRange(client *c, const robj *o, size_t from, size_t n, bool backward);
/* Removes `n` elements from an end of a list, which has at least as many, and reports that as `event`. If none would be
 * left, the key is deleted with them: freeing a large list in one piece may happen in the background. */
void listTakeElements(client *c, hashedKey key, robj *o, listEnd end, size_t n, const char *event);

#endif
