/* t_zset.h -- helpers that the files of sorted-set commands share.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_T_ZSET_H
#define COMMANDS_T_ZSET_H

#include "typed_key.h"
#include "value_zset.h"

/* Begins a reply of `members` elements; addReplyMember() adds each. With scores it is a flat array in RESP2, and an
 * array of pairs in RESP3. */
static inline void addReplyMembersLen(client *c, size_t members, bool with_scores) {
    addReplyArrayLen(c, (long long)members * (with_scores && c->resp < 3 ? 2 : 1));
}

/* Adds a member of such a reply. */
static inline void addReplyMember(client *c, slice member, double score, bool with_scores) {
    if (with_scores && c->resp >= 3) addReplyArrayLen(c, 2);
    addReplyBulk(c, member);
    if (with_scores) addReplyDouble(c, score);
}

/* Reports that `members` members were removed, and deletes the key if the set is empty. */
static inline void zsetShrunk(client *c, hashedKey key, const robj *o, const char *event, size_t members) {
    bool emptied = zsetCount(o) == 0;
    keyChanged(c, key, NOTIFY_ZSET, event, (long long)members);
    if (emptied) deleteEmptied(c, key);
}

/* Removes the members of these ranks, and the key if all members are among them; reports the change. */
static inline void zsetDeleteRanks(client *c, hashedKey key, robj *o, zsetRanks ranks, const char *event) {
    if (ranks.count < zsetCount(o)) {
        zsetRemoveRanks(o, ranks);
        keyChanged(c, key, NOTIFY_ZSET, event, (long long)ranks.count);
    } else {
        keyChanged(c, key, NOTIFY_ZSET, event, (long long)ranks.count);
        deleteEmptied(c, key);
    }
}

/* Stores the built set at `key` in place of any value; if it is empty, deletes the key. Replies with the number of
 * members. Frees the builder. */
static inline void zsetStoreBuilt(client *c, hashedKey key, zsetBuilder *b, const char *event) {
    size_t count = b->count;
    if (count) {
        setKeyTake(c->db, zsetBuildObject(b, key.name), key, false);
        keyChanged(c, key, NOTIFY_ZSET, event, 1);
    } else {
        zsetBuildDrop(b);
        deleteAndReport(c, key);
    }
    addReplyLongLong(c, (long long)count);
}

#endif
