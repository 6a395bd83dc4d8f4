/* aof_manifest.c -- the list of the files of the append-only file: reads, writes and changes it.
 *
 * The file is small and rewritten as a whole: one rename of a synced file replaces it, and at that moment a rewrite
 * takes effect.
 *
 * Not here    the files themselves (aof_thread.c).
 * Owns        nothing.
 * Threads     any.
 * Invariants  (manifestCheck() asserts them)
 *             1. At most one base, first; then history; then increments, whose numbers rise.
 *             2. No name has a '/'.
 * Tests       tests/unit/persist/aof/aof_manifest_test.c, tests/fuzz/aof_manifest_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_manifest.h"

#include "log.h"
#include "panic.h"
#include "zmalloc.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>

#define FILE_NAME_MAX 255

static void manifestCheck(const aofManifest *m) {
#ifdef DEBUG_ASSERTIONS
    debugAssert(m->base_seq >= 0 && m->incr_seq >= 0);
    debugAssert(m->incrs == m->count || m->files[m->count - 1].seq <= m->incr_seq);
    serverAssert(m->history <= 1 && m->history <= m->incrs && m->incrs <= m->count && m->count <= m->capacity);
    for (size_t i = 0; i < m->count; i++) {
        aofFileType want = i < m->history ? AOF_FILE_BASE : i < m->incrs ? AOF_FILE_HISTORY : AOF_FILE_INCR;
        serverAssert(m->files[i].type == want);
        serverAssert(i <= m->incrs || m->files[i].seq > m->files[i - 1].seq);
        serverAssert(!strchr(m->files[i].name, '/'));
    }
#else
    unused(m);
#endif
}

aofManifest *aofManifestCreate(void) { return zcalloc(1, sizeof(aofManifest)); }

aofManifest *aofManifestDup(const aofManifest *m) {
    aofManifest *copy = zmalloc(sizeof(*copy));
    *copy = *m;
    copy->capacity = m->count;
    copy->files = zmalloc((m->count + 1) * sizeof(*copy->files));
    for (size_t i = 0; i < m->count; i++) {
        copy->files[i] = m->files[i];
        copy->files[i].name = sdsDup(m->files[i].name);
    }
    return copy;
}

void aofManifestFree(aofManifest *m) {
    if (!m) return;
    for (size_t i = 0; i < m->count; i++) sdsFree(m->files[i].name);
    zfree(m->files);
    zfree(m);
}

/* Takes ownership of the name. */
static void insertAt(aofManifest *m, size_t index, aofFile file) {
    m->files = zgrowArray(m->files, m->count, &m->capacity, sizeof(*m->files));
    memmove(m->files + index + 1, m->files + index, (m->count - index) * sizeof(*m->files));
    m->files[index] = file;
    m->count++;
    debugAssert(index < m->count && m->count <= m->capacity && file.name);
    if (file.type == AOF_FILE_BASE) m->history++;
    if (file.type != AOF_FILE_INCR) m->incrs++;
}

/* --- reading --------------------------------------------------------------------------------------------- */

#define SEQ_MAX (LLONG_MAX / 2) /* of a file, so that following files have numbers, too */

static const char INVALID[] = "Invalid AOF manifest file format";

/* Reads the words of a line: pairs of a key and its value in any order; unknown keys are skipped. */
static const char *takePairs(sds *words, int count, aofFile *out) {
    char type = 0;
    for (int i = 0; i < count; i += 2) {
        const char *value = words[i + 1];
        if (!strcasecmp(words[i], "file")) {
            if (strlen(value) != sdsLen(words[i + 1])) return INVALID; /* no file name contains a NUL */
            if (strchr(value, '/')) return "File can't be a path, just a filename";
            sdsFree(out->name);
            out->name = sdsNew(value);
        } else if (!strcasecmp(words[i], "seq")) {
            out->seq = strtoll(value, NULL, 10); /* ignores what follows the digits, as Valkey does */
        } else if (!strcasecmp(words[i], "type")) {
            type = value[0];
        }
    }
    if (!out->name || sdsLen(out->name) == 0 || out->seq <= 0 || out->seq > SEQ_MAX || !type) return INVALID;
    out->type = (aofFileType)type;
    return NULL;
}

static const char *addParsed(aofManifest *m, aofFile *file) {
    switch (file->type) {
    case AOF_FILE_BASE:
        if (m->history > 0) return "Found duplicate base file information";
        m->base_seq = file->seq;
        insertAt(m, 0, *file);
        break;
    case AOF_FILE_HISTORY: insertAt(m, m->incrs, *file); break;
    case AOF_FILE_INCR:
        if (file->seq <= m->incr_seq) return "Found a non-monotonic sequence number";
        m->incr_seq = file->seq;
        insertAt(m, m->count, *file);
        break;
    default: return "Unknown AOF file type";
    }
    file->name = NULL;
    return NULL;
}

/* Adds the file of a line, which is given without its end. Returns NULL, or the error. */
static const char *aofManifestTakeLine(aofManifest *m, const char *line) {
    aofFile file = {.name = NULL};
    int count = 0;
    sds *words = sdsSplitArgs(line, &count);
    const char *error = !words || count < 6 || count % 2 ? INVALID : takePairs(words, count, &file);
    if (!error) error = addParsed(m, &file);
    sdsFree(file.name);
    if (words) sdsFreeSplitRes(words, count);
    return error;
}

/* Cuts off and returns the next line, at most AOF_MANIFEST_LINE_MAX bytes. */
static slice cutLine(slice *left) {
    size_t most = left->len < AOF_MANIFEST_LINE_MAX ? left->len : AOF_MANIFEST_LINE_MAX;
    const char *end = memchr(left->ptr, '\n', most);
    size_t len = end ? (size_t)(end - left->ptr) + 1 : most;
    slice line = sliceOf(left->ptr, len);
    left->ptr += len;
    left->len -= len;
    return line;
}

static aofManifest *aofManifestRefuse(aofManifest *m, aofManifestFault *fault, int number, slice line,
                                      const char *error) {
    *fault = (aofManifestFault){.line = number, .error = error};
    if (number) fault->text = sdsFromSlice(line);
    aofManifestFree(m);
    return NULL;
}

aofManifest *aofManifestParse(slice bytes, aofManifestFault *fault) {
    aofManifest *m = aofManifestCreate();
    if (bytes.len == 0) return aofManifestRefuse(m, fault, 0, bytes, "Found an empty AOF manifest");
    slice left = bytes;
    for (int number = 1; left.len > 0; number++) {
        slice line = cutLine(&left);
        if (line.ptr[0] == '#') continue;
        if (line.ptr[line.len - 1] != '\n' || memchr(line.ptr, 0, line.len))
            return aofManifestRefuse(m, fault, number, line, "The AOF manifest file contains too long line");
        while (line.len > 0 && isspace((unsigned char)line.ptr[line.len - 1])) line.len--;
        sds text = sdsFromSlice(line);
        const char *error = aofManifestTakeLine(m, text);
        sdsFree(text);
        if (error) return aofManifestRefuse(m, fault, number, line, error);
    }
    manifestCheck(m);
    return m;
}

void aofManifestLogFault(aofManifestFault *fault) {
    serverLog(LL_WARNING, "*** FATAL AOF MANIFEST FILE ERROR ***");
    if (fault->line) {
        serverLog(LL_WARNING, "Reading the manifest file, at line %d", fault->line);
        serverLog(LL_WARNING, ">>> '%s'", fault->text);
    }
    serverLog(LL_WARNING, "%s", fault->error);
    sdsFree(fault->text);
    fault->text = NULL;
}

/* --- writing --------------------------------------------------------------------------------------------- */

/* Returns whether the name has bytes that would be read differently in a line of words. */
static bool needsQuotes(const char *name) {
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        if (!isgraph(*p) || *p == '"' || *p == '\'' || *p == '\\') return true;
    return *name == '\0';
}

static sds catLine(sds out, const aofFile *file) {
    out = sdsCat(out, "file ");
    out = needsQuotes(file->name) ? sdsCatRepr(out, file->name, sdsLen(file->name)) : sdsCat(out, file->name);
    return sdsCatPrintf(out, " seq %lld type %c\n", file->seq, (char)file->type);
}

sds aofManifestText(const aofManifest *m) {
    manifestCheck(m);
    sds out = sdsEmpty();
    for (size_t i = 0; i < m->count; i++) {
        size_t before = sdsLen(out);
        out = catLine(out, &m->files[i]);
        if (sdsLen(out) - before <= AOF_MANIFEST_LINE_MAX) continue;
        sdsFree(out);
        return NULL;
    }
    return out;
}

/* --- changes --------------------------------------------------------------------------------------------- */

const aofFile *aofManifestBase(const aofManifest *m) { return m->history > 0 ? &m->files[0] : NULL; }

const aofFile *aofManifestLastIncr(const aofManifest *m) {
    return m->incrs < m->count ? &m->files[m->count - 1] : NULL;
}

static sds numbered(const char *stem, long long seq, const char *ending) {
    return sdsCatPrintf(sdsEmpty(), "%s.%lld.%s", stem, seq, ending);
}

void aofManifestAddIncr(aofManifest *m, const char *stem) {
    m->incr_seq++;
    insertAt(m, m->count,
             (aofFile){.name = numbered(stem, m->incr_seq, "incr.aof"), .seq = m->incr_seq, .type = AOF_FILE_INCR});
    manifestCheck(m);
}

/* Makes entry `index` the newest of history. */
static void retire(aofManifest *m, size_t index) {
    debugAssert(index < m->count && m->files[index].type != AOF_FILE_HISTORY);
    aofFile file = m->files[index];
    memmove(m->files + index, m->files + index + 1, (m->count - index - 1) * sizeof(*m->files));
    m->count--;
    if (file.type == AOF_FILE_BASE) m->history--;
    if (file.type != AOF_FILE_INCR) m->incrs--;
    file.type = AOF_FILE_HISTORY;
    insertAt(m, m->history, file);
}

void aofManifestSwitchBase(aofManifest *m, const char *stem, const char *ending, size_t keep) {
    if (m->history > 0) retire(m, 0);
    while (m->count - m->incrs > keep) retire(m, m->incrs);
    m->base_seq++;
    sds kind = sdsCat(sdsNew("base."), ending);
    insertAt(m, 0, (aofFile){.name = numbered(stem, m->base_seq, kind), .seq = m->base_seq, .type = AOF_FILE_BASE});
    sdsFree(kind);
    manifestCheck(m);
}

void aofManifestAdoptBase(aofManifest *m, const char *name) {
    serverAssert(m->history == 0);
    m->base_seq++;
    insertAt(m, 0, (aofFile){.name = sdsNew(name), .seq = m->base_seq, .type = AOF_FILE_BASE});
    manifestCheck(m);
}

void aofManifestDropLastIncr(aofManifest *m) {
    debugAssert(aofManifestLastIncr(m));
    sdsFree(m->files[--m->count].name);
    manifestCheck(m);
}

void aofManifestDropHistory(aofManifest *m) {
    for (size_t i = m->history; i < m->incrs; i++) sdsFree(m->files[i].name);
    memmove(m->files + m->history, m->files + m->incrs, (m->count - m->incrs) * sizeof(*m->files));
    m->count -= m->incrs - m->history;
    m->incrs = m->history;
    manifestCheck(m);
}

/* --- names ----------------------------------------------------------------------------------------------- */

sds aofManifestName(const char *stem) { return sdsCat(sdsNew(stem), ".manifest"); }

sds aofPath(const char *folder, const char *name) { return sdsCatPrintf(sdsEmpty(), "%s/%s", folder, name); }

bool aofNameFits(const char *stem) {
    aofFile longest = {.name = numbered(stem, LLONG_MAX, "base.rdb"), .seq = LLONG_MAX, .type = AOF_FILE_BASE};
    sds line = catLine(sdsEmpty(), &longest);
    bool fits = sdsLen(line) <= AOF_MANIFEST_LINE_MAX && sdsLen(longest.name) <= FILE_NAME_MAX;
    sdsFree(line);
    sdsFree(longest.name);
    return fits;
}
