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
/* Take `n` elements from an end of a list, which has so many, and tell of it by `event`. A list of which nothing would
 * be left goes as a whole: it may be large. */
void listTakeElements(client *c, hashedKey key, robj *o, listEnd end, size_t n, const char *event);

#endif
