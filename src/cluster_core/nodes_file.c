/* nodes_file.c -- reads and writes the text of cluster-config-file.
 *
 * A file that is damaged is refused as a whole, with the number of its line: a node that starts with half of its
 * knowledge could vote twice in an epoch, or serve slots that have moved.
 *
 * Not here    when the file is written, synced and locked.
 * Threads     any: there is no state.
 * Tests       tests/unit/cluster_core/nodes_file_test.c, tests/fuzz/nodes_file_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "nodes_file.h"

#include "bus_frame.h"
#include "numbers.h"
#include "zmalloc.h"

#define FIELDS_MIN 8
#define BUS_PORT_DISTANCE 10000 /* of files of old versions, which do not name the bus port */

/* --- flags and slots as text ---------- */

static const struct {
    uint16_t flag;
    const char *name;
    bool written; /* false: only read */
} flag_names[] = {{NODE_MYSELF, "myself", true},
                  {NODE_PRIMARY, "master", true},
                  {NODE_REPLICA, "slave", true},
                  {NODE_SUSPECTED, "fail?", true},
                  {NODE_FAILED, "fail", true},
                  {NODE_HANDSHAKE, "handshake", true},
                  {NODE_NO_ADDRESS, "noaddr", true},
                  {NODE_NO_FAILOVER, "nofailover", true},
                  {NODE_PRIMARY, "primary", false},
                  {NODE_REPLICA, "replica", false},
                  {0, "noflags", false}};

sds nodeFlagsText(sds out, uint16_t flags) {
    size_t begin = sdsLen(out);
    for (size_t i = 0; i < array_len(flag_names); i++) {
        if (!flag_names[i].written || !(flags & flag_names[i].flag)) continue;
        if (sdsLen(out) > begin) out = sdsCat(out, ",");
        out = sdsCat(out, flag_names[i].name);
    }
    return sdsLen(out) > begin ? out : sdsCat(out, "noflags");
}

sds nodeSlotsText(sds out, const slotSet *slots) {
    unsigned first = 0, last;
    for (; slotSetRun(slots, &first, &last); first = last + 1)
        out = sdsCatPrintf(out, first == last ? " %u" : " %u-%u", first, last);
    return out;
}

/* --- reading ---------- */

typedef struct reading {
    nodesFile *file;
    slotSet owned; /* by any node so far */
    bool vars;     /* the line of epochs was read: it is the last one */
    bool myself;
} reading;

static bool takeNumber(slice text, unsigned long long max, unsigned long long *out) {
    return string2ull(text.ptr, text.len, out) && *out <= max;
}

static bool takePort(slice text, uint16_t *out) {
    unsigned long long port;
    if (!takeNumber(text, UINT16_MAX, &port)) return false;
    *out = (uint16_t)port;
    return true;
}

static bool takeId(slice text, nodeId *out) {
    if (text.len != NODE_ID_LEN) return false;
    memcpy(out, text.ptr, NODE_ID_LEN);
    return nodeIdIsValid(out);
}

/* Returns the bytes after the last `c`, and removes them, with it, from the text; NULL if there is no `c`. */
static slice takeAfterLast(slice *text, char c) {
    for (size_t i = text->len; i > 0; i--) {
        if (text->ptr[i - 1] != c) continue;
        slice after = sliceOf(text->ptr + i, text->len - i);
        text->len = i - 1;
        return after;
    }
    return (slice){NULL, 0};
}

/* "IP:PORT@BUSPORT"; the bus port is missing in old files, and IP is empty for a node without address. */
static const char *readAddress(nodeRecord *n, slice text) {
    slice bus = takeAfterLast(&text, '@'), port = takeAfterLast(&text, ':');
    if (!port.ptr || !takePort(port, &n->port)) return "invalid port";
    if (text.len >= NODE_IP_LEN || !nodeTextIsPlain(text)) return "invalid address";
    memcpy(n->ip, text.ptr, text.len);
    if (bus.ptr) return takePort(bus, &n->bus_port) ? NULL : "invalid bus port";
    if (n->port > UINT16_MAX - BUS_PORT_DISTANCE) return "port too high to find the bus port";
    n->bus_port = (uint16_t)(n->port + BUS_PORT_DISTANCE);
    return NULL;
}

static const char *readNamedValue(nodeRecord *n, slice text) {
    slice name = sliceTakeUntil(&text, '=');
    sds *out = sliceIs(name, "nodename")            ? &n->human_name
               : sliceIs(name, "client-ipv4")       ? &n->client_ipv4
               : sliceIs(name, "client-ipv6")       ? &n->client_ipv6
               : sliceIs(name, "availability-zone") ? &n->zone
                                                    : NULL;
    if (out && !nodeTextIsPlain(text)) return "invalid character in a value";
    if (out) {
        sdsFree(*out);
        *out = sdsFromSlice(text);
        return NULL;
    }
    if (sliceIs(name, "shard-id")) return takeId(text, &n->shard) ? NULL : "invalid shard-id";
    uint16_t *port = sliceIs(name, "tcp-port")          ? &n->port
                     : sliceIs(name, "tls-port")        ? &n->tls_port
                     : sliceIs(name, "client-tcp-port") ? &n->client_port
                     : sliceIs(name, "client-tls-port") ? &n->client_tls_port
                                                        : NULL;
    if (!port) return "unknown name before \"=\"";
    return takePort(text, port) ? NULL : "invalid port";
}

static const char *readNames(nodeRecord *n, slice text) {
    const char *error = readAddress(n, sliceTakeUntil(&text, ','));
    slice hostname = sliceTakeUntil(&text, ',');
    if (!nodeTextIsPlain(hostname)) return "invalid host name";
    if (hostname.len) n->hostname = sdsFromSlice(hostname);
    while (!error && text.len) error = readNamedValue(n, sliceTakeUntil(&text, ','));
    return error;
}

static const char *readFlags(nodeRecord *n, slice text) {
    while (text.len) {
        slice name = sliceTakeUntil(&text, ',');
        size_t i = 0;
        while (i < array_len(flag_names) && !sliceEq(name, sliceStr(flag_names[i].name))) i++;
        if (i == array_len(flag_names)) return "unknown flag";
        n->flags |= flag_names[i].flag;
    }
    return NULL;
}

/* "[SLOT->-ID]" is a slot that goes to a node, "[SLOT-<-ID]" one that comes from it. */
static const char *readOpenSlot(nodesFile *file, slice text) {
    openSlot open;
    unsigned long long slot;
    text = sliceOf(text.ptr + 1, text.len - 1);
    slice number = sliceTakeUntil(&text, '-');
    bool arrow = text.len == NODE_ID_LEN + 3 && (text.ptr[0] == '>' || text.ptr[0] == '<') && text.ptr[1] == '-' &&
                 text.ptr[text.len - 1] == ']';
    if (!arrow || !takeNumber(number, CLUSTER_SLOTS - 1, &slot) ||
        !takeId(sliceOf(text.ptr + 2, NODE_ID_LEN), &open.other))
        return "invalid open slot";
    open.slot = (unsigned)slot;
    open.importing = text.ptr[0] == '<';
    file->open = zrealloc(file->open, (file->open_count + 1) * sizeof(*file->open));
    file->open[file->open_count++] = open;
    return NULL;
}

static const char *readSlots(reading *r, nodeRecord *n, slice text) {
    if (text.len && text.ptr[0] == '[') return readOpenSlot(r->file, text);
    unsigned long long first, last;
    slice number = sliceTakeUntil(&text, '-');
    if (!takeNumber(number, CLUSTER_SLOTS - 1, &first)) return "invalid slot";
    last = first;
    if (text.ptr != number.ptr + number.len && !takeNumber(text, CLUSTER_SLOTS - 1, &last)) return "invalid slot";
    if (last < first) return "invalid range of slots";
    for (unsigned slot = (unsigned)first; slot <= last; slot++) {
        if (slotSetHas(&r->owned, slot)) return "a slot that has an owner";
        slotSetAdd(&r->owned, slot);
        slotSetAdd(&n->slots, slot);
    }
    return NULL;
}

static bool isKnown(const nodesFile *file, const nodeId *id) {
    for (size_t i = 0; i + 1 < file->count; i++)
        if (nodeIdEqual(&file->nodes[i].id, id)) return true;
    return false;
}

static const char *readNode(reading *r, sds *words, size_t count) {
    unsigned long long ping, pong, epoch;
    if (count < FIELDS_MIN) return "too few fields";
    r->file->nodes = zrealloc(r->file->nodes, (r->file->count + 1) * sizeof(*r->file->nodes));
    nodeRecord *n = &r->file->nodes[r->file->count++];
    memset(n, 0, sizeof(*n));
    if (!takeId(sdsSlice(words[0]), &n->id)) return "invalid node id";
    if (isKnown(r->file, &n->id)) return "a second line of this node";
    const char *error = readNames(n, sdsSlice(words[1]));
    if (!error) error = readFlags(n, sdsSlice(words[2]));
    if (error) return error;
    if (strcmp(words[3], "-") != 0 && !takeId(sdsSlice(words[3]), &n->primary)) return "invalid id of the primary";
    if (!takeNumber(sdsSlice(words[4]), INT64_MAX, &ping) || !takeNumber(sdsSlice(words[5]), INT64_MAX, &pong) ||
        !takeNumber(sdsSlice(words[6]), UINT64_MAX, &epoch))
        return "invalid number";
    n->ping_sent_ms = (int64_t)ping;
    n->pong_received_ms = (int64_t)pong;
    n->config_epoch = epoch;
    n->connected = !strcmp(words[7], "connected");
    if (!n->connected && strcmp(words[7], "disconnected") != 0) return "neither connected nor disconnected";
    if (n->flags & NODE_MYSELF) {
        if (r->myself) return "a second node with the flag myself";
        r->myself = true;
    }
    for (size_t i = FIELDS_MIN; i < count && !error; i++) error = readSlots(r, n, sdsSlice(words[i]));
    return error;
}

/* "vars NAME NUMBER ..."; unknown names are left out. */
static const char *readVars(reading *r, sds *words, size_t count) {
    if (count % 2 == 0) return "a name without number";
    for (size_t i = 1; i < count; i += 2) {
        unsigned long long number;
        if (!takeNumber(sdsSlice(words[i + 1]), UINT64_MAX, &number)) return "invalid number";
        if (!strcmp(words[i], "currentEpoch")) r->file->current_epoch = number;
        if (!strcmp(words[i], "lastVoteEpoch")) r->file->last_vote_epoch = number;
    }
    r->vars = true;
    return NULL;
}

static const char *readLine(reading *r, const char *line) {
    int count;
    sds *words = sdsSplitArgs(line, &count);
    const char *error = NULL;
    if (!words) error = "unbalanced quotes";
    else if (count == 0) error = NULL;
    else if (r->vars) error = "text after the line that begins with vars";
    else if (!strcmp(words[0], "vars")) error = readVars(r, words, (size_t)count);
    else error = readNode(r, words, (size_t)count);
    sdsFreeSplitRes(words, count);
    return error;
}

bool nodesFileParse(slice text, nodesFile *file, sds *error) {
    memset(file, 0, sizeof(*file));
    reading r = {.file = file};
    size_t number = 0;
    const char *fault = memchr(text.ptr, 0, text.len) ? "a NUL byte in the file" : NULL;
    while (!fault && text.len) {
        number++;
        sds line = sdsFromSlice(sliceTakeUntil(&text, '\n'));
        fault = readLine(&r, line);
        sdsFree(line);
    }
    if (!fault && file->count && !r.myself) fault = "no node with the flag myself";
    *error = fault ? sdsCatPrintf(sdsEmpty(), "line %zu: %s", number, fault) : NULL;
    return !fault;
}

void nodesFileFree(nodesFile *file) {
    for (size_t i = 0; i < file->count; i++) {
        nodeRecord *n = &file->nodes[i];
        sdsFree(n->hostname), sdsFree(n->human_name), sdsFree(n->client_ipv4), sdsFree(n->client_ipv6),
            sdsFree(n->zone);
    }
    zfree(file->nodes);
    zfree(file->open);
    memset(file, 0, sizeof(*file));
}

/* --- writing ---------- */

static sds addNamed(sds out, const char *name, const sds value) {
    return value ? sdsCatPrintf(out, ",%s=%s", name, value) : out;
}

static sds addNamedPort(sds out, const char *name, unsigned port) {
    return port ? sdsCatPrintf(out, ",%s=%u", name, port) : out;
}

static sds addNode(sds out, const nodesFile *file, const nodeRecord *n) {
    out = sdsCatPrintf(out, "%.*s %s:%u@%u,%s", NODE_ID_LEN, n->id.text, n->ip, n->port, n->bus_port,
                       n->hostname ? n->hostname : "");
    out = addNamed(out, "availability-zone", n->zone);
    out = addNamedPort(out, "client-tls-port", n->client_tls_port);
    out = addNamedPort(out, "client-tcp-port", n->client_port);
    out = addNamed(out, "client-ipv6", n->client_ipv6);
    out = addNamed(out, "client-ipv4", n->client_ipv4);
    out = sdsCatPrintf(out, ",tls-port=%u", n->tls_port);
    out = addNamed(out, "nodename", n->human_name);
    if (!nodeIdIsNone(&n->shard)) out = sdsCatPrintf(out, ",shard-id=%.*s", NODE_ID_LEN, n->shard.text);
    out = nodeFlagsText(sdsCat(out, " "), n->flags);
    out = nodeIdIsNone(&n->primary) ? sdsCat(out, " -") : sdsCatPrintf(out, " %.*s", NODE_ID_LEN, n->primary.text);
    out = sdsCatPrintf(out, " %lld %lld %llu %s", (long long)n->ping_sent_ms, (long long)n->pong_received_ms,
                       (unsigned long long)n->config_epoch, n->connected ? "connected" : "disconnected");
    out = nodeSlotsText(out, &n->slots);
    for (size_t i = 0; n->flags & NODE_MYSELF && i < file->open_count; i++)
        out = sdsCatPrintf(out, " [%u-%c-%.*s]", file->open[i].slot, file->open[i].importing ? '<' : '>', NODE_ID_LEN,
                           file->open[i].other.text);
    return sdsCat(out, "\n");
}

sds nodesFileText(const nodesFile *file) {
    sds out = sdsEmpty();
    for (size_t i = 0; i < file->count; i++) out = addNode(out, file, &file->nodes[i]);
    return sdsCatPrintf(out, "vars currentEpoch %llu lastVoteEpoch %llu\n", (unsigned long long)file->current_epoch,
                        (unsigned long long)file->last_vote_epoch);
}
