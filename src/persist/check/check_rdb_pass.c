/* check_rdb_pass.c -- checks a snapshot from start to end as a load would, and collects what is in it.
 *
 * The scanner finds where keys begin and end; each is decoded by itself, counted, and freed. A fault in a value is
 * reported before a later fault of the framing. Conditions that depend on a server are not checked: its modules, its
 * number of databases, duplicate keys.
 *
 * Not here    bytes (rdb_scan.c); values (rdb_decode.c); figures (check_rdb_stats.c); the command line (check_rdb.c);
 *             the bar (check_progress.c).
 * Owns        nothing beyond a call.
 * Threads     one.
 * Invariants  1. It needs the memory of one piece and one value, apart from `stats` and `biggest`.
 * Tests       tests/persist/check_rdb.tcl, tests/differential/check_rdb, tests/fuzz/rdb_load_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check_rdb_pass.h"

#include "check_progress.h"
#include "check_rdb_text.h"
#include "clock.h"
#include "rdb_decode.h"
#include "rdb_format.h"

#include <string.h>
#include <strings.h>

#define SLOT_JOB_BYTES 40
#define SLOT_MAX 16383

typedef struct pass {
    const checkRdbPassOptions *options; /* borrowed */
    checkRdbFound *found;               /* borrowed */
    const rdbPiece *piece;              /* borrowed: piece of the current item */
    rdbDecoded decoded;
    int64_t now_ms;
} pass;

const char *checkRdbStepName(rdbStep step) {
    static const char *const names[] = {
        [RDB_STEP_START] = "start",
        [RDB_STEP_TYPE] = "read-type",
        [RDB_STEP_EXPIRE] = "read-expire",
        [RDB_STEP_KEY] = "read-key",
        [RDB_STEP_VALUE] = "read-object-value",
        [RDB_STEP_LENGTH] = "read-len",
        [RDB_STEP_AUX] = "read-aux",
        [RDB_STEP_MODULE_AUX] = "read-module-aux",
        [RDB_STEP_FUNCTION] = "read-functions",
        [RDB_STEP_CHECKSUM] = "check-sum",
    };
    return names[step];
}

bool checkRdbNeedsRelaxed(const checkRdbFound *found) {
    return found->left_out || !rdbVersionIsReadable(found->version, false);
}

/* ---- Lines ---- */

static void printAt(pass *c, uint64_t offset, const char *format, ...) printf_like(3, 4);
static void printAt(pass *c, uint64_t offset, const char *format, ...) {
    FILE *to = c->options->lines;
    if (!to) return;
    checkProgressHide();
    fprintf(to, "[offset %llu] ", (unsigned long long)offset);
    va_list args;
    va_start(args, format);
    vfprintf(to, format, args);
    va_end(args);
    fputc('\n', to);
}

/* ---- Faults ---- */

/* Returns the text of a fault, worded like Valkey's tool where that has a text of its own. */
static sds faultText(const rdbFault *f, unsigned version) {
    if (f->kind == RDB_FAULT_SIGNATURE) return sdsNew("Wrong signature trying to load DB from file");
    if (f->kind == RDB_FAULT_CHECKSUM) return sdsNew("RDB CRC error");
    if (f->kind == RDB_FAULT_SHORT && f->step == RDB_STEP_FUNCTION)
        return sdsNew("Failed loading library, Failed loading library payload");
    if (f->kind == RDB_FAULT_SHORT) return sdsNew("Unexpected EOF reading RDB file");
    if (f->kind == RDB_FAULT_IMPORT) return sdsNew("A slot import in the RDB file is malformed");
    if (f->kind == RDB_FAULT_TYPE && f->number == RDB_OP_FUNCTION_OLD)
        return sdsCatPrintf(sdsEmpty(), "Pre-release function format not supported %u", version);
    bool unknown = f->kind == RDB_FAULT_TYPE && f->number != RDB_TYPE_MODULE_OLD;
    bool is_new = f->kind == RDB_FAULT_FOREIGN || (unknown && f->number > RDB_TYPE_HASH_2);
    if (is_new && (rdbVersionIsForeign(version) || version > RDB_VERSION))
        return sdsCatPrintf(sdsEmpty(), "Unknown object type %d in RDB file with %s version %u", (int)f->number,
                            rdbVersionIsForeign(version) ? "foreign" : "future", version);
    if (unknown) return sdsCatPrintf(sdsEmpty(), "Invalid object type: %d", (int)f->number);
    return rdbFaultText(f, version);
}

static bool takeFault(pass *c, const rdbFault *f) {
    checkRdbFound *found = c->found;
    found->fault = faultText(f, found->version);
    found->step = f->step;
    bool in_key = f->step == RDB_STEP_KEY || f->step == RDB_STEP_VALUE;
    found->fault_type = in_key ? f->type : -1;
    found->fault_key = in_key && f->key ? checkRdbText(sdsSlice(f->key)) : NULL;
    found->offset = f->reached;
    return false;
}

static bool faultAt(pass *c, const rdbItem *item, rdbFaultKind kind, rdbStep step, uint64_t number) {
    rdbFault f = {0};
    rdbFaultAt(&f, kind, c->piece, item);
    f.step = step;
    f.number = number;
    takeFault(c, &f);
    sdsFree(f.key);
    return false;
}

/* ---- Items between keys ---- */

static bool onAux(pass *c, const rdbItem *item) {
    rdbAux f;
    checkRdbFound *found = c->found;
    if (!rdbAuxRead(c->piece, item, &f)) return faultAt(c, item, RDB_FAULT_AUX, RDB_STEP_AUX, 0);
    bool good = rdbAuxIsGood(&f);
    sds name = checkRdbText(sdsSlice(f.name)), value = checkRdbText(sdsSlice(f.value));
    if (!strcasecmp(f.name, RDB_AUX_LUA)) found->scripts++;
    printAt(c, c->piece->offset + item->end, "AUX FIELD %s = '%s'", name, value);
    if (found->aux_count < CHECK_RDB_AUX_MAX) {
        found->aux[found->aux_count][0] = name;
        found->aux[found->aux_count++][1] = value;
    } else {
        sdsFree(name);
        sdsFree(value);
    }
    rdbAuxFree(&f);
    return good || faultAt(c, item, RDB_FAULT_AUX, RDB_STEP_AUX, 0);
}

static bool onFunction(pass *c, const rdbItem *item) {
    rdbReader r = {c->piece->bytes + item->at, c->piece->bytes + item->end};
    rdbText code;
    if (!rdbReadText(&r, &code)) return faultAt(c, item, RDB_FAULT_VALUE, RDB_STEP_FUNCTION, 0);
    rdbTextFree(&code);
    c->found->functions++;
    return true;
}

#define MODULE_UNSIGNED 2 /* the kind of the number that says when a module's data was saved */

static bool onModuleAux(pass *c, const rdbItem *item) {
    rdbReader r = {c->piece->bytes + item->at, c->piece->bytes + item->end};
    uint64_t id, kind, when;
    if (!rdbReadCount(&r, &id) || !rdbReadCount(&r, &kind) || kind != MODULE_UNSIGNED || !rdbReadCount(&r, &when))
        return faultAt(c, item, RDB_FAULT_VALUE, RDB_STEP_MODULE_AUX, 0);
    c->found->left_out += item->is_foreign;
    sds name = rdbModuleName(id);
    printAt(c, c->piece->offset + (uint64_t)(r.p - c->piece->bytes), "MODULE AUX for: %s", name);
    sdsFree(name);
    return true;
}

static bool slotImportIsGood(rdbReader r) {
    rdbText job;
    uint64_t ranges, first, last;
    if (!rdbReadText(&r, &job)) return false;
    bool good = job.text.len == SLOT_JOB_BYTES;
    rdbTextFree(&job);
    if (!good || !rdbReadCount(&r, &ranges)) return false;
    for (; ranges; ranges--)
        if (!rdbReadCount(&r, &first) || !rdbReadCount(&r, &last) || first > last || last > SLOT_MAX) return false;
    return true;
}

static bool onSlotImport(pass *c, const rdbItem *item) {
    rdbReader r = {c->piece->bytes + item->at, c->piece->bytes + item->end};
    return slotImportIsGood(r) || faultAt(c, item, RDB_FAULT_IMPORT, RDB_STEP_TYPE, 0);
}

/* ---- Keys ---- */

/* Adds a key to the figures. */
static void countKey(pass *c, const rdbItem *item, slice name, const robj *value, bool is_expired) {
    const checkRdbPassOptions *o = c->options;
    if (!o->stats) return;
    checkRdbKey key = {.db = item->db,
                       .type = rdb_types[item->type].type,
                       .name_bytes = name.len,
                       .file_bytes = item->end - item->value,
                       .value = value,
                       .has_expire = item->expire_ms != -1,
                       .is_expired = is_expired};
    uint64_t elements = checkRdbStatsAdd(o->stats, &key);
    if (!o->biggest) return;
    const checkRdbBig big = {.bytes = item->end - item->at,
                             .elements = elements,
                             .offset = c->piece->offset + item->at - 1,
                             .db = item->db,
                             .rdb_type = item->type};
    checkRdbBiggestAdd(o->biggest, &big, name);
}

static bool onKey(pass *c, rdbItem *item) {
    static const rdbDecodeOptions keep_all = {.drop_before_ms = INT64_MIN};
    rdbPiece one = {.bytes = c->piece->bytes, .len = item->end, .items = item, .count = 1, .offset = c->piece->offset};
    checkRdbFound *found = c->found;
    found->keys++;
    rdbDecode(&one, &keep_all, 1, &c->decoded);
    const rdbDecoded *d = &c->decoded;
    bool of_module = d->fault.kind == RDB_FAULT_MODULE;
    found->left_out += of_module && item->is_foreign;
    if (d->fault.kind != RDB_FAULT_NONE && !of_module) return takeFault(c, &d->fault);
    bool is_expired = item->expire_ms != -1 && item->expire_ms < c->now_ms;
    found->expires += item->expire_ms != -1;
    found->expired += is_expired;
    found->empty += d->count == 0 && !of_module;
    rdbReader r = {one.bytes + item->at, one.bytes + item->value};
    rdbText name;
    if (!rdbReadText(&r, &name)) return faultAt(c, item, RDB_FAULT_VALUE, RDB_STEP_KEY, 0);
    countKey(c, item, name.text, d->count ? d->keys[0].entry : NULL, is_expired);
    rdbTextFree(&name);
    return true;
}

static bool onItem(pass *c, rdbItem *item) {
    switch ((rdbItemKind)item->kind) {
    case RDB_ITEM_KEY: return onKey(c, item);
    case RDB_ITEM_AUX: return onAux(c, item);
    case RDB_ITEM_DB:
        printAt(c, c->piece->offset + item->end, "Selecting DB ID %llu", (unsigned long long)item->number);
        return true;
    case RDB_ITEM_FUNCTION: return onFunction(c, item);
    case RDB_ITEM_MODULE_AUX: return onModuleAux(c, item);
    case RDB_ITEM_SLOT_IMPORT: return onSlotImport(c, item);
    case RDB_ITEM_END: c->found->is_good = true; return true;
    case RDB_ITEM_RESIZE:
    case RDB_ITEM_SLOT_INFO: return true;
    }
    return true;
}

/* ---- The file ---- */

static void printVersion(pass *c) {
    unsigned version = c->found->version;
    if (rdbVersionIsForeign(version)) printAt(c, RDB_MAGIC_BYTES, "Foreign RDB version %u detected", version);
    else if (version > RDB_VERSION) printAt(c, RDB_MAGIC_BYTES, "Future RDB version %u detected", version);
}

static void readAll(pass *c, rdbScanner *s) {
    rdbPiece piece = {0};
    checkRdbFound *found = c->found;
    bool more = true, begun = false;
    c->piece = &piece;
    while (more && !found->is_good && !found->fault) {
        more = rdbScanNext(s, &piece);
        found->version = rdbScanVersion(s);
        if (!begun && rdbScanFault(s)->kind != RDB_FAULT_VERSION) printVersion(c);
        begun = true;
        for (size_t i = 0; i < piece.count && !found->fault; i++) {
            if (!onItem(c, &piece.items[i])) break;
        }
        if (!found->fault) {
            found->offset = rdbScanOffset(s);
            checkProgressAt(c->options->bytes_before + found->offset);
        }
    }
    if (!found->fault && !found->is_good) {
        const rdbFault *f = rdbScanFault(s);
        found->keys += f->step == RDB_STEP_VALUE; /* the name of that key was read */
        takeFault(c, f);
    }
    checkProgressHide();
    rdbDecodedFree(&c->decoded);
    rdbPieceFree(&piece);
}

static void printFigures(FILE *to, const checkRdbFound *found) {
    fprintf(to, "[info] %llu keys read\n", (unsigned long long)found->keys);
    fprintf(to, "[info] %llu expires\n", (unsigned long long)found->expires);
    fprintf(to, "[info] %llu already expired\n", (unsigned long long)found->expired);
    if (found->empty) fprintf(to, "[info] %llu empty keys, which a load skips\n", (unsigned long long)found->empty);
    if (found->left_out)
        fprintf(to, "[info] %llu items of modules, which a load leaves out\n", (unsigned long long)found->left_out);
    fprintf(to, "[info] %llu functions\n", (unsigned long long)found->functions);
    if (found->scripts) fprintf(to, "[info] %llu lua scripts read\n", (unsigned long long)found->scripts);
}

static void printGood(pass *c) {
    const checkRdbFound *found = c->found;
    if (found->has_checksum) printAt(c, found->offset, "Checksum OK");
    else if (found->version >= RDB_VERSION_CHECKSUM_MIN)
        printAt(c, found->offset, "RDB file was saved with checksum disabled: no check performed.");
    printAt(c, found->offset, "Check RDB returned error code 0 (0 means success)");
    printAt(c, found->offset, "\\o/ RDB looks OK%s",
            checkRdbNeedsRelaxed(found) ? ", but loading requires config 'rdb-version-check relaxed'" : "! \\o/");
    if (c->options->lines) printFigures(c->options->lines, found);
}

static void printBad(pass *c) {
    const checkRdbFound *found = c->found;
    FILE *to = c->options->lines;
    if (!to) return;
    fputs("--- RDB ERROR DETECTED ---\n", to);
    printAt(c, found->offset, "%s", found->fault);
    fprintf(to, "[additional info] While doing: %s\n", checkRdbStepName(found->step));
    if (found->fault_key) fprintf(to, "[additional info] Reading key '%s'\n", found->fault_key);
    if (found->fault_type >= 0)
        fprintf(to, "[additional info] Reading type %d (%s)\n", found->fault_type, checkRdbTypeName(found->fault_type));
    printFigures(to, found);
}

void checkRdbPrintEnd(FILE *lines, const checkRdbFound *found) {
    if (found->is_good) return;
    fprintf(lines, "[offset %llu] Check RDB returned error code 1 (0 means success)\n",
            (unsigned long long)found->offset);
}

void checkRdbPass(int fd, const char *path, const checkRdbPassOptions *options, checkRdbFound *out) {
    static const rdbScanOptions scan = {.relaxed = true, .checksum = true};
    *out = (checkRdbFound){.fault_type = -1};
    pass c = {.options = options, .found = out, .now_ms = clockWallMs()};
    printAt(&c, 0, "Checking RDB file %s", path);
    rdbScanner *s = rdbScanCreate(fd, &scan);
    readAll(&c, s);
    out->has_checksum = out->is_good && !rdbScanWithoutChecksum(s);
    rdbScanFree(s);
    if (out->is_good) printGood(&c);
    else printBad(&c);
}

void checkRdbFoundFree(checkRdbFound *f) {
    sdsFree(f->fault);
    sdsFree(f->fault_key);
    for (size_t i = 0; i < f->aux_count; i++) {
        sdsFree(f->aux[i][0]);
        sdsFree(f->aux[i][1]);
    }
    *f = (checkRdbFound){0};
}
