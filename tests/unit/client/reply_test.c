/* reply_test.c -- every reply in both protocols, and random sequences compared with a builder that only concatenates.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_fixture.h"
#include "client_settings.h"
#include "unit.h"
#include "zmalloc.h"

/* ---- Each function ---------------------------------------------------------------------------------------------- */

typedef void replyFn(client *c);

static void checkBoth(replyFn *fn, const char *resp2, const char *resp3) {
    for (int resp = 2; resp <= 3; resp++) {
        client *c = fixtureClient(resp);
        fn(c);
        CHECK_REPLY(c, resp == 2 ? resp2 : resp3);
        CHECK_EQ_INT(c->output_bytes, 0);
        clientFree(c);
    }
}

static void nested(client *c) {
    addReplyArrayLen(c, 0);
    addReplyMapLen(c, 2);
    addReplySetLen(c, 12);
    addReplyPushLen(c, 345);
}
static void doubles(client *c) {
    addReplyDouble(c, 1.5);
    addReplyDouble(c, 3);
}
static void humanDouble(client *c) { addReplyHumanLongDouble(c, 10.25L); }
static void bools(client *c) {
    addReplyBool(c, true);
    addReplyBool(c, false);
}
static void bigNum(client *c) { addReplyBigNum(c, sliceStr("12345678901234567890")); }
static void verbatim(client *c) { addReplyVerbatim(c, sliceStr("some text"), "txt"); }
static void numbers(client *c) {
    const long long n[] = {0, 1, 9, 10, 99, 100, 999, 1000, 12345, -1, -999, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < array_len(n); i++) addReplyLongLong(c, n[i]);
}
static void bulks(client *c) {
    addReplyBulk(c, sliceStr(""));
    addReplyBulk(c, sliceStr("hello"));
    addReplyBulkCString(c, "x");
    addReplyBulkCString(c, NULL);
    addReplyBulkSds(c, sdsNew("sds"));
    addReplyBulkLongLong(c, -42);
    addReplyBulkFormat(c, "%d-%s", 7, "seven");
}
static void shared(client *c) {
    addReplyOk(c);
    addReplyZero(c);
    addReplyOne(c);
    addReplyEmptyArray(c);
    addReplyQueued(c);
    addReplyPong(c);
    addReplyStatusFormat(c, "n=%d", 3);
    addReplySds(c, sdsNew("+raw\r\n"));
}
static void deferredKinds(client *c) {
    void *a = addReplyDeferredLen(c), *m = addReplyDeferredLen(c);
    addReplyOne(c);
    setDeferredMapLen(c, m, 1);
    void *s = addReplyDeferredLen(c);
    setDeferredSetLen(c, s, 0);
    void *p = addReplyDeferredLen(c);
    addReplyZero(c);
    setDeferredPushLen(c, p, 1);
    setDeferredArrayLen(c, a, 1000000);
}

TEST(replies_have_their_form_in_both_protocols) {
    checkBoth(addReplyNull, "$-1\r\n", "_\r\n");
    checkBoth(addReplyNullArray, "*-1\r\n", "_\r\n");
    checkBoth(nested, "*0\r\n*4\r\n*12\r\n*345\r\n", "*0\r\n%2\r\n~12\r\n>345\r\n");
    checkBoth(doubles, "$3\r\n1.5\r\n$1\r\n3\r\n", ",1.5\r\n,3\r\n");
    checkBoth(humanDouble, "$5\r\n10.25\r\n", ",10.25\r\n");
    checkBoth(bools, ":1\r\n:0\r\n", "#t\r\n#f\r\n");
    checkBoth(bigNum, "$20\r\n12345678901234567890\r\n", "(12345678901234567890\r\n");
    checkBoth(verbatim, "$9\r\nsome text\r\n", "=13\r\ntxt:some text\r\n");
    const char *n = ":0\r\n:1\r\n:9\r\n:10\r\n:99\r\n:100\r\n:999\r\n:1000\r\n:12345\r\n:-1\r\n:-999\r\n"
                    ":9223372036854775807\r\n:-9223372036854775808\r\n";
    checkBoth(numbers, n, n);
    checkBoth(bulks, "$0\r\n\r\n$5\r\nhello\r\n$1\r\nx\r\n$-1\r\n$3\r\nsds\r\n$3\r\n-42\r\n$7\r\n7-seven\r\n",
              "$0\r\n\r\n$5\r\nhello\r\n$1\r\nx\r\n_\r\n$3\r\nsds\r\n$3\r\n-42\r\n$7\r\n7-seven\r\n");
    const char *s = "+OK\r\n:0\r\n:1\r\n*0\r\n+QUEUED\r\n+PONG\r\n+n=3\r\n+raw\r\n";
    checkBoth(shared, s, s);
    checkBoth(deferredKinds, "*1000000\r\n*2\r\n:1\r\n*0\r\n*1\r\n:0\r\n",
              "*1000000\r\n%1\r\n:1\r\n~0\r\n>1\r\n:0\r\n");
}

TEST(attributes_exist_in_resp3) {
    client *c = fixtureClient(3);
    addReplyAttributeLen(c, 1);
    CHECK_REPLY(c, "|1\r\n");
    clientFree(c);
}

TEST(long_formats_are_not_cut) {
    client *c = fixtureClient(2);
    sds text = sdsGrowZero(sdsEmpty(), 3000);
    memset(text, 'x', 3000);
    addReplyBulkFormat(c, "%s", text);
    sds want = sdsCatPrintf(sdsEmpty(), "$3000\r\n%s\r\n", text);
    CHECK_REPLY(c, want);
    sdsFree(want);
    sdsFree(text);
    clientFree(c);
}

TEST(help_lists_its_lines) {
    client *c = fixtureClient(2);
    slice argv[] = {sliceStr("object"), sliceStr("help")};
    const char *lines[] = {"ENCODING <key>", "    Return it.", NULL};
    c->argv = argv;
    c->argc = 2;
    addReplyHelp(c, lines);
    CHECK_REPLY(c, "*5\r\n+OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n+ENCODING <key>\r\n"
                   "+    Return it.\r\n+HELP\r\n+    Show this help.\r\n");
    clientFree(c);
}

/* ---- Receivers of replies --------------------------------------------------------------------------------------- */

TEST(silent_clients_get_nothing) {
    const uint32_t silent[] = {CLIENT_REPLY_OFF, CLIENT_REPLY_SKIP, CLIENT_CLOSE_AFTER_REPLY, CLIENT_CLOSE_ASAP,
                               CLIENT_PRIMARY};
    for (size_t i = 0; i < array_len(silent); i++) {
        client *c = fixtureClient(2);
        c->flags |= silent[i];
        addReplyOk(c);
        void *at = addReplyDeferredLen(c);
        addReplyBulk(c, sliceStr("x"));
        setDeferredArrayLen(c, at, 1);
        CHECK(!clientHasReplies(c));
        CHECK(!(c->flags & CLIENT_PENDING_WRITE));
        clientFree(c);
    }
}

TEST(a_reply_that_cannot_be_ended_ends_the_client) {
    client *c = fixtureClient(2);
    addReplyLongLong(c, 1);
    CHECK(!addReplyGiveUp(c, c->deferred)); /* nothing is deferred: the reply can still be an error */
    CHECK(!(c->flags & CLIENT_CLOSE_ASAP));
    void *exec = addReplyDeferredLen(c);
    addReplyDeferredLen(c);
    addReplyDeferredLen(c);
    CHECK(addReplyGiveUp(c, exec));
    CHECK(c->flags & CLIENT_CLOSE_ASAP);
    CHECK(c->deferred == exec);
    replyCheck(c);
    setDeferredArrayLen(c, exec, 1);
    CHECK(c->deferred == NULL);
    CHECK(clientPopClosing() == c);
    clientFree(c);
}

TEST(a_push_goes_through_when_replies_are_off) {
    client *c = fixtureClient(3);
    c->flags |= CLIENT_REPLY_OFF | CLIENT_PUSHING;
    addReplyPushLen(c, 1);
    CHECK_REPLY(c, ">1\r\n");
    clientFree(c);
}

TEST(first_output_puts_a_client_on_the_list_once) {
    client *a = fixtureClient(2), *b = fixtureClient(2), *fake = clientCreate(NULL, -1, NULL, NULL, false);
    addReplyOk(a);
    addReplyOk(a);
    addReplyOk(b);
    addReplyOk(fake);
    CHECK(clientHasReplies(fake));
    CHECK(clientPopPendingWrite() == b);
    CHECK(clientPopPendingWrite() == a);
    CHECK(clientPopPendingWrite() == NULL);
    CHECK(!(a->flags & CLIENT_PENDING_WRITE));
    clientOutputWritten(b, clientTakeReplies(b), 5);
    addReplyOk(a);
    clientFree(a); /* removes itself from the list */
    CHECK(clientPopPendingWrite() == NULL);
    clientFree(b);
    clientFree(fake);
}

/* ---- References ------------------------------------------------------------------------------------------------- */

static robj *rawString(size_t len, char fill) {
    char *block = zmalloc(len ? len : 1);
    memset(block, fill, len);
    return objectCreateFromBlockTake(sliceStr("key"), block, len, 0);
}

TEST(large_values_go_by_reference) {
    client *c = fixtureClient(2);
    robj *o = rawString(512, 'v');
    addReplyBulkObject(c, o);
    CHECK_EQ_INT(o->refcount, 2);
    CHECK_EQ_INT(c->reply_head->nrefs, 1);
    CHECK_EQ_INT(c->reply_head->used, 8);
    CHECK_EQ_INT(c->output_bytes, 520);
    CHECK_EQ_INT(c->reply_head->total, 520);
    sds got = fixtureReplies(c);
    CHECK_EQ_INT(sdsLen(got), 520);
    CHECK_MEM(got, "$512\r\nvvv", 9);
    CHECK_EQ_INT(o->refcount, 1);
    sdsFree(got);
    objectRelease(o);
    clientFree(c);
}

/* The writer sets the size from which a reference is cheaper than a copy. */
TEST(values_are_referred_to_as_their_writer_likes_it) {
    static const struct {
        size_t len;
        bool here, shared, refers;
    } cases[] = {{63, false, false, false},      {64, false, false, true},        {64, true, false, false},
                 {1535, true, false, false},     {1535, false, false, true},      {1536, true, false, true},
                 {1536, false, true, false},     {1536, true, true, false},       {256 * 1024 - 1, false, true, false},
                 {256 * 1024, true, true, true}, {256 * 1024, false, true, true}, {64, false, false, true}};
    client *c = fixtureClient(2);
    for (size_t i = 0; i < array_len(cases); i++) {
        robj *o = rawString(cases[i].len, 'v');
        replyCopyShared(cases[i].shared);
        replyWrittenHere(cases[i].here);
        CHECK_EQ_INT(replyCopiesShared(), cases[i].shared);
        addReplyBulkObject(c, o);
        CHECK_EQ_INT(o->refcount, cases[i].refers ? 2 : 1);
        sds got = fixtureReplies(c);
        CHECK(got[sdsLen(got) - 3] == 'v');
        sdsFree(got);
        objectRelease(o);
    }
    replyWrittenHere(false);
    clientFree(c);
}

TEST(small_values_and_full_counts_are_copied) {
    client *c = fixtureClient(2);
    robj *small = rawString(10, 's'), *busy = rawString(512, 'b'),
         *n = objectCreateInteger(sliceStr("k"), 12345, false, 0);
    addReplyBulkObject(c, small);
    addReplyBulkObject(c, n);
    CHECK_REPLY(c, "$10\r\nssssssssss\r\n$5\r\n12345\r\n");
    busy->refcount = 1 << 20; /* a million unread replies: copies would cost a hundred times what they do */
    addReplyBulkObject(c, busy);
    CHECK_EQ_INT(c->reply_head->nrefs, 1);
    CHECK_EQ_INT(busy->refcount, (1 << 20) + 1);
    sdsFree(fixtureReplies(c));
    busy->refcount = OBJ_REFCOUNT_MAX;
    addReplyBulkObject(c, busy);
    CHECK_EQ_INT(c->reply_head->nrefs, 0);
    busy->refcount = 1;
    client_settings.offload = false;
    addReplyBulkObject(c, busy);
    CHECK_EQ_INT(c->reply_head->nrefs, 0);
    client_settings.offload = true;
    objectRelease(small);
    objectRelease(busy);
    objectRelease(n);
    clientFree(c);
}

TEST(a_range_of_a_value_is_a_reference_into_it) {
    client *c = fixtureClient(2);
    robj *o = rawString(1000, 'a');
    ((char *)objectString(o, NULL).ptr)[100] = 'B';
    addReplyBulkObjectRange(c, o, 100, 600);
    addReplyBulkObjectRange(c, o, 99, 3);
    CHECK_EQ_INT(c->reply_head->nrefs, 1);
    sds got = fixtureReplies(c);
    CHECK_MEM(got, "$600\r\nBaa", 9);
    CHECK_EQ_STR(got + 608, "$3\r\naBa\r\n");
    sdsFree(got);
    objectRelease(o);
    clientFree(c);
}

/* A reference keeps the whole value in memory, whatever part of it is sent; less than half of it is copied. */
TEST(a_range_costs_what_it_keeps_alive) {
    enum { VALUE = 4 << 20 };
    static const struct {
        size_t from, len;
        bool refers;
    } ranges[] = {
        {0, 64, false},           {VALUE - 70, 64, false},     {100, 300 << 10, false}, {0, VALUE / 2 - 2, false},
        {1000, VALUE / 2, false}, {1000, VALUE / 2 + 2, true}, {0, VALUE, true},        {VALUE - 1, 1, false}};
    fixtureBackground(); /* large blocks are freed there */
    robj *o = rawString(VALUE, 'v');
    for (size_t i = 0; i < array_len(ranges); i++) {
        client *c = fixtureClient(2);
        addReplyOk(c);
        size_t before = c->output_memory;
        addReplyBulkObjectRange(c, o, ranges[i].from, ranges[i].len);
        CHECK_EQ_INT(c->reply_tail->nrefs + c->reply_head->nrefs > 0, ranges[i].refers);
        CHECK_EQ_INT(o->refcount, ranges[i].refers ? 2 : 1);
        size_t cost = c->output_memory - before;
        if (ranges[i].refers) CHECK_EQ_INT(cost, VALUE);
        else CHECK(cost <= ranges[i].len + ranges[i].len / 4 + REPLY_BLOCK_LARGE);
        clientCheck(c);
        sds got = fixtureReplies(c);
        CHECK_EQ_INT(c->output_memory, 0);
        sdsFree(got);
        clientFree(c);
    }
    objectRelease(o);
    bioDrain(BIO_LAZY_FREE);
}

/* The memory that a reply keeps when its value has been replaced: the value's block, the key, and the reply's
 * blocks. */
TEST(a_reply_holds_no_more_than_twice_what_it_sends) {
    static const size_t keys[] = {0, 3, 63, 64, 200, 65534, 65535, 1 << 20},
                        values[] = {64, 200, 1000, 65536, 1 << 20, 4 << 20}, thousandths[] = {1, 100, 499, 501, 1000};
    fixtureBackground();
    char *key = zmalloc(1 << 20);
    memset(key, 'k', 1 << 20);
    for (size_t i = 0; i < array_len(keys) * array_len(values) * array_len(thousandths); i++) {
        size_t key_len = keys[i % array_len(keys)], value = values[i / array_len(keys) % array_len(values)],
               len = value * thousandths[i / array_len(keys) / array_len(values)] / 1000;
        client *c = fixtureClient(2);
        addReplyOk(c);
        bioDrain(BIO_LAZY_FREE); /* large blocks are freed there */
        size_t before = zmallocUsed();
        char *block = zmalloc(value);
        memset(block, 'v', value);
        robj *o = objectCreateFromExactTake(sliceOf(key, key_len), block, value, 0);
        if (len == value) addReplyBulkObject(c, o);
        else addReplyBulkObjectRange(c, o, value - len, len);
        objectRelease(o);
        bioDrain(BIO_LAZY_FREE);
        /* Half as much again allows for the allocator's rounding, the constants for blocks that were just begun. */
        size_t most = (2 * len + len / 2) + REPLY_BLOCK_SMALL + REPLY_BLOCK_LARGE;
        CHECK(zmallocUsed() - before <= most);
        CHECK(zmallocUsed() - before <= 2 * c->output_memory + c->output_memory / 2);
        sds got = fixtureReplies(c);
        CHECK(sdsLen(got) > len && (len == 0 || got[sdsLen(got) - 3] == 'v'));
        sdsFree(got);
        clientFree(c);
    }
    zfree(key);
}

TEST(what_a_range_costs_moves_with_it) {
    client *c = fixtureClient(2);
    robj *o = rawString(4000, 'v');
    addReplyBulkObjectRange(c, o, 0, 2500);
    replyBlock *to = replyBlockGet(1000, true), *from = clientTakeReplies(c);
    size_t cost = replyBlockCost(to) + replyBlockCost(from);
    CHECK(replyBlockCost(from) >= 4000);
    CHECK(replyBlockMove(to, from));
    CHECK_EQ_INT(replyBlockCost(to) + replyBlockCost(from), cost);
    CHECK(replyBlockCost(to) >= 4000 && replyBlockCost(from) == replyBlockAllocSize(from));
    replyBlockCheck(to);
    replyBlockCheck(from);
    size_t wire = to->total;
    replyBlockRelease(to);
    clientOutputWritten(c, NULL, wire);
    c->output_memory = 0; /* the block taken from the chain is not returned here */
    c->output_blocks = 0;
    replyBlockRelease(from);
    CHECK_EQ_INT(o->refcount, 1);
    objectRelease(o);
    clientFree(c);
}

TEST(a_freed_client_drops_its_references) {
    client *c = fixtureClient(2);
    robj *o = rawString(512, 'v');
    addReplyBulkObject(c, o);
    clientFree(c);
    CHECK_EQ_INT(o->refcount, 1);
    objectRelease(o);
}

/* ---- Random sequences against a naive builder -------------------------------------------------------------------- */

#define DEPTH_MAX 20

static sds catHeader(sds s, char prefix, long long n) { return sdsCatPrintf(s, "%c%lld\r\n", prefix, n); }

/* Adds a random element to the client and to the expected bytes. */
static sds addRandom(client *c, uint64_t *rnd, sds want, robj **values, size_t nvalues) {
    uint64_t kind = unitRandom(rnd) % 100;
    size_t len = kind < 70 ? unitRandom(rnd) % 100 : kind < 98 ? unitRandom(rnd) % 5000 : unitRandom(rnd) % 60000;

    switch (unitRandom(rnd) % 6) {
    case 0: {
        sds bytes = sdsGrowZero(sdsEmpty(), len);
        for (size_t i = 0; i < len; i++) bytes[i] = (char)('a' + unitRandom(rnd) % 26);
        want = sdsCatSlice(catHeader(want, '$', (long long)len), sdsSlice(bytes));
        want = sdsCat(want, "\r\n");
        addReplyBulk(c, sdsSlice(bytes));
        sdsFree(bytes);
        break;
    }
    case 1:
    case 2: {
        robj *o = values[unitRandom(rnd) % nvalues];
        char digits[LONG_STR_SIZE];
        slice v = objectString(o, digits);
        want = sdsCat(sdsCatSlice(catHeader(want, '$', (long long)v.len), v), "\r\n");
        addReplyBulkObject(c, o);
        break;
    }
    case 3: {
        robj *o = values[unitRandom(rnd) % nvalues];
        char digits[LONG_STR_SIZE];
        slice v = objectString(o, digits);
        size_t from = unitRandom(rnd) % (v.len + 1), part = unitRandom(rnd) % (v.len - from + 1);
        want = sdsCat(sdsCatLen(catHeader(want, '$', (long long)part), v.ptr + from, part), "\r\n");
        addReplyBulkObjectRange(c, o, from, part);
        break;
    }
    case 4:
        want = catHeader(want, ':', (long long)len);
        addReplyLongLong(c, (long long)len);
        break;
    default:
        want = sdsCat(want, "+OK\r\n");
        addReplyOk(c);
        break;
    }
    return want;
}

static void checkChain(const client *c) {
    clientCheck(c);
    size_t total = 0, cost = 0;
    uint32_t blocks = 0;
    for (const replyBlock *b = c->reply_head; b; b = b->next) {
        replyBlockCheck(b);
        total += b->total;
        cost += replyBlockCost(b);
        blocks++;
    }
    CHECK_EQ_INT(c->output_bytes, total);
    CHECK_EQ_INT(c->output_memory, cost);
    CHECK_EQ_INT(c->output_blocks, blocks);
}

TEST(random_sequences_equal_plain_concatenation) {
    uint64_t rnd = unitRandomSeed();
    robj *values[8];
    for (size_t i = 0; i < array_len(values) - 1; i++) values[i] = rawString(20u << i, (char)('0' + i));
    values[7] = objectCreateInteger(sliceStr("n"), -123456789, false, 0);

    for (int round = 0; round < 300; round++) {
        client *c = fixtureClient(2);
        void *place[DEPTH_MAX];
        sds outer[DEPTH_MAX]; /* the bytes before each deferred length */
        int depth = 0;
        sds want = sdsEmpty();
        int steps = (int)(unitRandom(&rnd) % 200);
        for (int i = 0; i < steps || depth; i++) {
            uint64_t choice = unitRandom(&rnd) % 10;
            if (choice == 0 && depth < DEPTH_MAX && i < steps) {
                place[depth] = addReplyDeferredLen(c);
                outer[depth++] = want;
                want = sdsEmpty();
            } else if (depth && (choice == 1 || i >= steps)) {
                long long n = (long long)(unitRandom(&rnd) % 100000);
                depth--;
                setDeferredArrayLen(c, place[depth], n);
                sds all = sdsCatSlice(catHeader(outer[depth], '*', n), sdsSlice(want));
                sdsFree(want);
                want = all;
            } else {
                want = addRandom(c, &rnd, want, values, array_len(values));
            }
        }
        checkChain(c);
        sds got = fixtureReplies(c);
        if (CHECK_EQ_INT(sdsLen(got), sdsLen(want))) CHECK_MEM(got, want, sdsLen(want));
        CHECK_EQ_INT(c->output_bytes, 0);
        CHECK_EQ_INT(c->output_memory, 0);
        CHECK_EQ_INT(c->output_blocks, 0);
        sdsFree(got);
        sdsFree(want);
        clientFree(c);
    }
    for (size_t i = 0; i < array_len(values); i++) {
        CHECK_EQ_INT(values[i]->refcount, 1);
        objectRelease(values[i]);
    }
}

/* The bytes equal those of single bulks, in both directions, from any entry, with blocks that end anywhere. */
TEST(listpack_runs_equal_single_bulks) {
    uint64_t rng = unitRandomSeed();
    char text[300];
    memset(text, 't', sizeof(text));
    for (int round = 0; round < 60; round++) {
        uint8_t *lp = listpackCreate(LISTPACK_BYTES_MIN);
        size_t count = 1 + unitRandom(&rng) % 400, from = unitRandom(&rng) % count;
        for (size_t i = 0; i < count; i++) {
            size_t kind = unitRandom(&rng) % 8, len = kind < 7 ? unitRandom(&rng) % 66 : sizeof(text);
            text[0] = (char)('a' + unitRandom(&rng) % 26);
            if (kind == 0) lp = listpackAppendInteger(lp, (int64_t)unitRandom(&rng) >> unitRandom(&rng) % 64);
            else lp = listpackAppend(lp, sliceOf(text, len));
        }
        bool backward = round % 2;
        size_t n = 1 + unitRandom(&rng) % (backward ? from + 1 : count - from);
        client *c = fixtureClient(2), *single = fixtureClient(2);
        const uint8_t *at = listpackIndex(lp, (long)from);
        addReplyListpack(c, lp, at, n, backward);
        addReplyOk(c);
        for (size_t i = 0; i < n; i++, at = backward ? listpackPrev(lp, at) : listpackNext(at)) {
            char digits[LONG_STR_SIZE];
            addReplyBulk(single, listpackText(at, digits));
        }
        addReplyOk(single);
        CHECK_EQ_INT(c->output_bytes, single->output_bytes);
        replyCheck(c);
        sds want = fixtureReplies(single);
        CHECK_REPLY(c, want);
        sdsFree(want);
        clientFree(c);
        clientFree(single);
        listpackFree(lp);
    }
}

TEST(chains_start_small_and_grow) {
    client *c = fixtureClient(2);
    char bytes[3000] = {0};
    addReplyOk(c);
    CHECK_EQ_INT(replyBlockAllocSize(c->reply_head), REPLY_BLOCK_SMALL);
    addReplyProto(c, bytes, sizeof(bytes));
    CHECK_EQ_INT(replyBlockAllocSize(c->reply_tail), REPLY_BLOCK_LARGE);
    CHECK_EQ_INT(replyBlockAvail(c->reply_head), 0);
    char *big = zcalloc(1, 100000);
    addReplyBulk(c, sliceOf(big, 100000));
    CHECK_EQ_INT(c->output_bytes, 5 + 3000 + 9 + 100000 + 2);
    checkChain(c);
    zfree(big);
    clientFree(c);
}

/* A block of a requested size has that capacity, whatever the allocator rounds it up to. */
TEST(blocks_have_the_room_that_was_asked_for) {
    fixtureInit();
    bool ok = true;
    for (size_t room = REPLY_BLOCK_LARGE - 100; ok && room < 2 * REPLY_BLOCK_LARGE; room++) {
        replyBlock *b = replyBlockGet(room, false);
        ok = CHECK(replyBlockAvail(b) >= room);
        replyBlockRelease(b);
    }
}

/* A large copy without memory for its block is an error reply: as nothing was added before, the client is not
 * closed. */
TEST(a_large_bulk_without_memory_is_an_error) {
    enum { BYTES = 1 << 20 };
    client *c = fixtureClient(2);
    char *big = zcalloc(1, BYTES);
    addReplyOk(c);
    zmallocFailAfter(1);
    addReplyBulk(c, sliceOf(big, BYTES));
    zmallocFailAfter(0);
    CHECK(!(c->flags & CLIENT_CLOSE_ASAP));
    CHECK_REPLY(c, "+OK\r\n-OOM command not allowed: there is not enough memory for it\r\n");
    zfree(big);
    clientFree(c);
}

/* Dropping the replies of a script's client frees them all, except one small block for the next reply. */
TEST(dropped_replies_leave_nothing) {
    enum { NOTHING, SMALL, REFERENCE, LARGE, TWO, KINDS };
    robj *o = rawString(512, 'v');
    char bytes[3000] = {0};
    for (int kind = 0; kind < KINDS; kind++) {
        client *c = clientCreate(NULL, -1, NULL, NULL, false);
        if (kind == SMALL || kind == TWO) addReplyOk(c);
        if (kind == REFERENCE) addReplyBulkObject(c, o);
        if (kind == LARGE || kind == TWO) addReplyProto(c, bytes, sizeof(bytes));
        clientDropReplies(c);
        CHECK_EQ_INT(o->refcount, 1);
        CHECK_EQ_INT(c->output_bytes, 0);
        CHECK_EQ_INT(c->output_memory, kind == SMALL ? REPLY_BLOCK_SMALL : 0);
        addReplyLongLong(c, kind);
        sds got = replyBlockCatChain(sdsEmpty(), c->reply_head), want = sdsCatPrintf(sdsEmpty(), ":%d\r\n", kind);
        CHECK_EQ_STR(got, want);
        sdsFree(got);
        sdsFree(want);
        clientFree(c);
    }
    objectRelease(o);
}
