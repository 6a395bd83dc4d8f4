/* manager_import.c -- --cluster import and backup: a dataset into a cluster, and the datasets of a cluster to files.
 *
 * Tests       tests/tools/cluster_import.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_commands.h"
#include "manager_move.h"
#include "manager_text.h"
#include "modes.h"
#include "numbers.h"
#include "output_file.h"
#include "terminal.h"
#include "zmalloc.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* ---- import ------------------------------------------------------------------------------------------------------ */

/* Connects to the server that has the keys. Returns NULL after a message. */
static serverLink *openSource(const cliOptions *o) {
    cliOptions source = *o;
    sds host, password = NULL;
    int port;
    if (!managerAddress(o->manager.from, &host, &port)) {
        fprintf(stderr, "Invalid address format: %s\n", o->manager.from);
        return NULL;
    }
    if (o->manager.ask_from_password) password = passwordPrompt("Password of the source: ");
    source.login.user = o->manager.from_user;
    source.login.password = password ? password : o->manager.from_password;
    serverLink *l = managerConnect(&source, host, port);
    sdsFree(password);
    sdsFree(host);
    replyValue *v = l ? linkCall(l, "INFO", "cluster", NULL) : NULL;
    bool ok = v && replyIsText(v) && !strstr(v->str, "cluster_enabled:1");
    if (l && !ok)
        managerSay(SAY_ERROR, v && replyIsText(v) ? "The source is a cluster node itself: use reshard or add-node."
                                                  : "The source does not say by INFO that it is no cluster node.");
    replyValueFree(v);
    if (ok) return l;
    linkClose(l);
    return NULL;
}

/* Moves or copies one key to the owner of its slot. Returns false after a message. */
static bool importKey(managerCluster *m, serverLink *source, const replyValue *key) {
    const managerOptions *o = &m->options->manager;
    slice words[MIGRATE_HEAD_MAX + 1];
    managerNumbers numbers;
    int slot = keyHashSlot(key->str, key->len), to = 0;
    while (to < (int)m->view.count && !(managerIsPrimary(&m->view.nodes[to]) && managerOwns(&m->view.nodes[to], slot)))
        to++;
    if (to == (int)m->view.count) return false; /* the check has found an owner for each slot */
    int n = managerMigrateHead(m, to, 0, o->copy, o->replace, numbers, words);
    words[n++] = sliceOf(key->str, key->len);
    replyValue *v = linkCallWords(source, n, words);
    bool ok = v && !replyIsError(v);
    printf("Migrating ");
    fwrite(key->str, key->len, 1, stdout);
    printf(" to %s:%d: ", m->view.nodes[to].host, m->view.nodes[to].port);
    printf("%s\n", ok ? "OK" : v ? v->str : linkError(source));
    if (!ok) managerSay(SAY_ERROR, "The import has stopped. Keys that were moved are in the cluster.");
    replyValueFree(v);
    return ok;
}

static bool importKeys(managerCluster *m, serverLink *source) {
    sds cursor = sdsNew("0");
    bool ok = true, ended = false;
    while (ok && !ended) {
        replyValue *v = linkCall(source, "SCAN", cursor, "COUNT", "1000", NULL);
        ok = v && replyIsList(v) && v->count == 2 && replyIsText(&v->items[0]) && replyIsList(&v->items[1]);
        if (!ok) managerSay(SAY_ERROR, "SCAN: %s", !v ? linkError(source) : v->str ? v->str : "unexpected reply");
        for (size_t i = 0; ok && i < v->items[1].count; i++) ok = importKey(m, source, &v->items[1].items[i]);
        if (ok) {
            cursor = sdsCpyLen(cursor, v->items[0].str, v->items[0].len);
            ended = strcmp(cursor, "0") == 0;
        }
        replyValueFree(v);
    }
    sdsFree(cursor);
    return ok;
}

int managerImport(const cliOptions *o, int count, char **words) {
    managerCluster m;
    managerFaults faults;
    if (!o->manager.from) {
        fputs("[ERR] Option '--cluster-from' is required for subcommand 'import'.\n", stderr);
        return 1;
    }
    managerSay(SAY_STEP, "Importing data from %s to cluster %s", o->manager.from, words[0]);
    bool ok = managerEnter(&m, o, count, words) && managerPerformCheck(&m, &faults, true);
    serverLink *source = ok ? openSource(o) : NULL;
    replyValue *size = source ? linkCall(source, "DBSIZE", NULL) : NULL;
    ok = size && size->type == ':';
    if (ok) {
        printf("*** Importing %lld keys from DB 0\n", size->integer);
        ok = importKeys(&m, source);
    }
    replyValueFree(size);
    linkClose(source);
    managerUnload(&m);
    return ok ? 0 : 1;
}

/* ---- backup ------------------------------------------------------------------------------------------------------ */

/* Appends open slots as a member of a JSON object, if there are any: "importing": {"5": "ID"}. */
static sds catOpen(sds out, const managerNode *n, bool importing) {
    size_t found = 0;
    for (size_t i = 0; i < n->open_count; i++) {
        if (n->open[i].importing != importing) continue;
        if (found == 0) out = sdsCatPrintf(out, ",\n    \"%s\": {", importing ? "importing" : "migrating");
        out = sdsCatPrintf(out, "%s\"%d\": \"%s\"", found++ ? ", " : "", n->open[i].slot, n->open[i].other);
    }
    return found ? sdsCat(out, "}") : out;
}

/* Appends a node as a JSON object. */
static sds catNode(sds out, const managerNode *n, int errors) {
    sds pairs = sdsEmpty();
    for (int slot = -1; (slot = managerSlotNext(n->slots, slot)) >= 0;) {
        int first = slot;
        while (slot + 1 < HASH_SLOTS && managerOwns(n, slot + 1)) slot++;
        pairs = sdsCatPrintf(pairs, "%s[%d,%d]", sdsLen(pairs) ? "," : "", first, slot);
    }
    sds host = sdsCatRepr(sdsEmpty(), n->host, sdsLen(n->host));
    bool primary = managerIsPrimary(n);
    out = sdsCatPrintf(out,
                       "  {\n    \"name\": \"%s\",\n    \"host\": %s,\n    \"port\": %d,\n    \"replicate\": ", n->id,
                       host, n->port);
    out = primary ? sdsCat(out, "null") : sdsCatPrintf(out, "\"%s\"", n->primary_id);
    out = sdsCatPrintf(out,
                       ",\n    \"slots\": [%s],\n    \"slots_count\": %d,\n    \"flags\": \"%s\",\n"
                       "    \"current_epoch\": %llu",
                       pairs, n->slot_count, primary ? "master" : "slave", n->epoch);
    if (errors) out = sdsCatPrintf(out, ",\n    \"cluster_errors\": %d", errors);
    out = catOpen(catOpen(out, n, false), n, true);
    sdsFree(host);
    sdsFree(pairs);
    return sdsCat(out, "\n  }");
}

/* Writes nodes.json. Returns false after a message. */
static bool writeNodes(const managerView *v, const managerFaults *faults, const char *dir) {
    outputFile file;
    int errors = faults->disagree + faults->open_count + (faults->owned_count < HASH_SLOTS);
    sds path = sdsCatPrintf(sdsEmpty(), "%s/nodes.json", dir), text = sdsNew("[\n");
    for (size_t i = 0; i < v->count; i++) {
        text = catNode(text, &v->nodes[i], errors);
        text = sdsCat(text, i + 1 < v->count ? ",\n" : "\n]");
    }
    printf("Saving cluster configuration to: %s\n", path);
    bool opened = outputFileOpen(&file, path);
    bool ok = opened && outputFileWrite(&file, text, sdsLen(text)) && outputFileKeep(&file);
    if (!ok) managerSay(SAY_ERROR, "Cannot write '%s': %s", path, strerror(errno));
    if (opened && !ok) outputFileAbandon(&file);
    sdsFree(text);
    sdsFree(path);
    return ok;
}

/* Saves the dataset of a node. Returns false after a message. */
static bool saveNode(const cliOptions *o, const managerNode *n, const char *dir) {
    sds path = sdsCatPrintf(sdsEmpty(), "%s/valkey-node-%s-%d-%s.rdb", dir, n->host, n->port, n->id);
    cliOptions options = *o;
    options.target.host = n->host;
    options.target.port = n->port;
    options.target.unix_path = NULL;
    options.rdb_file = path;
    cliConnection c = {.options = &options};
    managerSay(SAY_STEP, "Node %s:%d -> Saving RDB...", n->host, n->port);
    bool ok = cliConnect(&c, false) && !c.refused && modeRdb(&c, false) == 0;
    cliDisconnect(&c);
    sdsFree(path);
    return ok;
}

int managerBackup(const cliOptions *o, int count, char **words) {
    managerCluster m;
    managerFaults faults;
    struct stat info;
    const char *dir = words[count - 1];
    bool ok = managerEnter(&m, o, count - 1, words);
    if (ok) managerPerformCheck(&m, &faults, true);
    if (ok && (stat(dir, &info) != 0 || !S_ISDIR(info.st_mode))) {
        managerSay(SAY_ERROR, "%s is not a valid directory", dir);
        ok = false;
    }
    for (size_t i = 0; ok && i < m.view.count; i++)
        if (managerIsPrimary(&m.view.nodes[i])) ok = saveNode(o, &m.view.nodes[i], dir);
    ok = ok && writeNodes(&m.view, &faults, dir);
    if (ok && !managerIsSound(&faults)) printf("*** The cluster has faults: think of them when this backup is used.\n");
    if (ok) managerSay(SAY_GOOD, "Backup created into: %s", dir);
    managerUnload(&m);
    return ok ? 0 : 1;
}
