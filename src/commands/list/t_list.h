/* t_list.h -- helpers that t_list.c and t_list_move.c share.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_T_LIST_H
#define COMMANDS_T_LIST_H

#include "typed_key.h"
#include "value_list.h"

/* Removes `n` elements from an end of a list, which has at least as many, and reports that as LPOP or RPOP. If none
 * would be left, the key is deleted with them: freeing a large list in one piece may happen in the background. */
void listDeletePopped(client *c, hashedKey key, robj *o, listEnd end, size_t n);
/* Does the same, and adds the elements to the reply. */
void listPop(client *c, hashedKey key, robj *o, listEnd end, size_t n);
/* Returns the event of popping from that end. */
static inline const char *listPopEvent(listEnd end) { return end == LIST_HEAD ? "lpop" : "rpop"; }

#endif
