/* t_zset.h -- what the files of sorted-set commands share.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_T_ZSET_H
#define COMMANDS_T_ZSET_H

#include "typed_key.h"
#include "value_zset.h"

/* Members with their scores as a reply of `members` elements: in RESP2 all in a row, in RESP3 a pair each. */
static inline void addReplyMembersLen(client *c, size_t members, bool with_scores) {
    addReplyArrayLen(c, (long long)members * (with_scores && c->resp < 3 ? 2 : 1));
}

static inline void addReplyMember(client *c, slice member, double score, bool with_scores) {
    if (with_scores && c->resp >= 3) addReplyArrayLen(c, 2);
    addReplyBulk(c, member);
    if (with_scores) addReplyDouble(c, score);
}

/* The members have changed; the key goes when none is left. */
static inline void zsetShrunk(client *c, hashedKey key, const robj *o, const char *event, size_t members) {
    bool emptied = zsetCount(o) == 0;
    keyChanged(c, key, NOTIFY_ZSET, event, (long long)members);
    if (emptied) deleteEmptied(c, key);
}

/* Take a row of members out, and the key with the last of them. */
static inline void zsetTakeRanks(client *c, hashedKey key, robj *o, zsetRanks ranks, const char *event) {
    if (ranks.count < zsetCount(o)) {
        zsetRemoveRanks(o, ranks);
        keyChanged(c, key, NOTIFY_ZSET, event, (long long)ranks.count);
    } else {
        keyChanged(c, key, NOTIFY_ZSET, event, (long long)ranks.count);
        deleteEmptied(c, key);
    }
}

/* Store what was built at `key`, whatever is there; nothing, and the key goes. Replies with the number of members. Ends
 * the builder. */
static inline void zsetStoreBuilt(client *c, hashedKey key, zsetBuilder *b, const char *event) {
    size_t count = b->count;
    if (count) {
        setKeyTake(c->db, zsetBuildObject(b, key.name), key, false);
        keyChanged(c, key, NOTIFY_ZSET, event, 1);
    } else {
        zsetBuildDrop(b);
        if (dbDelete(c->db, key)) keyChanged(c, key, NOTIFY_GENERIC, "del", 1);
    }
    addReplyLongLong(c, (long long)count);
}

#endif
