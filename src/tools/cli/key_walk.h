/* key_walk.h -- what the modes that walk over all keys share.
 *
 * A reply that makes no sense, or a lost connection, ends the program with a message.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_KEY_WALK_H
#define CLI_KEY_WALK_H

#include "session.h"

#define KEY_WALK_PAUSE_EVERY 100 /* steps */

/* Print what is going to happen, and how to be gentle with a busy server. */
void keyWalkTell(const cliSession *s, const char *question);
/* One step of SCAN with the options' pattern and count. Returns the keys (in the reply, the caller's) and moves
 * the cursor, a block of zmalloc. */
replyValue *keyWalkStep(cliSession *s, char **cursor, const replyValue **keys);
/* The reply, which is the caller's. */
replyValue *keyWalkAsk(cliSession *s, int argc, slice *words);
/* The key's type, which is the caller's; NULL when the key has gone. */
sds keyWalkType(cliSession *s, slice key);
/* How many elements a key of `type` has, and what they are called; 0 and "?" when that is not known. Without a key
 * (ptr NULL) only the name is told. */
long long keyWalkCount(cliSession *s, const char *type, slice key, const char **unit);
/* MEMORY USAGE with the options' samples. */
long long keyWalkMemory(cliSession *s, slice key);

#endif
