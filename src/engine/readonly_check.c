/* readonly_check.c -- debug builds check that a command with the flag readonly changes nothing.
 *
 * The keys of the command are compared before and after it by fingerprints: hashes of 64 bits of a value's address,
 * encoding and content. A command that only reads may one day run in parallel with others. So it changes nothing but
 * counters and bits of use: no conversion, no cached position, no rehashing step, no removal of an expired field.
 *
 * Exempt are a command that met an expired key (lookups delete it), one during which other commands ran, one that
 * failed (new errors change their table), and one that may be propagated although it is flagged readonly (PFCOUNT,
 * which stores a count).
 *
 * Cost        debug builds only; for values of many elements, only sizes and addresses are compared.
 * Tests       tests/type, under sanitizers
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "key_check.h"

#ifdef DEBUG_ASSERTIONS
#include "command_table.h"
#include "digest.h"
#include "panic.h"

#define KEYS_MAX 16
#define EFFORT_MAX 300
#define BYTES_MAX 4096 /* of a string */
/* A debug build would spend most of its time on digests of large values: values above SMALL get one for every sixteenth
 * command, values above MAX for none. */
#define STRUCTURE_BYTES_SMALL 2048
#define STRUCTURE_BYTES_MAX (128 * 1024)
#define EVERY 16

static uint64_t readonlyCheckMix(uint64_t sum, uint64_t word) {
    return (sum ^ word) * 0x9e3779b97f4a7c15ull + (sum >> 29);
}

static uint64_t fingerprintOf(const robj *o, long long commands) {
    uint64_t sum = readonlyCheckMix((uintptr_t)o, (uint64_t)o->type << 8 | o->encoding);
    if (o->type != OBJ_STRING) {
        const dict *table = objectElements(o);
        sum = readonlyCheckMix(sum, (uintptr_t)objectStructure(o));
        if (table)
            sum = readonlyCheckMix(readonlyCheckMix(readonlyCheckMix(sum, dictSize(table)), dictMemUsage(table)),
                                   dictChanges(table));
    }
    if (objectFreeEffort(o) > EFFORT_MAX || (o->type == OBJ_STRING && objectStringLen(o) > BYTES_MAX)) return sum;
    size_t bytes = objectMemUsage(o, 0);
    sum = readonlyCheckMix(sum, bytes);
    if (bytes > (commands % EVERY ? STRUCTURE_BYTES_SMALL : STRUCTURE_BYTES_MAX) && o->type != OBJ_STRING) return sum;
    digest d = {{0}};
    digestMixValue(&d, o);
    return readonlyCheckMix(sum, hashBytes((const char *)d.bytes, DIGEST_BYTES));
}

static uint64_t fingerprintOfKeys(const client *c, long long commands) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < c->req->nkeys && i < KEYS_MAX; i++) {
        const requestKey *k = &c->req->keys[i];
        hashedKey key = {c->req->argv[k->index], k->hash};
        const robj *o = dictFind(dbDict(c->db, key.hash), key.name, key.hash);
        sum = readonlyCheckMix(sum, o ? fingerprintOf(o, commands) : 1);
    }
    return readonlyCheckMix(sum, dictChanges(dbDict(c->db, c->req->nkeys ? c->req->keys[0].hash : 0)));
}

readonlyMark readonlyBegin(const client *c, long long commands) {
    if ((c->cmd->flags & (CMD_READONLY | CMD_WRITE)) != CMD_READONLY || !c->req || c->cmd->flags & CMD_MAY_REPLICATE ||
        c->flags & (CLIENT_PRIMARY | CLIENT_REPLAYS))
        return (readonlyMark){.on = false};
    return (readonlyMark){.on = true,
                          .fingerprint = fingerprintOfKeys(c, commands),
                          .expired = store_stats.expired_keys,
                          .commands = commands,
                          .errors = c->error_replies};
}

void readonlyEnd(const client *c, const readonlyMark *before, long long commands) {
    if (!before->on || before->expired != store_stats.expired_keys || before->errors != c->error_replies ||
        before->commands != commands)
        return;
    serverAssert(fingerprintOfKeys(c, commands) == before->fingerprint);
}
#endif
