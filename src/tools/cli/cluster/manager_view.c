/* manager_view.c -- a cluster as its nodes describe it in their replies to CLUSTER NODES.
 *
 *     ID HOST:PORT@BUS-PORT[,HOSTNAME[,...]] FLAGS PRIMARY-ID PING PONG EPOCH LINK [SLOT | FIRST-LAST | OPEN ...]
 *
 * OPEN is [SLOT->-ID] or [SLOT-<-ID]. The text comes from servers, so each word is checked.
 *
 * Tests       tests/unit/tools/manager_view_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_view.h"
#include "bits.h"
#include "numbers.h"
#include "zmalloc.h"
#include <stdlib.h>

#define FIXED_WORDS 8

/* ---- A set of slots ---------------------------------------------------------------------------------------------- */

bool managerOwns(const managerNode *n, int slot) { return bitsTest(n->slots, (uint64_t)slot); }

void managerSetSlot(managerNode *n, int slot, bool owned) {
    if (managerOwns(n, slot) == owned) return;
    bitsSetField(n->slots, sizeof(n->slots), (uint64_t)slot, 1, owned);
    n->slot_count += owned ? 1 : -1;
}

sds managerCatSlots(sds out, const char *slots) {
    int64_t at = 0;
    const char *comma = "";
    while ((at = bitsFind(slots, (uint64_t)at, HASH_SLOTS, true)) >= 0) {
        int64_t end = bitsFind(slots, (uint64_t)at, HASH_SLOTS, false);
        if (end < 0) end = HASH_SLOTS;
        if (end - at == 1) out = sdsCatPrintf(out, "%s[%d]", comma, (int)at);
        else out = sdsCatPrintf(out, "%s[%d-%d]", comma, (int)at, (int)end - 1);
        comma = ",";
        at = end;
        if (at == HASH_SLOTS) break;
    }
    return out;
}

const openSlot *managerOpenSlot(const managerNode *n, int slot) {
    for (size_t i = 0; i < n->open_count; i++)
        if (n->open[i].slot == slot) return &n->open[i];
    return NULL;
}

/* ---- Parsing ----------------------------------------------------------------------------------------------------- */

static bool takeId(slice word, char *id) {
    if (word.len != MANAGER_ID_LEN) return false;
    memcpy(id, word.ptr, word.len);
    id[word.len] = '\0';
    return true;
}

static bool takeNumber(slice word, long long max, long long *n) {
    return string2ll(word.ptr, word.len, n) && *n >= 0 && *n <= max;
}

/* Takes "HOST:PORT@BUS-PORT,HOSTNAME,...". The host may contain colons. */
static bool takeAddress(slice word, managerNode *n) {
    slice address = sliceTakeUntil(&word, ','), hostname = sliceTakeUntil(&word, ',');
    slice client = sliceTakeUntil(&address, '@');
    long long port, bus_port = 0;
    size_t colon = client.len;
    while (colon > 0 && client.ptr[colon - 1] != ':') colon--;
    if (colon == 0 || !takeNumber(sliceOf(client.ptr + colon, client.len - colon), 65535, &port)) return false;
    if (address.len && !takeNumber(address, 65535, &bus_port)) return false;
    n->host = sdsNewLen(client.ptr, colon - 1);
    if (hostname.len && !memchr(hostname.ptr, '=', hostname.len)) n->hostname = sdsFromSlice(hostname);
    n->port = (int)port;
    n->bus_port = (int)bus_port;
    return true;
}

static void takeFlags(slice word, managerNode *n) {
    static const struct {
        const char *word;
        unsigned flag;
    } rows[] = {{"myself", NODE_MYSELF}, {"master", NODE_PRIMARY},    {"slave", NODE_REPLICA},
                {"fail", NODE_FAILED},   {"handshake", NODE_UNKNOWN}, {"noaddr", NODE_UNKNOWN}};
    while (word.len) {
        slice flag = sliceTakeUntil(&word, ',');
        for (size_t i = 0; i < array_len(rows); i++)
            if (sliceIs(flag, rows[i].word)) n->flags |= rows[i].flag;
    }
}

/* Takes "[SLOT->-ID]" (migrating) or "[SLOT-<-ID]" (importing). */
static bool takeOpenSlot(slice word, managerNode *n) {
    openSlot open = {0};
    long long slot;
    if (word.len < 2 || word.ptr[word.len - 1] != ']') return false;
    slice rest = sliceOf(word.ptr + 1, word.len - 2);
    slice number = sliceTakeUntil(&rest, '-');
    if (!takeNumber(number, HASH_SLOTS - 1, &slot) || rest.len < 2 || rest.ptr[1] != '-') return false;
    if (rest.ptr[0] != '<' && rest.ptr[0] != '>') return false;
    open.slot = (int)slot;
    open.importing = rest.ptr[0] == '<';
    if (!takeId(sliceOf(rest.ptr + 2, rest.len - 2), open.other)) return false;
    n->open = zrealloc(n->open, sizeof(openSlot) * (n->open_count + 1));
    n->open[n->open_count++] = open;
    return true;
}

static bool takeSlots(slice word, managerNode *n) {
    long long first, last;
    if (word.len && word.ptr[0] == '[') return takeOpenSlot(word, n);
    slice head = sliceTakeUntil(&word, '-');
    if (!takeNumber(head, HASH_SLOTS - 1, &first)) return false;
    last = first;
    if (word.len && !takeNumber(word, HASH_SLOTS - 1, &last)) return false;
    for (long long slot = first; slot <= last; slot++) managerSetSlot(n, (int)slot, true);
    return last >= first;
}

static bool takeNode(slice line, managerNode *n) {
    slice words[FIXED_WORDS];
    unsigned long long epoch;
    for (int i = 0; i < FIXED_WORDS; i++) words[i] = sliceTakeUntil(&line, ' ');
    if (words[FIXED_WORDS - 1].len == 0 || !takeId(words[0], n->id) || !takeAddress(words[1], n)) return false;
    takeFlags(words[2], n);
    if (!sliceIs(words[3], "-") && !takeId(words[3], n->primary_id)) return false;
    if (!string2ull(words[6].ptr, words[6].len, &epoch)) return false;
    n->epoch = epoch;
    n->keys = -1;
    while (line.len) {
        slice word = sliceTakeUntil(&line, ' ');
        if (word.len && !takeSlots(word, n)) return false;
    }
    return true;
}

bool managerViewParse(managerView *v, slice text) {
    *v = (managerView){0};
    while (text.len) {
        slice line = sliceTakeUntil(&text, '\n');
        if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
        if (line.len == 0) continue;
        v->nodes = zrealloc(v->nodes, sizeof(managerNode) * (v->count + 1));
        managerNode *n = &v->nodes[v->count++];
        memset(n, 0, sizeof(*n));
        if (takeNode(line, n)) continue;
        managerViewFree(v);
        return false;
    }
    return true;
}

void managerNodeFree(managerNode *n) {
    sdsFree(n->host);
    sdsFree(n->address);
    sdsFree(n->hostname);
    sdsFree(n->opinion);
    zfree(n->open);
}

void managerViewFree(managerView *v) {
    for (size_t i = 0; i < v->count; i++) managerNodeFree(&v->nodes[i]);
    zfree(v->nodes);
    *v = (managerView){0};
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

int managerFind(const managerView *v, const char *id) {
    for (size_t i = 0; i < v->count; i++)
        if (strcasecmp(v->nodes[i].id, id) == 0) return (int)i;
    return -1;
}

int managerFindMyself(const managerView *v) {
    for (size_t i = 0; i < v->count; i++)
        if (v->nodes[i].flags & NODE_MYSELF) return (int)i;
    return -1;
}

void managerCountReplicas(managerView *v) {
    for (size_t i = 0; i < v->count; i++) v->nodes[i].replicas = 0;
    for (size_t i = 0; i < v->count; i++) {
        int primary = managerIsPrimary(&v->nodes[i]) ? -1 : managerFind(v, v->nodes[i].primary_id);
        if (primary >= 0) v->nodes[primary].replicas++;
    }
}

static int managerViewCompare(const void *a, const void *b) {
    const managerNode *const *x = a, *const *y = b;
    return strcmp((*x)->id, (*y)->id);
}

sds managerOpinion(const managerView *v) {
    sds out = sdsEmpty();
    const managerNode **sorted = zmalloc(sizeof(*sorted) * (v->count + 1));
    size_t owners = 0;
    for (size_t i = 0; i < v->count; i++)
        if (v->nodes[i].slot_count) sorted[owners++] = &v->nodes[i];
    qsort(sorted, owners, sizeof(*sorted), managerViewCompare);
    for (size_t i = 0; i < owners; i++) {
        out = sdsCatPrintf(out, "%s:", sorted[i]->id);
        out = managerCatSlots(out, sorted[i]->slots);
        out = sdsCat(out, "\n");
    }
    zfree(sorted);
    return out;
}
