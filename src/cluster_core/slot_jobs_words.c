/* slot_jobs_words.c -- the words of CLUSTER MIGRATESLOTS and SYNCSLOTS, and names of states.
 *
 * Threads     any, under the caller's lock.
 * Tests       tests/unit/cluster_core/slot_jobs_words_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_jobs_internal.h"
#include "numbers.h"

/* ---- Names ---- */

static const char *const state_names[] = {
    [JOB_CONNECTING] = "connecting",
    [JOB_READING_AUTH] = "reading-auth-response",
    [JOB_READING_ESTABLISH] = "reading-establish-response",
    [JOB_WAITING_TO_WALK] = "waiting-to-snapshot",
    [JOB_WALKING] = "snapshotting",
    [JOB_REPLICATING] = "replicating",
    [JOB_WAITING_TO_PAUSE] = "waiting-to-pause",
    [JOB_FENCED] = "failover-paused",
    [JOB_RECORDING] = "failover-paused",
    [JOB_GRANTED] = "failover-granted",
    [JOB_WAITING_FOR_ACK] = "waiting-for-ack",
    [JOB_RECEIVING] = "receiving-snapshot",
    [JOB_WAITING_FOR_PAUSED] = "waiting-for-paused",
    [JOB_REQUESTED] = "failover-requested",
    [JOB_TAKING] = "failover-granted",
    [JOB_CLEANING_UP] = "cleaning-up",
    [JOB_TRACKED] = "occurring-on-primary",
    [JOB_SUCCESS] = "success",
    [JOB_CANCELLED] = "cancelled",
    [JOB_FAILED] = "failed",
};

const char *slotJobStateName(slotJobState s) { return state_names[s]; }

static const char *const word_names[] = {
    [JOB_WORD_ACK] = "ACK",
    [JOB_WORD_SNAPSHOT_EOF] = "SNAPSHOT-EOF",
    [JOB_WORD_REQUEST_PAUSE] = "REQUEST-PAUSE",
    [JOB_WORD_PAUSED] = "PAUSED",
    [JOB_WORD_REQUEST_FAILOVER] = "REQUEST-FAILOVER",
    [JOB_WORD_FAILOVER_GRANTED] = "FAILOVER-GRANTED",
    [JOB_WORD_UNKNOWN] = "",
};

const char *slotJobWordName(slotJobWord w) { return word_names[w]; }

slotJobWord slotJobWordOf(slice text) {
    for (slotJobWord w = JOB_WORD_ACK; w < JOB_WORD_UNKNOWN; w++)
        if (sliceIs(text, word_names[w])) return w;
    return JOB_WORD_UNKNOWN;
}

/* ---- MIGRATESLOTS ---- */

int slotsOverlap(const slotSet *a, const slotSet *b) {
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        if (slotSetHas(a, slot) && slotSetHas(b, slot)) return (int)slot;
    return -1;
}

static bool anyOpen(const clusterMachine *m, const clusterNode *(*nodeOf)(const clusterMachine *, unsigned)) {
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        if (nodeOf(m, slot)) return true;
    return false;
}

const char *jobsRefusal(const clusterMachine *m) {
    if (!(clusterMyself(m)->flags & NODE_PRIMARY)) return "-ERR Slot migration can only be used on primary nodes.";
    if (anyOpen(m, clusterImportingFrom)) return "-ERR Slots are being manually imported";
    if (anyOpen(m, clusterMigratingTo)) return "-ERR Slots are being manually migrated";
    return NULL;
}

/* The words that are left. */
typedef struct wordList {
    const slice *at, *end;
} wordList;

static bool takeWord(wordList *w, const char *word) {
    if (w->at == w->end || !sliceIs(*w->at, word)) return false;
    w->at++;
    return true;
}

static sds error(const char *text) { return sdsNew(text); }

static bool isNumber(slice word) {
    long long number;
    return string2ll(word.ptr, word.len, &number);
}

static bool slotOf(slice word, unsigned *slot) {
    long long number;
    if (!string2ll(word.ptr, word.len, &number) || number < 0 || number >= CLUSTER_SLOTS) return false;
    *slot = (unsigned)number;
    return true;
}

/* A range after others, `ranges` of them from `words` on. */
static sds overlapOf(const slice *words, size_t ranges, unsigned first, unsigned last) {
    for (size_t i = 0; i < ranges; i++) {
        unsigned a = 0, b = 0;
        if (!slotOf(words[2 * i], &a) || !slotOf(words[2 * i + 1], &b) || last < a || first > b) continue;
        return sdsCatPrintf(sdsEmpty(), "-ERR Slot range %u-%u overlaps with previous range %u-%u.", first, last, a, b);
    }
    return NULL;
}

/* Reads ranges of slots up to the first word that is no number, *used words. */
static sds parseRanges(const slice *words, size_t count, size_t *used, slotSet *slots) {
    memset(slots, 0, sizeof(*slots));
    for (*used = 0; *used < count && isNumber(words[*used]); *used += 2) {
        if (*used + 1 == count) return error("-ERR No end slot for final slot range");
        unsigned first, last;
        if (!slotOf(words[*used], &first) || !slotOf(words[*used + 1], &last))
            return error("-ERR Invalid or out of range slot");
        if (first > last)
            return sdsCatPrintf(sdsEmpty(), "-ERR Start slot number %u is greater than end slot number %u.", first,
                                last);
        sds overlap = overlapOf(words, *used / 2, first, last);
        if (overlap) return overlap;
        for (unsigned slot = first; slot <= last; slot++) slotSetAdd(slots, slot);
    }
    return *used ? NULL : error("-ERR No slot ranges specified");
}

/* All of `slots` must have one owner: this node. */
static sds checkOwner(const clusterMachine *m, const slotSet *slots) {
    const clusterNode *common = NULL;
    for (unsigned first = 0, last; slotSetRun(slots, &first, &last); first = last + 1) {
        for (unsigned slot = first; slot <= last; slot++) {
            const clusterNode *owner = clusterOwner(m, slot);
            if (!owner) return sdsCatPrintf(sdsEmpty(), "-ERR Slot %u has no node served.", slot);
            if (common && owner != common) return error("-ERR Requested slots span multiple shards");
            common = owner;
        }
    }
    return common == clusterMyself(m) ? NULL : error("-ERR Slots are not served by this node.");
}

static sds checkJobs(const slotJobs *j, const slotSet *slots, const slotSet *earlier) {
    EACH_JOB(j, job) {
        int slot = job->slots ? slotsOverlap(job->slots, slots) : -1;
        if (slot != -1) return sdsCatPrintf(sdsEmpty(), "-ERR I am already migrating slot %d.", slot);
    }
    return slotsOverlap(slots, earlier) == -1 ? NULL : error("-ERR Slot ranges in migrations overlap");
}

static sds checkNode(const clusterMachine *m, slice name, nodeId *id) {
    if (name.len != NODE_ID_LEN) return sdsCatSlice(sdsNew("-ERR Invalid node name: "), name);
    memcpy(id->text, name.ptr, NODE_ID_LEN);
    if (!clusterNodeById(m, id)) return sdsCatSlice(sdsNew("-ERR Unknown node name: "), name);
    if (nodeIdEqual(id, &clusterMyself(m)->id)) return error("-ERR Target node can not be this node.");
    return NULL;
}

/* SLOTSRANGE a b [a b ...] NODE id */
static sds parseGroup(const slotJobs *j, const clusterMachine *m, wordList *w, const slotSet *earlier,
                      slotJobRequest *r, slotSet *slots) {
    if (!takeWord(w, "SLOTSRANGE")) return error("-ERR syntax error");
    size_t used;
    sds fault = parseRanges(w->at, (size_t)(w->end - w->at), &used, slots);
    if (!fault) fault = checkOwner(m, slots);
    if (!fault) fault = checkJobs(j, slots, earlier);
    if (fault) return fault;
    w->at += used;
    if (!takeWord(w, "NODE") || w->at == w->end) return error("-ERR syntax error");
    *r = (slotJobRequest){.slots = slots};
    return checkNode(m, *w->at++, &r->target);
}

sds slotJobsParse(const slotJobs *j, const clusterMachine *m, const slice *words, size_t word_count,
                  slotJobRequest **requests, slotSet **sets, size_t *count) {
    const char *refusal = jobsRefusal(m);
    if (refusal) return error(refusal);
    size_t groups_max = word_count / 5 + 1; /* a group has five words, and a slot that no other has */
    if (groups_max > CLUSTER_SLOTS + 1) groups_max = CLUSTER_SLOTS + 1;
    *requests = zmalloc(groups_max * sizeof(**requests));
    *sets = zmalloc(groups_max * sizeof(**sets));
    *count = 0;
    slotSet earlier = {{0}};
    wordList w = {words, words + word_count};
    sds fault = NULL;
    do {
        size_t n = *count;
        fault = parseGroup(j, m, &w, &earlier, &(*requests)[n], &(*sets)[n]);
        for (size_t i = 0; !fault && i < sizeof(earlier.bytes); i++) earlier.bytes[i] |= (*sets)[n].bytes[i];
        ++*count;
    } while (!fault && w.at != w.end);
    if (fault) {
        zfree(*requests);
        zfree(*sets);
    }
    return fault;
}
