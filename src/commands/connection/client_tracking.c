/* client_tracking.c -- CLIENT TRACKING, CACHING, TRACKINGINFO, GETREDIR: the commands of client-side caching.
 *
 * Everything is checked before anything changes.
 *
 * Not here    what tracking does (engine/tracking/tracking.c).
 * Threads     main.
 * Tests       tests/engine/tracking.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "commands.h"
#include "reply.h"
#include "tracking.h"
#include "zmalloc.h"

/* The options of CLIENT TRACKING. */
typedef struct trackingArgs {
    uint32_t mode; /* TRACKING_ */
    uint64_t redirect;
    slice *prefixes; /* owns the array */
    size_t prefix_count;
} trackingArgs;

static bool isOn(const client *c) { return c->flags & CLIENT_TRACKING; }

static uint32_t modeOf(const client *c) { return isOn(c) ? trackingOf(c)->mode : 0; }

/* ---- CLIENT TRACKING: parsing ---- */

static bool readRedirect(client *c, uint32_t index, trackingArgs *args) {
    long long id;
    if (args->redirect) return addReplyError(c, "A client can only redirect to a single other client");
    if (!getLongLongFromArg(c, index, &id, NULL)) return false;
    if (id <= 0 || !clientById((uint64_t)id))
        return addReplyError(c, "The client ID you want redirect to does not exist");
    args->redirect = (uint64_t)id;
    return true;
}

static uint32_t modeByName(slice word) {
    if (sliceIs(word, "bcast")) return TRACKING_BCAST;
    if (sliceIs(word, "optin")) return TRACKING_OPTIN;
    if (sliceIs(word, "optout")) return TRACKING_OPTOUT;
    if (sliceIs(word, "noloop")) return TRACKING_NOLOOP;
    return 0;
}

static bool readOptions(client *c, trackingArgs *args) {
    for (uint32_t i = 3; i < c->argc; i++) {
        bool more = i + 1 < c->argc;
        uint32_t mode = modeByName(c->argv[i]);
        if (mode) {
            args->mode |= mode;
        } else if (more && sliceIs(c->argv[i], "redirect")) {
            if (!readRedirect(c, ++i, args)) return false;
        } else if (more && sliceIs(c->argv[i], "prefix")) {
            args->prefixes[args->prefix_count++] = c->argv[++i];
        } else {
            return addReplySyntaxError(c);
        }
    }
    return true;
}

/* ---- CLIENT TRACKING: conflicts -------------------- */

static const char *conflictOf(const client *c, const trackingArgs *args) {
    uint32_t mode = args->mode, was = modeOf(c);
    if (args->prefix_count && !(mode & TRACKING_BCAST)) return "PREFIX option requires BCAST mode to be enabled";
    if (isOn(c) && (mode ^ was) & TRACKING_BCAST)
        return "You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it "
               "with a different mode.";
    if (mode & TRACKING_BCAST && mode & (TRACKING_OPTIN | TRACKING_OPTOUT))
        return "OPTIN and OPTOUT are not compatible with BCAST";
    if (mode & TRACKING_OPTIN && mode & TRACKING_OPTOUT) return "You can't specify both OPTIN mode and OPTOUT mode";
    if ((mode & TRACKING_OPTIN && was & TRACKING_OPTOUT) || (mode & TRACKING_OPTOUT && was & TRACKING_OPTIN))
        return "You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it "
               "with a different mode.";
    return NULL;
}

static void replyOverlap(client *c, slice prefix, const char *which, slice with) {
    addReplyErrorFormat(c,
                        "Prefix '%.*s' overlaps with %s prefix '%.*s'. Prefixes for a single client must not overlap.",
                        (int)prefix.len, prefix.ptr, which, (int)with.len, with.ptr);
}

static bool overlapping(slice a, slice b) { return bytesEq(a.ptr, b.ptr, a.len < b.len ? a.len : b.len); }

static int inOrder(const void *a, const void *b) {
    const slice *const *x = a, *const *y = b;
    return sliceCmp(**x, **y);
}

/* Returns the index of the first prefix that overlaps another one; the number of prefixes if none does. In sorted order
 * a prefix is directly followed by those that begin with it. */
static size_t firstOverlapping(const trackingArgs *args) {
    size_t n = args->prefix_count, first = n;
    const slice **order = zmalloc((n + 1) * sizeof(*order));
    for (size_t i = 0; i < n; i++) order[i] = &args->prefixes[i];
    qsort(order, n, sizeof(*order), inOrder);
    for (size_t base = 0, i = 1; i < n; i++) {
        if (!overlapping(*order[base], *order[i])) {
            base = i;
            continue;
        }
        size_t one = (size_t)(order[base] - args->prefixes), other = (size_t)(order[i] - args->prefixes);
        if (one < first) first = one;
        if (other < first) first = other;
    }
    zfree(order);
    return first;
}

/* Checks each prefix for an overlap with the client's present ones and with those after it. Replies with an error and
 * returns false if there is one. */
static bool prefixesFit(client *c, const trackingArgs *args) {
    size_t first = firstOverlapping(args);
    for (size_t i = 0; i < args->prefix_count; i++) {
        slice prefix = args->prefixes[i], with;
        if (isOn(c) && prefixesOverlap(&trackingOf(c)->prefixes, prefix, &with)) {
            replyOverlap(c, prefix, "an existing", with);
            return false;
        }
        for (size_t k = i + 1; i == first && k < args->prefix_count; k++) {
            if (!overlapping(prefix, args->prefixes[k])) continue;
            replyOverlap(c, prefix, "another provided", args->prefixes[k]);
            return false;
        }
    }
    return true;
}

/* ---- CLIENT TRACKING: execution --- */

/* BCAST without a prefix stands for all keys. If the client has that prefix already, nothing changes. */
static bool addPrefixes(client *c, const trackingArgs *args) {
    slice empty = sliceOf("", 0);
    const prefixList *has = &trackingOf(c)->prefixes;
    if (args->prefix_count) return trackingAddPrefixes(c, args->prefixes, args->prefix_count);
    return (has->count && prefixesAt(has, 0).len == 0) || trackingAddPrefixes(c, &empty, 1);
}

static void turnOn(client *c, const trackingArgs *args) {
    const char *conflict = conflictOf(c, args);
    if (conflict) {
        addReplyError(c, conflict);
        return;
    }
    if (!prefixesFit(c, args)) return;
    trackingOn(c, args->mode, args->redirect);
    if (args->mode & TRACKING_BCAST && !addPrefixes(c, args)) {
        trackingOff(c);
        addReplyNoMemory(c);
        return;
    }
    addReplyOk(c);
}

void clientTrackingCommand(client *c) {
    trackingArgs args = {.prefixes = zmalloc(c->argc * sizeof(slice))};
    if (readOptions(c, &args)) {
        if (sliceIs(c->argv[2], "on")) {
            turnOn(c, &args);
        } else if (sliceIs(c->argv[2], "off")) {
            trackingOff(c);
            addReplyOk(c);
        } else {
            addReplySyntaxError(c);
        }
    }
    zfree(args.prefixes);
}

/* ---- Other subcommands --- */

void clientCachingCommand(client *c) {
    uint32_t mode = modeOf(c);
    if (!isOn(c)) {
        addReplyError(c, "CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT "
                         "mode enabled");
    } else if (sliceIs(c->argv[2], "yes") && !(mode & TRACKING_OPTIN)) {
        addReplyError(c, "CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
    } else if (sliceIs(c->argv[2], "no") && !(mode & TRACKING_OPTOUT)) {
        addReplyError(c, "CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
    } else if (sliceIs(c->argv[2], "yes") || sliceIs(c->argv[2], "no")) {
        trackingOf(c)->mode |= TRACKING_CACHING;
        addReplyOk(c);
    } else {
        addReplySyntaxError(c);
    }
}

void clientGetredirCommand(client *c) { addReplyLongLong(c, isOn(c) ? (long long)trackingOf(c)->redirect : -1); }

static void replyFlags(client *c) {
    uint32_t mode = modeOf(c);
    const struct {
        bool set;
        const char *name;
    } flags[] = {
        {!isOn(c), "off"},
        {isOn(c), "on"},
        {mode & TRACKING_BCAST, "bcast"},
        {mode & TRACKING_OPTIN, "optin"},
        {mode & TRACKING_OPTIN && mode & TRACKING_CACHING, "caching-yes"},
        {mode & TRACKING_OPTOUT, "optout"},
        {mode & TRACKING_OPTOUT && mode & TRACKING_CACHING, "caching-no"},
        {mode & TRACKING_NOLOOP, "noloop"},
        {mode & TRACKING_BROKEN, "broken_redirect"},
    };
    long long count = 0;
    for (size_t i = 0; i < array_len(flags); i++) count += flags[i].set;
    addReplySetLen(c, count);
    for (size_t i = 0; i < array_len(flags); i++)
        if (flags[i].set) addReplyBulkCString(c, flags[i].name);
}

void clientTrackinginfoCommand(client *c) {
    addReplyMapLen(c, 3);
    addReplyBulkCString(c, "flags");
    replyFlags(c);
    addReplyBulkCString(c, "redirect");
    clientGetredirCommand(c);
    addReplyBulkCString(c, "prefixes");
    size_t count = isOn(c) ? trackingOf(c)->prefixes.count : 0;
    addReplyArrayLen(c, (long long)count);
    for (size_t i = 0; i < count; i++) addReplyBulk(c, prefixesAt(&trackingOf(c)->prefixes, i));
}
