/* client_describe.c -- what CLIENT LIST and the log show of a client.
 *
 * Layers above set their parts of a clientInfoExtra; all other values are in the client.
 *
 * Owns        the registered functions, and the length of a period of reply peaks.
 * Threads     main.
 * Tests       tests/unit/client/client_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_describe.h"

#include "one_line.h"
#include "panic.h"
#include "reply_block.h"
#include "zmalloc.h"

#define HOOKS_MAX 8

static clientInfoFn *on_info[HOOKS_MAX]; /* const after startup */
static int ninfo;

void clientOnInfo(clientInfoFn *fn) {
    serverAssert(ninfo < HOOKS_MAX);
    on_info[ninfo++] = fn;
}

/* ---- The largest replies ------------------------------------------------------------------------------------- */

static struct {
    long long ms;
    monotime began;
} peak_period = {.ms = CLIENT_PEAK_PERIOD_MS};

void clientPeaksTick(monotime now) {
    assertMainRole();
    uint64_t next = client_state.peak_tag + ((uint64_t)1 << CLIENT_PEAK_BITS);
    if (peak_period.ms < 0 || clockTicksToUs(now - peak_period.began) / 1000 < (uint64_t)peak_period.ms) return;
    if (next != 0) client_state.peak_tag = next; /* the numbers run out after 42 years: the last period never ends */
    peak_period.began = now;
}

void clientPeaksSetPeriod(long long ms) {
    assertMainRole();
    peak_period.ms = ms;
}

/* ---- CLIENT LIST ------------------------------------------------------------------------------------------------ */

static clientInfoExtra gatherExtra(const client *c) {
    clientInfoExtra extra = {.multi = -1, .redirect = -1, .user = "default"};
    for (int i = 0; i < ninfo; i++) on_info[i](c, &extra);
    return extra;
}

void clientNoteUnblocked(client *c) {
    assertMainRole();
    c->unblocked_iteration = client_state.iteration;
    c->unblocked_at = c->last_interaction;
}

static bool isWaiting(const client *c, const clientInfoExtra *extra) {
    return c->flags & CLIENT_BLOCKED || (c->flags & CLIENT_PAUSED && !extra->pause_ended);
}

bool clientIsBlocked(const client *c) {
    assertMainRole();
    if (!(c->flags & (CLIENT_BLOCKED | CLIENT_PAUSED))) return false;
    clientInfoExtra extra = gatherExtra(c);
    return isWaiting(c, &extra);
}

/* Returns true if the client's wait has ended but it has not executed a command since. */
static bool isUnblocked(const client *c, const clientInfoExtra *extra) {
    if (c->flags & CLIENT_BLOCKED || c->req) return false;
    if (c->flags & CLIENT_PAUSED) return extra->pause_ended;
    if (c->unblocked_iteration == 0 || c->unblocked_at != c->last_interaction) return false;
    return c->unblocked_iteration == client_state.iteration || c->flags & CLIENT_READY;
}

static size_t argvBytes(const client *c) {
    size_t bytes = 0;
    for (uint32_t i = 0; c->req && i < c->argc; i++) bytes += c->argv[i].len;
    return bytes;
}

static size_t memUsage(const client *c, const clientInfoExtra *extra) {
    const sds texts[] = {c->name, c->lib_name, c->lib_ver, c->peer, c->local};
    size_t bytes = zmallocSize(c) + c->output_memory + c->input_bytes + extra->query_used + extra->query_free +
                   extra->multi_bytes + extra->other_bytes;
    for (size_t i = 0; i < array_len(texts); i++) bytes += texts[i] ? sdsAllocSize(texts[i]) : 0;
    return bytes;
}

size_t clientMemUsage(const client *c) {
    assertMainRole();
    clientInfoExtra extra = gatherExtra(c);
    return memUsage(c, &extra);
}

/* Writes the letters of flags= in the order in which Valkey prints them. */
static const char *flagLetters(const client *c, const clientInfoExtra *extra, char out[24]) {
    const struct {
        bool set;
        char letter;
    } letters[] = {
        {(c->flags & CLIENT_REPLICA) && (c->flags & CLIENT_MONITOR), 'O'},
        {(c->flags & CLIENT_REPLICA) && !(c->flags & CLIENT_MONITOR), 'S'},
        {c->flags & CLIENT_PRIMARY, 'M'},
        {c->flags & CLIENT_PUBSUB, 'P'},
        {c->flags & CLIENT_MULTI, 'x'},
        {isWaiting(c, extra), 'b'},
        {c->flags & CLIENT_TRACKING, 't'},
        {extra->tracking_broken_redirect, 'R'},
        {extra->tracking_bcast, 'B'},
        {c->flags & CLIENT_DIRTY_CAS, 'd'},
        {c->flags & CLIENT_CLOSE_AFTER_REPLY, 'c'},
        {isUnblocked(c, extra), 'u'},
        {c->flags & CLIENT_CLOSE_ASAP, 'A'},
        {c->flags & CLIENT_UNIX_SOCKET, 'U'},
        {c->flags & CLIENT_READONLY, 'r'},
        {c->flags & CLIENT_NO_EVICT, 'e'},
        {c->flags & CLIENT_NO_TOUCH, 'T'},
        {c->flags & CLIENT_IMPORT_SOURCE, 'I'},
    };
    size_t len = 0;

    static_assert(array_len(letters) < 24, "every letter and a NUL fit");
    for (size_t i = 0; i < array_len(letters); i++) {
        if (letters[i].set) out[len++] = letters[i].letter;
    }
    if (len == 0) out[len++] = 'N';
    out[len] = '\0';
    return out;
}

const char *clientFlagLetters(const client *c, char out[24]) {
    assertMainRole();
    clientInfoExtra extra = gatherExtra(c);
    return flagLetters(c, &extra, out);
}

static unsigned long long secondsSince(monotime then) { return clockTicksToNs(clockTicks() - then) / 1000000000ull; }

/* Another thread may record a later time while this one reads the clock: the difference is never negative. */
static uint64_t idleNs(const client *c, const clientInfoExtra *extra) {
    monotime last = c->last_interaction > extra->last_bytes ? c->last_interaction : extra->last_bytes;
    monotime now = clockTicks();
    return now > last ? clockTicksToNs(now - last) : 0;
}

uint64_t clientIdleNs(const client *c) {
    assertMainRole();
    clientInfoExtra extra = gatherExtra(c);
    return idleNs(c, &extra);
}

/* While EXEC runs its queue, EXEC is shown, also to the commands in the queue. */
static const struct serverCommand *shownCommand(const client *c) {
    bool runs_queue = c->req && c->flags & CLIENT_MULTI;
    return runs_queue || !c->cmd ? c->last_cmd : c->cmd;
}

static const char *textOr(const sds s) { return s ? s : ""; }

sds clientCatIdentity(sds s, const client *c, bool hidden) {
    assertMainRole();
    clientInfoExtra extra = gatherExtra(c);
    s = sdsCatPrintf(s, "id=%llu addr=%s laddr=%s fd=%d", (unsigned long long)c->id, c->peer, c->local, c->fd);
    if (hidden) s = sdsCatPrintf(s, " name=*redacted* user=*redacted*");
    else s = sdsCatPrintf(s, " name=%s user=%s", textOr(c->name), extra.user);
    return sdsCatPrintf(s, " lib-name=%s lib-ver=%s", textOr(c->lib_name), textOr(c->lib_ver));
}

sds clientCatInfo(sds s, const client *c) {
    assertMainRole();
    clientInfoExtra extra = gatherExtra(c);
    /* A Valkey client has a buffer (rbs, obl bytes of it used) followed by a list of oll blocks with omem bytes. */
    size_t queued = clientQueuedOutput(c);
    size_t buffered = c->output_bytes < CLIENT_OUTPUT_BUFFER ? c->output_bytes : CLIENT_OUTPUT_BUFFER;
    size_t peak = c->reply_peak > client_state.peak_tag ? c->reply_peak - client_state.peak_tag : 0;
    size_t open_bytes = 0, from = sdsLen(s);
    char flags[24];

    for (const replyBlock *b = c->reply_head; b; b = b->next) open_bytes += replyBlockAllocSize(b);
    s = sdsCatPrintf(s, "id=%llu addr=%s laddr=%s fd=%d name=%s age=%llu idle=%llu flags=%s capa=%s db=%d",
                     (unsigned long long)c->id, c->peer, c->local, c->fd, textOr(c->name), secondsSince(c->created),
                     (unsigned long long)idleNs(c, &extra) / 1000000000ull, flagLetters(c, &extra, flags),
                     c->capa & CLIENT_CAPA_REDIRECT ? "r" : "", c->db ? dbId(c->db) : 0);
    s = sdsCatPrintf(
        s, " sub=%zu psub=%zu ssub=%zu multi=%lld watch=%zu qbuf=%zu qbuf-free=%zu argv-mem=%zu multi-mem=%zu",
        extra.subscribed_channels, extra.subscribed_patterns, extra.subscribed_shard_channels, extra.multi,
        extra.watched, extra.query_used, extra.query_free, argvBytes(c), extra.multi_bytes);
    s = sdsCatPrintf(
        s, " rbs=%zu rbp=%zu obl=%zu oll=%zu omem=%zu tot-mem=%zu events=%s cmd=%s user=%s redir=%lld resp=%d",
        open_bytes, peak, buffered, queued ? (size_t)c->output_blocks : 0, queued, memUsage(c, &extra),
        c->io ? (queued ? "rw" : "r") : "", clientCommandName(shownCommand(c)),
        c->flags & CLIENT_PRIMARY ? "(superuser)" : extra.user, extra.redirect, c->resp);
    s = sdsCatPrintf(s, " lib-name=%s lib-ver=%s tot-net-in=%lld tot-net-out=%lld tot-cmds=%lld", textOr(c->lib_name),
                     textOr(c->lib_ver), c->net_input, c->net_output + (long long)extra.fanned_bytes, c->commands);
    if (c->flags & CLIENT_OUTPUT_FULL) s = sdsCatPrintf(s, " waits-for=output");
    oneLine(s + from, sdsLen(s) - from); /* a user's name or a socket's path may contain line ends */
    return s;
}
