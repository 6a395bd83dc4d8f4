/* manager_move.c -- moves a slot, or its keys, from one node to another.
 *
 *   target: IMPORTING --> source: MIGRATING --> keys: MIGRATE --> target: NODE --> source and all others: NODE
 *
 * The target takes the slot before the source gives it up: a tool that is killed in between leaves two nodes that claim
 * it, or an open slot, but no slot without an owner.
 *
 * Tests       tests/tools/cluster_move.tcl, tests/tools/cluster_fix.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_move.h"
#include "cli_connection.h"
#include "manager_text.h"
#include "numbers.h"
#include "zmalloc.h"
#include <stdlib.h>

#define DOWN_TRIES 60
#define DOWN_PAUSE_S 0.5

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

int managerMigrateHead(const managerCluster *m, int to, long long db, bool copy, bool replace, managerNumbers numbers,
                       slice *words) {
    const managerNode *target = &m->view.nodes[to];
    const toolLogin *login = &m->options->login;
    int n = 0;
    ll2string(numbers[0], target->port);
    ll2string(numbers[1], db);
    ll2string(numbers[2], m->options->manager.timeout_ms);
    words[n++] = sliceStr("MIGRATE");
    words[n++] = sliceStr(managerAddressOf(target));
    words[n++] = sliceStr(numbers[0]);
    words[n++] = sliceStr("");
    words[n++] = sliceStr(numbers[1]);
    words[n++] = sliceStr(numbers[2]);
    if (copy) words[n++] = sliceStr("COPY");
    if (replace) words[n++] = sliceStr("REPLACE");
    if (login->password && login->user) {
        words[n++] = sliceStr("AUTH2");
        words[n++] = sliceStr(login->user);
        words[n++] = sliceStr(login->password);
    } else if (login->password) {
        words[n++] = sliceStr("AUTH");
        words[n++] = sliceStr(login->password);
    }
    words[n++] = sliceStr("KEYS");
    return n;
}

/* Sends MIGRATE for a list of keys. Returns the reply. A cluster that is down gets time to notice that all slots have
 * owners again. */
static replyValue *migrate(managerCluster *m, int from, int to, long long db, bool replace, const replyValue *keys) {
    managerNumbers numbers;
    slice *words = zmalloc(sizeof(slice) * (MIGRATE_HEAD_MAX + keys->count));
    int n = managerMigrateHead(m, to, db, false, replace, numbers, words);
    for (size_t i = 0; i < keys->count; i++) words[n++] = sliceOf(keys->items[i].str, keys->items[i].len);
    replyValue *v = linkCallWords(m->links[from], n, words);
    for (int i = 0; v && replyIsError(v) && strstr(v->str, "CLUSTERDOWN") && i < DOWN_TRIES; i++) {
        replyValueFree(v);
        cliPause(DOWN_PAUSE_S);
        v = linkCallWords(m->links[from], n, words);
    }
    zfree(words);
    return v;
}

/* Returns the serialized value of a key at a node that may only be importing its slot. NULL if the node is lost. */
static replyValue *dump(managerCluster *m, int node, const replyValue *key) {
    slice words[] = {sliceStr("DUMP"), sliceOf(key->str, key->len)};
    replyValueFree(managerCall(m, node, "ASKING", NULL));
    return linkCallWords(m->links[node], array_len(words), words);
}

/* Returns true if no key has different values at both nodes; prints the first one that has. */
static bool keysAreEqual(managerCluster *m, int from, int to, const replyValue *keys) {
    for (size_t i = 0; i < keys->count; i++) {
        const replyValue *key = &keys->items[i];
        replyValue *here = dump(m, from, key), *there = dump(m, to, key);
        bool equal = here && there &&
                     (here->type == '_' || there->type == '_' ||
                      (here->type == '$' && there->type == '$' && here->len == there->len &&
                       memcmp(here->str, there->str, here->len) == 0));
        replyValueFree(here);
        replyValueFree(there);
        if (equal) continue;
        sds name = sdsCatRepr(sdsEmpty(), key->str, key->len);
        const managerNode *a = &m->view.nodes[from], *b = &m->view.nodes[to];
        managerSay(SAY_ERROR,
                   "The key %s has different values at %s:%d and %s:%d. --cluster-replace keeps that of %s:%d.", name,
                   a->host, a->port, b->host, b->port, a->host, a->port);
        sdsFree(name);
        return false;
    }
    return true;
}

/* Moves a batch of keys. Returns false after a message. */
static bool moveBatch(managerCluster *m, int from, int to, long long db, const replyValue *keys) {
    bool replace = m->options->manager.replace;
    replyValue *v = migrate(m, from, to, db, replace, keys);
    if (v && replyIsError(v) && !replace && strstr(v->str, "BUSYKEY")) {
        replyValueFree(v);
        if (!keysAreEqual(m, from, to, keys)) return false;
        v = migrate(m, from, to, db, true, keys);
    }
    bool ok = v && !replyIsError(v);
    if (!ok)
        managerSay(SAY_ERROR, "MIGRATE at %s:%d: %s", m->view.nodes[from].host, m->view.nodes[from].port,
                   v ? v->str : linkError(m->links[from]));
    replyValueFree(v);
    return ok;
}

/* Moves the keys of the selected database. */
static bool moveSelected(managerCluster *m, int slot, int from, int to, long long db) {
    char number[LONG_STR_SIZE], batch[LONG_STR_SIZE];
    ll2string(number, slot);
    ll2string(batch, m->options->manager.pipeline);
    for (;;) {
        replyValue *keys = managerCall(m, from, "CLUSTER", "GETKEYSINSLOT", number, batch, NULL);
        if (!keys) return false;
        bool list = replyIsList(keys), more = list && keys->count > 0;
        if (!list) managerSay(SAY_ERROR, "CLUSTER GETKEYSINSLOT: %s", keys->str ? keys->str : "no list");
        bool ok = list && (!more || moveBatch(m, from, to, db, keys));
        replyValueFree(keys);
        if (!ok || !more) return ok;
    }
}

/* Returns how many databases a node has, 1 if it does not say. */
static long long databasesOf(managerCluster *m, int node) {
    replyValue *v = managerCall(m, node, "CONFIG", "GET", "cluster-databases", NULL);
    const char *text = v ? replyLookupText(v, "cluster-databases") : NULL;
    long long n = text ? atoll(text) : 1;
    replyValueFree(v);
    return n > 0 ? n : 1;
}

bool managerMoveKeys(managerCluster *m, int slot, int from, int to) {
    bool ok = true;
    if (m->databases == 0) m->databases = databasesOf(m, from);
    for (long long db = 0; ok && db < m->databases; db++) {
        char number[LONG_STR_SIZE];
        ll2string(number, db);
        if (db > 0) ok = managerDo(m, from, "SELECT", number, NULL);
        if (ok) ok = moveSelected(m, slot, from, to, db);
    }
    if (ok && m->databases > 1) ok = managerDo(m, from, "SELECT", "0", NULL);
    return ok;
}

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

bool managerSetSlotState(managerCluster *m, int node, int slot, const char *state, const char *id) {
    char number[LONG_STR_SIZE];
    ll2string(number, slot);
    return managerDo(m, node, "CLUSTER", "SETSLOT", number, state, id, NULL);
}

/* Has the former owner and all others know the new one, all at once, as each waits for its disk. The former owner may
 * have become a replica with its last slot, and the others learn it from the bus as well: a refusal is no failure.
 * Returns false after a message if a connection breaks. */
static bool announce(managerCluster *m, int slot, int to) {
    char number[LONG_STR_SIZE];
    const managerView *v = &m->view;
    ll2string(number, slot);
    slice words[] = {sliceStr("CLUSTER"), sliceStr("SETSLOT"), sliceStr(number), sliceStr("NODE"),
                     sliceStr(v->nodes[to].id)};
    bool ok = true;
    for (size_t i = 0; i < v->count; i++)
        if ((int)i != to && managerIsPrimary(&v->nodes[i])) linkSend(m->links[i], array_len(words), words);
    for (size_t i = 0; i < v->count; i++) {
        if ((int)i == to || !managerIsPrimary(&v->nodes[i])) continue;
        replyValue *reply = linkRead(m->links[i]);
        if (!reply) {
            managerSay(SAY_ERROR, "The connection to %s:%d is broken: %s", v->nodes[i].host, v->nodes[i].port,
                       linkError(m->links[i]));
            ok = false;
        }
        replyValueFree(reply);
    }
    return ok;
}

bool managerMoveSlot(managerCluster *m, int slot, int from, int to) {
    managerNode *source = &m->view.nodes[from], *target = &m->view.nodes[to];
    if (!managerSetSlotState(m, to, slot, "IMPORTING", source->id)) return false;
    if (!managerSetSlotState(m, from, slot, "MIGRATING", target->id)) return false;
    if (!managerMoveKeys(m, slot, from, to)) return false;
    if (!managerSetSlotState(m, to, slot, "NODE", target->id)) return false;
    if (!announce(m, slot, to)) return false;
    managerSetSlot(source, slot, false);
    managerSetSlot(target, slot, true);
    return true;
}
