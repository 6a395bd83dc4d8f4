/* propagated_test.c -- commands that are propagated give the same dataset elsewhere.
 *
 * Three clients run random commands, in and out of transactions, some of them blocking. The clock jumps, keys and
 * fields expire, and are deleted or stay. A sink records the propagated commands. Then the dataset is printed, emptied,
 * and made again from these commands without expiring anything, as when a file is loaded. Both must be equal: each key
 * with its expire, its elements with their TTLs, groups with their consumers and pending entries.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client/client_fixture.h"
#include "command_fixture.h"
#include "bio.h"
#include "blocking.h"
#include "call.h"
#include "clock.h"
#include "command_record.h"
#include "db_walk.h"
#include "digest.h"
#include "engine.h"
#include "expire.h"
#include "gates.h"
#include "propagate.h"
#include "rax.h"
#include "rdb_value.h"
#include "transaction_queue.h"
#include "unit.h"
#include "value_hash.h"
#include "value_stream_groups.h"
#include "value_stream_idmp.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS 3
#define COMMANDS 100 /* few, so that a difference is not deleted again before the end */

/* ---- The propagated commands  */

static sds stream_text;
static int stream_db;
static unsigned open_units;

static void take(const propagateItem *item) {
    if (item->dbid >= 0 && item->dbid != stream_db) {
        stream_db = item->dbid;
        stream_text =
            sdsCatPrintf(stream_text, "*2\r\n$6\r\nSELECT\r\n$%d\r\n%d\r\n", stream_db > 9 ? 2 : 1, stream_db);
    }
    for (uint32_t i = 0; i < item->count; i++)
        stream_text = sdsCatLen(stream_text, item->pieces[i].ptr, item->pieces[i].len);
    open_units = !item->ends_unit;
}

static const propagateSink sink = {PROPAGATE_AOF, take};

/* ---- Printing the dataset --------- */

typedef struct lines {
    sds *at; /* owns the lines */
    size_t count, room;
} lines;

static void addLine(lines *l, sds line) {
    if (l->count == l->room) {
        l->room = l->room ? l->room * 2 : 64;
        l->at = zrealloc(l->at, l->room * sizeof(*l->at));
    }
    l->at[l->count++] = line;
}

static int compareLines(const void *a, const void *b) { return sdsCmp(*(const sds *)a, *(const sds *)b); }

static void freeLines(lines *l) {
    for (size_t i = 0; i < l->count; i++) sdsFree(l->at[i]);
    zfree(l->at);
    *l = (lines){0};
}

static sds catText(sds s, slice text) { return sdsCatRepr(s, text.ptr, text.len); }

static void writeHash(lines *l, sds name, const robj *o) {
    hashIter it;
    hashIterBegin(&it, o);
    for (const hashPair *p; (p = hashIterNext(&it));) {
        sds line = catText(catText(sdsCatPrintf(sdsDup(name), " field "), p->name), p->value);
        addLine(l, sdsCatPrintf(line, " %lld", (long long)p->when_ms));
    }
    hashIterEnd(&it);
}

static void writeGroup(lines *l, sds name, const streamGroup *g) {
    addLine(l, sdsCatPrintf(sdsDup(name), " read %llu-%llu %lld", (unsigned long long)g->last_id.ms,
                            (unsigned long long)g->last_id.seq, (long long)g->entries_read));
    raxIterator it;
    for (bool on = raxIterFirst(&it, g->consumers); on; on = raxIterNext(&it))
        addLine(l, catText(sdsCatPrintf(sdsDup(name), " consumer "), streamConsumerName(raxIterValue(&it))));
    raxIterEnd(&it);
    streamPendingWalk w;
    streamPendingFrom(&w, g, NULL, STREAM_ID_MIN);
    for (const streamPending *p; (p = streamPendingNext(&w));)
        addLine(l, sdsCatPrintf(sdsDup(name), " pending %llu-%llu of %.*s, %llu times, at %lld",
                                (unsigned long long)p->id.ms, (unsigned long long)p->id.seq, (int)p->consumer->name_len,
                                p->consumer->name, (unsigned long long)p->deliveries, (long long)p->delivered_ms));
}

static void writeSent(lines *l, sds name, const stream *s) {
    if (!s->idmp) return;
    addLine(l, sdsCatPrintf(sdsDup(name), " sent for %llu s, most %llu, added %llu, again %llu",
                            (unsigned long long)s->idmp->duration_s, (unsigned long long)s->idmp->max_entries,
                            (unsigned long long)s->idmp->added, (unsigned long long)s->idmp->duplicates));
    for (const streamSent *sent = s->idmp->list.first; sent; sent = sent->next[SENT_OF_STREAM]) {
        sds line = catText(sdsCatPrintf(sdsDup(name), " sent by "), streamProducerName(sent->producer));
        addLine(l, sdsCatPrintf(catText(sdsCat(line, " as "), streamSentName(sent)), " %llu-%llu",
                                (unsigned long long)sent->id.ms, (unsigned long long)sent->id.seq));
    }
}

static void writeStream(lines *l, sds name, const robj *o) {
    const stream *s = objectStructure(o);
    addLine(l, sdsCatPrintf(sdsDup(name), " last %llu-%llu added %llu deleted %llu-%llu",
                            (unsigned long long)s->last_id.ms, (unsigned long long)s->last_id.seq,
                            (unsigned long long)s->entries_added, (unsigned long long)s->max_deleted_id.ms,
                            (unsigned long long)s->max_deleted_id.seq));
    writeSent(l, name, s);
    if (!s->groups) return;
    raxIterator it;
    for (bool on = raxIterFirst(&it, s->groups); on; on = raxIterNext(&it)) {
        sds group = catText(sdsCatPrintf(sdsDup(name), " group "), raxIterKey(&it));
        writeGroup(l, group, raxIterValue(&it));
        sdsFree(group);
    }
    raxIterEnd(&it);
}

static void writeKey(lines *l, int id, robj *o) {
    sds name = catText(sdsCatPrintf(sdsEmpty(), "%d ", id), objectKey(o));
    sds line = sdsCatPrintf(sdsDup(name), " type %d expire %lld", o->type, (long long)objectExpire(o));
    if (o->type == OBJ_HASH) {
        writeHash(l, name, o);
    } else {
        digest d = {{0}};
        digestMixValue(&d, o);
        line = sdsCatRepr(sdsCatPrintf(line, " digest "), (const char *)d.bytes, DIGEST_BYTES);
    }
    if (o->type == OBJ_STREAM) writeStream(l, name, o);
    addLine(l, line);
    sdsFree(name);
}

static lines writeDown(void) {
    lines l = {0};
    for (int id = 0; id < dbCount(); id++) {
        dbIterator it;
        dbIterBegin(&it, dbGet(id), false);
        for (robj *o; (o = dbIterNext(&it));) writeKey(&l, id, o);
        dbIterEnd(&it);
    }
    if (l.count) qsort(l.at, l.count, sizeof(*l.at), compareLines);
    return l;
}

static bool sameLines(const lines *a, const lines *b) {
    bool same = CHECK_EQ_INT(a->count, b->count);
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        if (sdsCmp(a->at[i], b->at[i]) == 0) continue;
        CHECK_EQ_STR(b->at[i], a->at[i]);
        return false;
    }
    return same;
}

/* ---- Clients ---- */

static client *clients[CLIENTS], *reader;

static void unblocked(client *c) { unused(c); }

static void runArgs(client *c, const slice *argv, size_t argc) {
    alignas(16) char room[8192];
    recordArena arena;
    recordCache cache = {0};
    recordArenaInit(&arena, room, sizeof(room));
    parsedCommand *made = recordCreate(&arena, argc);
    memcpy(made->argv, argv, argc * sizeof(*argv));
    recordComplete(&arena, &cache, made, 0);
    parsedCommand *p = recordDetach(made);
    monotime now = clockTicks();
    CHECK_EQ_INT(processCommand(c, p, &now), CALL_DONE);
    transactionLeaveBlock(c);
    if (blocking_ready) callServeBlocked(&now);
    recordFree(p);
    recordArenaFree(&arena);
}

static sds runLine(client *c, const char *line) {
    int argc;
    slice argv[256];
    sds *words = sdsSplitArgs(line, &argc);
    for (int i = 0; i < argc; i++) argv[i] = sdsSlice(words[i]);
    runArgs(c, argv, (size_t)argc);
    sdsFreeSplitRes(words, argc);
    return fixtureReplies(c);
}

static void begin(void) {
    if (reader) return;
    fixtureInit();
    fixtureBackground();
    objectTypesRegister();
    fixtureCommands();
    fixtureTransactions();
    fixtureBlocking(unblocked);
    fixturePubsub();
    propagateInit();
    reader = clientCreate(NULL, -1, "", "", false);
    reader->authenticated = true;
    reader->flags |= CLIENT_REPLAYS;
    stream_text = sdsEmpty();
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = fixtureClient(2);
        clients[i]->authenticated = true;
    }
}

/* ---- Random commands ---- */

static uint64_t seed;
static int64_t now_ms;

static unsigned below(unsigned n) { return (unsigned)(unitRandom(&seed) % n); }

/* Returns the stream by this name of any database; NULL if there is none. */
static const stream *streamNamed(const char *name) {
    hashedKey key = hashedKeyOf(sliceStr(name));
    for (int id = 0; id < dbCount(); id++) {
        const robj *o = lookupKeyReadWithFlags(dbGet(id), key, LOOKUP_PEEK);
        if (o && o->type == OBJ_STREAM) return objectStructure(o);
    }
    return NULL;
}

static char last_key[3]; /* of the command that is being made */
static char last_group[3] = "g0";

/* Appends an ID that is pending in a group of the command's key, or any other if there is none. */
static sds catPendingId(sds s) {
    const stream *of = streamNamed(last_key);
    const streamGroup *g = of ? streamGroupFind(of, sliceStr(last_group)) : NULL;
    streamPendingWalk w;
    streamPending *p = NULL;
    if (g) streamPendingFrom(&w, g, NULL, STREAM_ID_MIN);
    for (unsigned n = g ? 1 + below(5) : 0; n; n--) {
        streamPending *next = streamPendingNext(&w);
        if (!next) break;
        p = next;
    }
    if (!p) return sdsCatPrintf(s, "%u-%u", below(30), below(3));
    return sdsCatPrintf(s, "%llu-%llu", (unsigned long long)p->id.ms, (unsigned long long)p->id.seq);
}

/* Appends the word for a letter after '%': k l s z h x any key, mostly of that type, f a field or member, v a value, n
 * a small number, t a time from now, T and U one since 1970 in milliseconds and seconds, i an ID of a stream, P one
 * that is pending, g a group, c a consumer, d a database, e LEFT or RIGHT, p a pair of field and value. */
static sds catPart(sds s, char what) {
    static const char kinds[] = "klszhx";
    if (strchr(kinds, what)) {
        if (below(12) == 0) what = kinds[below(6)];
        snprintf(last_key, sizeof(last_key), "%c%u", what, below(3));
        return sdsCat(s, last_key);
    }
    long long past_or_future = (long long)now_ms + (long long)below(4000) - 1000;
    switch (what) {
    case 'f': return sdsCatPrintf(s, "f%u", below(6));
    case 'v': return below(3) ? sdsCatPrintf(s, "%u", below(50)) : sdsCatPrintf(s, "value%u", below(1000));
    case 'n': return sdsCatPrintf(s, "%u", 1 + below(4));
    case 't': return sdsCatPrintf(s, "%u", 1 + below(3000));
    case 'T': return sdsCatPrintf(s, "%lld", past_or_future);
    case 'U': return sdsCatPrintf(s, "%lld", past_or_future / 1000);
    case 'i': return sdsCatPrintf(s, "%u-%u", below(30), below(3));
    case 'P': return catPendingId(s);
    case 'g': last_group[1] = (char)('0' + below(2)); return sdsCat(s, last_group);
    case 'c': return sdsCatPrintf(s, "c%u", below(3));
    case 'd': return sdsCatPrintf(s, "%u", below(3));
    case 'e': return sdsCatPrintf(s, "%s", below(2) ? "LEFT" : "RIGHT");
    case 'p': return sdsCatPrintf(s, "f%u v%u", below(6), below(100));
    default: return sdsCatPrintf(s, "%c", what);
    }
}

static const char *const templates[] = {
    /* strings */
    "SET %k %v",
    "SET %k %v",
    "SET %k %v NX",
    "SET %k %v XX GET",
    "SET %k %v KEEPTTL",
    "SET %k %v IFEQ %v GET",
    "SET %k %v IFNE %v GET",
    "SET %k %v IFNE %v KEEPTTL",
    "SET %k %v PX %t IFDNE 0000000000000000",
    "SET %k %v PX %t",
    "SET %k %v EX 2 NX GET",
    "SET %k %v PXAT %T",
    "SET %k %v EXAT %U XX",
    "SETNX %k %v",
    "SETEX %k 2 %v",
    "PSETEX %k %t %v",
    "GETSET %k %v",
    "GETDEL %k",
    "DELIFEQ %k %v",
    "DELEX %k IFNE %v",
    "GETEX %k PX %t",
    "GETEX %k PXAT %T",
    "GETEX %k PERSIST",
    "APPEND %k %v",
    "SETRANGE %k %n %v",
    "INCR %k",
    "DECRBY %k %n",
    "INCRBYFLOAT %k 0.%n",
    "MSET %k %v %k %v",
    "MSETNX %k %v %k %v",
    "MSETEX 2 %k %v %k %v PX %t",
    "MSETEX 1 %k %v PXAT %T XX",
    "SETBIT %k 1%n 1",
    "BITFIELD %k SET u8 %n %n INCRBY i4 2 %n",
    "BITOP XOR %k %k %k",
    "BITOP ONE %k %k %k %k",
    "BITOP DIFF1 %k %k %k",
    "PFADD %k %f %f",
    "PFMERGE %k %k %k",
    "GET %k",
    "MGET %k %l %s",
    /* any key */
    "DEL %k %l",
    "UNLINK %h %x",
    "RENAME %k %k",
    "RENAMENX %l %l",
    "COPY %h %h REPLACE",
    "COPY %x %x",
    "MOVE %s %d",
    "COPY %z %z DB %d REPLACE",
    "PEXPIRE %k %t",
    "PEXPIRE %h %t NX",
    "PEXPIREAT %l %T",
    "EXPIREAT %z %U GT",
    "EXPIRE %x 2 XX",
    "PERSIST %k",
    "EXISTS %k %l %s %z %h %x",
    "RANDOMKEY",
    "SCAN 0",
    "SWAPDB %d %d",
    "SELECT %d",
    "SELECT 0",
    "SELECT 0",
    "SORT %l ALPHA STORE %l",
    "SORT %s BY nosort GET %h->f1 GET # STORE %l",
    "FLUSHDB",
    /* lists */
    "LPUSH %l %v %v",
    "RPUSH %l %v %v %v",
    "RPUSHX %l %v",
    "LPOP %l",
    "RPOP %l %n",
    "LSET %l 0 %v",
    "LINSERT %l BEFORE %v %v",
    "LTRIM %l 0 %n",
    "LREM %l 0 %v",
    "LMOVE %l %l %e %e",
    "RPOPLPUSH %l %l",
    "LMPOP 2 %l %l %e COUNT %n",
    "BLPOP %l %l 0",
    "BRPOP %l 0",
    "BLMOVE %l %l %e %e 0",
    "BRPOPLPUSH %l %l 0",
    "BLMPOP 0 2 %l %l %e COUNT %n",
    /* sets */
    "SADD %s %f %f %v",
    "SADD %s %n %n",
    "SREM %s %f %n",
    "SMOVE %s %s %f",
    "SPOP %s",
    "SPOP %s %n",
    "SPOP %s 20",
    "SINTERSTORE %s %s %s",
    "SUNIONSTORE %s %s %s",
    "SDIFFSTORE %s %s %s",
    /* sorted sets */
    "ZADD %z %n %f %n %f",
    "ZADD %z XX CH %n.5 %f",
    "ZADD %z INCR %n %f",
    "ZINCRBY %z 1.%n %f",
    "ZREM %z %f",
    "ZPOPMIN %z",
    "ZPOPMAX %z %n",
    "ZMPOP 2 %z %z MIN COUNT %n",
    "BZPOPMIN %z %z 0",
    "BZPOPMAX %z 0",
    "BZMPOP 0 1 %z MAX COUNT %n",
    "ZREMRANGEBYRANK %z 0 0",
    "ZREMRANGEBYSCORE %z 1 %n",
    "ZRANGESTORE %z %z 0 %n",
    "ZUNIONSTORE %z 2 %z %z",
    "ZINTERSTORE %z 2 %z %s",
    "ZDIFFSTORE %z 2 %z %z",
    "GEOADD %z %n.25 4%n.5 %f",
    "GEOADD %z NX CH %n.125 4%n.25 %f",
    "GEOSEARCHSTORE %z %z FROMLONLAT 2 43 BYRADIUS 300 km",
    /* hashes */
    "HSET %h %p",
    "HSET %h %p %p %p",
    "HSETNX %h %p",
    "HSET %h %f %n",
    "HINCRBY %h %f %n",
    "HINCRBYFLOAT %h %f 1.%n",
    "HDEL %h %f %f",
    "HGETDEL %h FIELDS 2 %f %f",
    "HSETEX %h PX %t FIELDS 2 %p %p",
    "HSETEX %h FNX EX 1 FIELDS 1 %p",
    "HSETEX %h KEEPTTL FIELDS 2 %p %p",
    "HSETEX %h FXX PXAT %T FIELDS 1 %p",
    "HSETEX %h FIELDS 1 %p",
    "HPEXPIRE %h %t FIELDS 2 %f %f",
    "HEXPIRE %h 1 NX FIELDS 2 %f %f",
    "HPEXPIREAT %h %T FIELDS 3 %f %f %f",
    "HEXPIREAT %h %U GT FIELDS 1 %f",
    "HPERSIST %h FIELDS 3 %f %f %f",
    "HGETEX %h PX %t FIELDS 2 %f %f",
    "HGETEX %h PXAT %T FIELDS 2 %f %f",
    "HGETEX %h PERSIST FIELDS 2 %f %f",
    "HGETALL %h",
    /* streams */
    "XADD %x * %p",
    "XADD %x * %p",
    "XADD %x %i %p",
    "XADD %x %n-* %p",
    "XADD %x MAXLEN ~ %n * %p",
    "XADD %x MAXLEN %n * %p",
    "XADD %x NOMKSTREAM MINID ~ %i * %p",
    "XTRIM %x MAXLEN ~ %n",
    "XTRIM %x MINID %i",
    "XTRIM %x MINID ~ %i LIMIT 10",
    "XDEL %x %i %i",
    "XDELEX %x DELREF IDS 2 %P %i",
    "XDELEX %x IDS 2 %P %i ACKED",
    "XACKDEL %x %g DELREF IDS 2 %P %P",
    "XACKDEL %x %g ACKED IDS 2 %P %P",
    "XACKDEL %x %g IDS 2 %P %P",
    "XACKDEL %x %g IDS 2 %P %P",
    "XREADGROUP GROUP %g %c COUNT %n STREAMS %x >",
    "XREADGROUP GROUP %g %c STREAMS %x >",
    "XADD %x MAXLEN ~ %n DELREF * %p",
    "XADD %x ACKED MAXLEN %n * %p",
    "XTRIM %x MINID %i DELREF",
    "XTRIM %x MAXLEN ~ %n ACKED",
    "XADD %x IDMP %c %n * %p",
    "XADD %x IDMP %c %n MAXLEN ~ %n * %p",
    "XADD %x NOMKSTREAM IDMPAUTO %c ACKED MAXLEN %n * %p",
    "XCFGSET %x IDMP-MAXSIZE 3%n",
    "XIDMPRECORD %x %c %n %i",
    "XSETID %x 9%n",
    "XGROUP CREATE %x %g 0",
    "XGROUP CREATE %x %g $ MKSTREAM",
    "XGROUP SETID %x %g %i",
    "XGROUP SETID %x %g 0 ENTRIESREAD %n",
    "XGROUP DESTROY %x %g",
    "XGROUP CREATECONSUMER %x %g %c",
    "XGROUP DELCONSUMER %x %g %c",
    "XREADGROUP GROUP %g %c COUNT %n STREAMS %x >",
    "XREADGROUP GROUP %g %c STREAMS %x >",
    "XREADGROUP GROUP %g %c NOACK COUNT %n STREAMS %x >",
    "XREADGROUP GROUP %g %c STREAMS %x 0",
    "XREADGROUP GROUP %g %c CLAIM %t COUNT %n STREAMS %x >",
    "XREADGROUP GROUP %g %c CLAIM 0 NOACK STREAMS %x >",
    "XREADGROUP GROUP %g %c COUNT %n BLOCK 0 STREAMS %x >",
    "XACK %x %g %P %i",
    "XCLAIM %x %g %c 0 %P %i FORCE",
    "XCLAIM %x %g %c %t %i JUSTID",
    "XCLAIM %x %g %c 0 %i RETRYCOUNT %n IDLE %t LASTID %i",
    "XAUTOCLAIM %x %g %c 0 0 COUNT %n",
    "XAUTOCLAIM %x %g %c %t 0 JUSTID",
    /* around them */
    "MULTI",
    "MULTI",
    "EXEC",
    "EXEC",
    "EXEC",
    "EXEC",
    "DISCARD",
    "PUBLISH c m",
};

static char favourite; /* kind of key of most commands of a round */

static sds randomCommand(void) {
    const char *t, *percent;
    unsigned tries = 0;
    do {
        t = templates[below(array_len(templates))];
        percent = strchr(t, '%');
    } while (++tries < 8 && !(percent && percent[1] == favourite));
    sds line = sdsEmpty();
    for (; *t; t++) {
        if (*t == '%') line = catPart(line, *++t);
        else line = sdsCatLen(line, t, 1);
    }
    return line;
}

/* Commands, and clients served after them, must see the same time: sets both the store's and the wall clock. */
static void setNow(int64_t ms) {
    now_ms = ms;
    clockStopWall(ms);
    storeSetNowMs(ms);
}

/* Advances the clock, sometimes by more than the TTL of keys. Expired keys may be deleted. */
static void tick(void) {
    setNow(now_ms + (below(8) ? below(20) : below(2500)));
    if (below(40) == 0) activeExpireCycle(EXPIRE_CYCLE_SLOW);
}

/* Runs random commands and records them, to find a fault. */
static void runRandom(lines *history) {
    for (unsigned n = 0; n < COMMANDS; n++) {
        unsigned i = below(CLIENTS);
        client *c = clients[i];
        tick();
        if (c->flags & CLIENT_BLOCKED) {
            if (below(4) == 0) blockingEnd(c, NULL);
            sdsFree(fixtureReplies(c));
            continue;
        }
        sds line = randomCommand();
        sds reply = runLine(c, line);
        CHECK_EQ_INT(open_units, 0);
        addLine(history, sdsCatPrintf(sdsEmpty(), "%lld %u: %s", (long long)now_ms, i, line));
        sdsFree(reply);
        sdsFree(line);
    }
}

static void endClients(void) {
    for (unsigned i = 0; i < CLIENTS; i++) {
        blockingEnd(clients[i], NULL);
        transactionEnd(clients[i]);
        clients[i]->db = dbGet(0);
        sdsFree(fixtureReplies(clients[i]));
    }
}

/* ---- Replaying the commands  */

static const char *readNumber(const char *p, char prefix, long *n) {
    CHECK(*p == prefix);
    *n = strtol(p + 1, (char **)(uintptr_t)&p, 10);
    return p + 2;
}

static bool hasFailed(sds reply) { return reply[0] == '-'; }

/* Runs all propagated commands, none of which may fail. */
static void replay(void) {
    const char *p = stream_text, *end = p + sdsLen(stream_text);
    slice argv[2048];
    storeSetExpireIgnored(true);
    reader->db = dbGet(0);
    while (p < end) {
        const char *at = p;
        long argc, len;
        p = readNumber(p, '*', &argc);
        if (!CHECK(argc > 0 && argc < (long)array_len(argv))) break;
        for (long i = 0; i < argc; i++) {
            p = readNumber(p, '$', &len);
            argv[i] = sliceOf(p, (size_t)len);
            p += len + 2;
        }
        runArgs(reader, argv, (size_t)argc);
        sds reply = fixtureReplies(reader);
        if (!CHECK(!hasFailed(reply))) printf("    %s%.*s\n", reply, (int)(p - at), at);
        sdsFree(reply);
    }
    CHECK(!(reader->flags & CLIENT_MULTI));
    storeSetExpireIgnored(false);
}

static void report(const lines *history) {
    if (!getenv("PROPAGATED_HISTORY")) return;
    for (size_t i = 0; i < history->count; i++) printf("    %s\n", history->at[i]);
    printf("%s\n", stream_text);
}

TEST(what_was_propagated_makes_the_same_dataset) {
    uint64_t first = unitRandomSeed();
    begin();
    for (unsigned round = 0; round < 300; round++) {
        lines history = {0};
        seed = first + round;
        favourite = "klszhx"[below(6)];
        dbEmpty(-1, false);
        setNow(1700000000000);
        sdsClear(stream_text);
        stream_db = 0;
        propagateAddSink(&sink);
        runRandom(&history);
        propagateRemoveSink(&sink);
        endClients();
        lines here = writeDown();
        dbEmpty(-1, false);
        replay();
        lines there = writeDown();
        if (!sameLines(&here, &there)) {
            printf("    UNIT_SEED=%llu round %u\n", (unsigned long long)first, round);
            report(&history);
            round = 1000;
        }
        freeLines(&here);
        freeLines(&there);
        freeLines(&history);
    }
    clockStopWall(0);
    bioDrain(BIO_LAZY_FREE); /* other tests register types, which it reads */
}

/* ---- Differences from Valkey ------------------ */

#define HIDDEN "hsetex h px 1 fields 2 f 1 e 1|hset h g 1"
#define ONE_HIDDEN "hsetex h px 1 fields 1 f 1|hset h g 1"
#define GROUP "xadd x 1-1 f v|xadd x 2-1 f v|xgroup create x g 0"
#define READ GROUP "|xreadgroup group g c streams x >"

/* Returns the propagated commands as words. */
static sds streamWords(void) {
    sds words = sdsEmpty();
    const char *p = stream_text, *end = p + sdsLen(stream_text);
    while (p < end) {
        long argc, len;
        p = readNumber(p, '*', &argc);
        words = sdsCatPrintf(words, "%s", sdsLen(words) ? "; " : "");
        for (long i = 0; i < argc; i++, p += len + 2) {
            p = readNumber(p, '$', &len);
            words = sdsCatPrintf(words, "%s%.*s", i ? " " : "", (int)len, p);
        }
    }
    return words;
}

static void runLines(client *c, const char *text) {
    while (*text) {
        size_t len = strcspn(text, "|");
        sds line = sdsNewLen(text, len);
        sdsFree(runLine(c, line));
        sdsFree(line);
        text += len + (text[len] == '|');
    }
}

/* Expired fields are present and visible elsewhere. Consumers are created, and deliveries counted, also when a group
 * returns nothing new. */
TEST(only_what_was_there_is_propagated) {
    static const char *const cases[][3] = {
        {HIDDEN, "hdel h f g", "HDEL h g"},
        {HIDDEN, "hdel h f", ""},
        {HIDDEN, "hgetdel h fields 2 f g", "HDEL h g"},
        {HIDDEN, "hexpire h 100 fields 2 f g", "HPEXPIREAT h 1700000100010 FIELDS 1 g"},
        {HIDDEN, "hpexpireat h 1800000000000 nx fields 2 f g", "HPEXPIREAT h 1800000000000 FIELDS 1 g"},
        {HIDDEN "|hpexpire h 5000 fields 1 g", "hpersist h fields 2 f g", "HPERSIST h FIELDS 1 g"},
        {HIDDEN, "hsetex h keepttl fields 2 f 5 g 6", "MULTI; HSET h f 5; hsetex h KEEPTTL fields 2 f 5 g 6; EXEC"},
        {HIDDEN, "hsetnx h f 2", "HSET h f 2"},
        {ONE_HIDDEN, "copy h i", "MULTI; copy h i; HDEL i f; EXEC"},
        {ONE_HIDDEN, "copy h i db 3 replace", "MULTI; copy h i db 3 replace; SELECT 3; HDEL i f; EXEC"},
        {"sadd s 1|" HIDDEN, "sort s by nosort get h->f get # store l", "sort s by nosort get h->f get # store l"},
        {"sadd s 1|hset h1 x 1|hsetex h1 px 1 fields 1 f v", "sort s by nosort get h*->f get # store l",
         "MULTI; DEL l; RPUSH l  1; EXEC"},
        {GROUP, "xreadgroup group g c streams x 0", "XGROUP CREATECONSUMER x g c"},
        {GROUP, "xclaim x g d 0 1-1", "XGROUP CREATECONSUMER x g d"},
        {GROUP, "xautoclaim x g d 0 0", "XGROUP CREATECONSUMER x g d"},
        {READ, "xreadgroup group g c count 1 streams x 0",
         "XCLAIM x g c 0 1-1 TIME 1700000000010 RETRYCOUNT 2 FORCE JUSTID LASTID 2-1"},
        {READ, "xreadgroup group g c streams x >", ""},
        {READ, "xackdel x g ids 2 1-1 9-9", "MULTI; XACK x g 1-1; XDEL x 1-1; EXEC"},
        {READ "|xgroup create x h 0", "xackdel x g acked ids 1 1-1", "XACK x g 1-1"},
        {READ "|xgroup create x h 0|xreadgroup group h c streams x >", "xackdel x g delref ids 1 1-1",
         "MULTI; XACK x g 1-1; XACK x h 1-1; XDEL x 1-1; EXEC"},
        {READ "|xdel x 1-1", "xackdel x g ids 1 1-1", "XACK x g 1-1"},
        {READ, "xreadgroup group g d claim 0 count 1 streams x >",
         "XCLAIM x g d 0 1-1 TIME 1700000000010 RETRYCOUNT 2 FORCE JUSTID LASTID 2-1"},
        {"set k v px 1|set l v px 1", "scan 0 count 100", "UNLINK k; UNLINK l"},
        {"set k v px 1|set l v px 1", "mget k l", "MULTI; UNLINK k; UNLINK l; EXEC"},
    };
    begin();
    for (size_t i = 0; i < array_len(cases); i++) {
        dbEmpty(-1, false);
        setNow(1700000000000);
        runLines(clients[0], cases[i][0]);
        setNow(1700000000010);
        sdsClear(stream_text);
        stream_db = 0;
        propagateAddSink(&sink);
        runLines(clients[0], cases[i][1]);
        propagateRemoveSink(&sink);
        sds words = streamWords();
        /* If two keys are deleted in one step, either may be the first. */
        char *other = strstr(words, "UNLINK l; UNLINK k");
        if (other) memcpy(other, "UNLINK k; UNLINK l", 18);
        if (!CHECK_EQ_STR(words, cases[i][2])) printf("    %s -> %s\n", cases[i][0], cases[i][1]);
        sdsFree(words);
    }
    clockStopWall(0);
    dbEmpty(-1, false);
    bioDrain(BIO_LAZY_FREE); /* other tests register types, which it reads */
}
