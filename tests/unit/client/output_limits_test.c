/* output_limits_test.c -- client-output-buffer-limit: parsing, printing, closing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_fixture.h"
#include "client_settings.h"
#include "log.h"
#include "output_limits.h"
#include "setting.h"
#include "unit.h"

#define DEFAULTS "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"

static bool set(const char *text, const char **err) {
    int count;
    sds *words = sdsSplitLen(text, strlen(text), " ", 1, &count);
    bool ok = outputLimitsSet(NULL, (char **)words, count, err);
    sdsFreeSplitRes(words, count);
    return ok;
}

static void checkGet(const char *want) {
    sds got = outputLimitsGet(NULL);
    CHECK_EQ_STR(got, want);
    sdsFree(got);
}

static void restore(void) {
    const char *err;
    CHECK(set(DEFAULTS, &err));
}

TEST(limits_are_read_as_the_field_reads_them) {
    const char *err = "";
    checkGet(DEFAULTS);
    CHECK(set("normal 1mb 2mb 60", &err));
    CHECK(set("replica 1 2 3", &err));
    checkGet("normal 1048576 2097152 60 slave 1 2 3 pubsub 33554432 8388608 60");
    CHECK(set("slave 1k 2k 3 pubsub 5 6 7", &err));
    CHECK(set("NORMAL 1 2 3 normal 0 0 5000000000", &err));
    checkGet("normal 0 0 705032704 slave 1000 2000 3 pubsub 5 6 7");
    restore();
}

TEST(bad_limits_change_nothing) {
    const char *arity = "Wrong number of arguments in buffer limit configuration.";
    const char *class = "Invalid client class specified in buffer limit configuration.";
    const char *value = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
    const struct {
        const char *text, *err;
    } bad[] = {
        {"normal", arity},
        {"normal 0 0 0 ", arity},
        {"foo 0 0 0", class},
        {"master 0 0 0", class},
        {"primary 0 0 0", class},
        {"normal a 0 0", value},
        {"normal 0 0 -1", value},
        {"normal 0 0 x", value},
        {"normal -1 0 0", value},
        {"normal 0 0 1.5", value},
        {"normal 1 1 1 pubsub x 0 0", value},
        {"normal 99999999999999999999 0 0", value},
        {"normal 0 0 99999999999999999999", value},
    };
    for (size_t i = 0; i < array_len(bad); i++) {
        const char *err = "";
        CHECK(!set(bad[i].text, &err));
        CHECK_EQ_STR(err, bad[i].err);
    }
    checkGet(DEFAULTS);
}

TEST(rewrite_writes_what_is_not_default) {
    const char *err;
    CHECK(set("normal 3gb 5mb 1 pubsub 2kb 7 0", &err));
    if (!*settingTables()) clientSettingsRegister();
    const setting *s = *settingTables();
    sds out = s->rewrite(s, sdsEmpty());
    CHECK_EQ_STR(out, "client-output-buffer-limit normal 3gb 5mb 1\nclient-output-buffer-limit pubsub 2kb 7 0\n");
    sdsFree(out);
    restore();
    out = s->rewrite(s, sdsEmpty());
    CHECK_EQ_STR(out, "");
    sdsFree(out);
}

static void addBytes(client *c, size_t n) {
    sds bytes = sdsNewLen(NULL, n);
    addReplySds(c, bytes);
}

/* Adds blocks of at least `n` bytes more than what is never counted. Returns the counted bytes. */
static size_t addBlocks(client *c, size_t n) {
    while (clientQueuedOutput(c) < n) addBytes(c, 4096);
    return clientQueuedOutput(c);
}

TEST(hard_limit_closes_at_once) {
    const char *err;
    logSetLevel(LL_NOTHING);
    client *c = fixtureClient(2);
    CHECK(set("normal 20000 0 0", &err));
    addBytes(c, 1000);
    addBytes(c, 16384); /* two blocks: nothing counts yet */
    CHECK_EQ_INT(clientQueuedOutput(c), 0);
    CHECK_EQ_INT(addBlocks(c, 1), REPLY_BLOCK_LARGE);
    CHECK(!(c->flags & CLIENT_CLOSE_ASAP));
    long long before = client_state.output_limit_disconnections;
    addBlocks(c, REPLY_BLOCK_LARGE + 1);
    CHECK(c->flags & CLIENT_CLOSE_ASAP);
    CHECK_EQ_INT(client_state.output_limit_disconnections - before, 1);
    size_t bytes = c->output_bytes;
    addBytes(c, 100); /* nothing is added to a client that is being closed */
    CHECK_EQ_INT(c->output_bytes, bytes);
    CHECK(clientPopClosing() == c);
    CHECK(clientPopClosing() == NULL);
    clientFree(c);
    restore();
}

TEST(references_count_at_full_size) {
    const char *err;
    client *c = fixtureClient(2);
    CHECK(set("normal 1mb 0 0", &err));
    sds value = sdsNewLen(NULL, 100000);
    robj *o = objectCreateRawString(sliceStr("k"), sdsSlice(value), 0);
    for (int i = 0; i < 10; i++) addReplyBulkObject(c, o);
    CHECK(!(c->flags & CLIENT_CLOSE_ASAP));
    addReplyBulkObject(c, o);
    CHECK(c->flags & CLIENT_CLOSE_ASAP);
    clientFree(c);
    CHECK(clientPopClosing() == NULL);
    objectRelease(o);
    sdsFree(value);
    restore();
}

/* Converts seconds to ticks. */
static monotime ticksOf(double seconds) {
    const monotime many = (monotime)1 << 40;
    return (monotime)(seconds * 1e9 * (double)many / (double)clockTicksToNs(many));
}

/* Returns whether a client that has exceeded its soft limit for `seconds` is closed now. The result is not used if the
 * check took so long that another second has begun. */
static bool isLetGo(client *c, double seconds) {
    monotime since = c->soft_limit_since = clockTicks() - ticksOf(seconds);
    bool gone = outputLimitCheck(c);
    return gone && (uint64_t)seconds == clockTicksToNs(clockTicks() - since) / 1000000000;
}

TEST(soft_limit_closes_after_its_time) {
    const char *err;
    client *c = fixtureClient(2);
    CHECK(set("normal 0 1000 1000", &err));
    addBlocks(c, 1000);
    CHECK(!(c->flags & CLIENT_CLOSE_ASAP));
    CHECK(c->soft_limit_since != 0);
    replyBlock *first = clientTakeReplies(c);
    replyBlock *rest = first->next;
    first->next = NULL;
    clientOutputWritten(c, NULL, 1); /* no block came back: nothing is freed */
    CHECK(c->soft_limit_since != 0);
    clientOutputWritten(c, first, first->total - 1);
    clientOutputWritten(c, rest, c->output_bytes); /* below the limit: the time starts again */
    CHECK_EQ_INT(c->soft_limit_since, 0);
    addBlocks(c, 1000);
    CHECK(c->soft_limit_since != 0);
    CHECK(!isLetGo(c, 1));
    CHECK(!isLetGo(c, 900));
    CHECK(!isLetGo(c, 1000.001)); /* for longer than that */
    CHECK(isLetGo(c, 1001.001) || c->flags & CLIENT_CLOSE_ASAP);
    clientFree(c);
    CHECK(clientPopClosing() == NULL);
    restore();
}

TEST(soft_limit_of_no_seconds_is_a_second) {
    const char *err;
    client *c = fixtureClient(2);
    CHECK(set("normal 0 1000 0", &err));
    addBlocks(c, 1000);
    CHECK(!isLetGo(c, 0));
    CHECK(isLetGo(c, 1.001) || c->flags & CLIENT_CLOSE_ASAP);
    clientFree(c);
    CHECK(clientPopClosing() == NULL);
    restore();
}

TEST(only_the_kind_with_a_limit_is_closed) {
    const char *err;
    client *normal = fixtureClient(2), *sub = fixtureClient(2);
    sub->flags |= CLIENT_PUBSUB;
    CHECK(set("pubsub 1000 0 0", &err));
    addBytes(normal, 100000);
    addBytes(sub, 100000);
    CHECK(!(normal->flags & CLIENT_CLOSE_ASAP));
    CHECK(sub->flags & CLIENT_CLOSE_ASAP);
    clientFree(normal);
    clientFree(sub);
    restore();
}
