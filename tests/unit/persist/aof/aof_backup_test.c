/* aof_backup_test.c -- what is copied between START and END starts, whatever happens meanwhile.
 *
 * Random commands, rewrites, restarts and the passing of time, on a model of the log: its files have offsets of what
 * was appended in place of bytes, and its manifest is a real one. A copier copies the files of a listing, one after the
 * other; at each step the files that it still needs must exist, and what it copied must be all that was appended before
 * the seal, once.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_backup.h"

#include "aof_manifest.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

#define STEPS 400
#define FILES_MAX (3 * STEPS) /* a step adds two files at most */
#define LISTED_MAX (STEPS + 2)
#define TIMEOUT_S 10

/* A base has what was appended before `to`, an increment that from `from` on. */
typedef struct modelLogFile {
    char name[40];
    uint64_t from, to;
    bool there;
} modelLogFile;

static struct {
    modelLogFile files[FILES_MAX];
    size_t count;
    aofManifest *manifest;
    uint64_t appended;
    bool rewriting, switch_held;
    uint64_t cut;
    size_t seals; /* increments between the cut and the last one */
    aofBackup backup;
    int64_t now_ms;
} model;

/* The listing that the copier works on. */
static struct {
    bool on;
    int64_t id;
    char names[LISTED_MAX][40];
    uint64_t to[LISTED_MAX];
    size_t count, done;
    uint64_t end; /* offset of the seal */
} copy;

static modelLogFile *fileOf(const char *name) {
    for (size_t i = 0; i < model.count; i++)
        if (!strcmp(model.files[i].name, name)) return &model.files[i];
    return NULL;
}

static void putFile(const char *name, uint64_t from, uint64_t to) {
    modelLogFile *f = &model.files[model.count++];
    snprintf(f->name, sizeof(f->name), "%s", name);
    f->from = from;
    f->to = to;
    f->there = true;
}

static void addIncr(void) {
    aofManifestAddIncr(model.manifest, "a");
    putFile(aofManifestLastIncr(model.manifest)->name, model.appended, model.appended);
}

static void deleteHistoryOf(void) {
    for (size_t i = model.manifest->history; i < model.manifest->incrs; i++)
        fileOf(model.manifest->files[i].name)->there = false;
    aofManifestDropHistory(model.manifest);
}

static void switchBase(void) {
    aofManifestSwitchBase(model.manifest, "a", "rdb", model.seals + 1);
    putFile(aofManifestBase(model.manifest)->name, 0, model.cut);
    model.rewriting = model.switch_held = false;
    model.seals = 0;
    if (!aofBackupHolds(&model.backup)) deleteHistoryOf();
}

/* The files of the manifest must have all that was appended, once. */
static bool isWhole(void) {
    uint64_t at = 0;
    for (size_t i = 0; i < model.manifest->count; i++) {
        const aofFile *file = &model.manifest->files[i];
        const modelLogFile *f = fileOf(file->name);
        if (file->type == AOF_FILE_HISTORY) continue;
        if (!CHECK(f && f->there) || !CHECK_EQ_INT(f->from, at)) return false;
        at = f->to;
    }
    return CHECK_EQ_INT(at, model.appended);
}

static void takeListing(void) {
    copy.on = true;
    copy.id = model.backup.id;
    copy.count = copy.done = 0;
    copy.end = model.appended;
    for (size_t i = 0; i < model.manifest->count; i++) {
        const aofFile *file = &model.manifest->files[i];
        if (file->type == AOF_FILE_HISTORY) continue;
        snprintf(copy.names[copy.count], sizeof(copy.names[0]), "%s", file->name);
        copy.to[copy.count++] = fileOf(file->name)->to;
    }
}

static void copyOne(void) {
    if (!copy.on || copy.done == copy.count) return;
    const modelLogFile *f = fileOf(copy.names[copy.done]);
    CHECK(f && f->there);
    CHECK(f && f->to >= copy.to[copy.done]);
    copy.done++;
}

static void checkCopy(void) {
    uint64_t at = 0;
    for (size_t i = 0; i < copy.count; i++) {
        const modelLogFile *f = fileOf(copy.names[i]);
        CHECK_EQ_INT(f->from, at);
        at = copy.to[i];
    }
    CHECK_EQ_INT(at, copy.end);
}

/* Call when the backup has ended in any way. */
static void release(void) {
    copy.on = false;
    if (model.switch_held) switchBase();
    else deleteHistoryOf();
}

static void append(uint64_t bytes) {
    model.appended += bytes;
    fileOf(aofManifestLastIncr(model.manifest)->name)->to = model.appended;
}

static void seal(bool works) {
    if (aofBackupSeal(&model.backup, copy.id, model.now_ms)) return;
    CHECK(aofBackupSeal(&model.backup, 0, model.now_ms) != NULL); /* one after the other */
    CHECK(aofBackupEnd(&model.backup, 0, model.now_ms) != NULL);
    append(5); /* appended while SEAL waits: the seal may be before it or after it */
    if (works) {
        takeListing();
        addIncr();
        model.seals += model.rewriting;
    }
    aofBackupListed(&model.backup, works ? (int64_t)model.appended : -1, model.now_ms);
}

static void start(bool works) {
    bool was_on = aofBackupHolds(&model.backup);
    int64_t before = model.backup.id;
    const char *error = aofBackupStart(&model.backup, model.now_ms);
    CHECK(was_on == (error != NULL));
    if (error) return;
    CHECK(model.backup.id > before);
    if (works) takeListing();
    aofBackupListed(&model.backup, works ? (int64_t)model.appended : -1, model.now_ms);
    CHECK(aofBackupHolds(&model.backup) == works);
}

static void end(void) {
    bool on = aofBackupHolds(&model.backup), sealed = model.backup.phase == BACKUP_SEALED;
    long long completed = model.backup.completed;
    CHECK(aofBackupEnd(&model.backup, model.backup.id + 1, model.now_ms) != NULL);
    CHECK(on == (aofBackupEnd(&model.backup, on ? copy.id : 0, model.now_ms) == NULL));
    CHECK_EQ_INT(model.backup.completed, completed + (on && sealed));
    if (!on) return;
    checkCopy();
    release();
}

static void restart(void) {
    aofBackup last = model.backup;
    aofBackupInit(&model.backup);
    model.backup.id = last.id;
    model.rewriting = model.switch_held = copy.on = false;
    model.seals = 0;
    deleteHistoryOf();
}

static void step(uint64_t *seed) {
    bool holds = aofBackupHolds(&model.backup);
    switch (unitRandom(seed) % 12) {
    case 0: start(unitRandom(seed) % 8); break;
    case 1:
    case 2: seal(unitRandom(seed) % 4); break;
    case 3:
        if (unitRandom(seed) % 3 == 0) end();
        break;
    case 4:
        if (model.rewriting || holds) break;
        model.rewriting = true;
        model.seals = 0;
        model.cut = model.appended;
        addIncr();
        break;
    case 5:
        if (!model.rewriting || model.switch_held) break;
        if (holds) model.switch_held = true;
        else switchBase();
        break;
    case 6:
        if (!model.switch_held && unitRandom(seed) % 4 == 0) model.rewriting = false; /* it fails */
        break;
    case 7:
        if (unitRandom(seed) % 20 == 0) restart();
        break;
    case 8:
        model.now_ms += (int64_t)(unitRandom(seed) % (TIMEOUT_S * 600));
        if (aofBackupExpire(&model.backup, TIMEOUT_S, model.now_ms)) {
            CHECK(aofBackupEnd(&model.backup, copy.id, model.now_ms) != NULL);
            release();
        }
        break;
    case 9: aofBackupUse(&model.backup, model.now_ms); break;
    default: append(1 + unitRandom(seed) % 100);
    }
    copyOne();
    isWhole();
}

TEST(backup_random_events) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 200; round++) {
        memset(&model, 0, sizeof(model));
        memset(&copy, 0, sizeof(copy));
        aofBackupInit(&model.backup);
        model.now_ms = 1000;
        model.manifest = aofManifestCreate();
        aofManifestSwitchBase(model.manifest, "a", "rdb", 0);
        putFile(aofManifestBase(model.manifest)->name, 0, 0);
        addIncr();
        for (int i = 0; i < STEPS; i++) step(&seed);
        aofManifestFree(model.manifest);
    }
}

TEST(backup_is_given_up_when_nothing_uses_it) {
    aofBackup b;
    aofBackupInit(&b);
    CHECK(!aofBackupExpire(&b, 10, 100000));
    CHECK(!aofBackupStart(&b, 1000));
    CHECK(!aofBackupExpire(&b, 1, 100000)); /* START waits for the disk */
    aofBackupListed(&b, 1, 100000);
    CHECK(!aofBackupExpire(&b, 10, 109999));
    CHECK(!aofBackupExpire(&b, 0, 10000000));
    aofBackupUse(&b, 109000);
    CHECK(!aofBackupExpire(&b, 10, 118999));
    aofBackupUse(&b, 500); /* the clock was set back */
    CHECK(!aofBackupExpire(&b, 10, 10999));
    CHECK(aofBackupExpire(&b, 10, 11000));
    CHECK_EQ_INT(b.given_up, 1);
    CHECK(!aofBackupHolds(&b));
    const char *error = aofBackupEnd(&b, b.id, 12000);
    CHECK(error && strstr(error, "given up"));
    CHECK(!aofBackupStart(&b, 1000)); /* before the last one began */
    CHECK_EQ_INT(b.id, 1001);
}

TEST(backup_counts_those_that_were_sealed) {
    aofBackup b;
    aofBackupInit(&b);
    CHECK(!aofBackupStart(&b, 1000));
    aofBackupListed(&b, 1, 1000);
    CHECK(!aofBackupEnd(&b, 0, 2000));
    CHECK_EQ_INT(b.completed, 0);
    CHECK_EQ_INT(b.completed_s, -1);
    CHECK(!aofBackupStart(&b, 3000));
    aofBackupListed(&b, 1, 3000);
    CHECK(!aofBackupSeal(&b, 3000, 3000));
    aofBackupListed(&b, 7, 3000);
    CHECK(!aofBackupSeal(&b, 0, 3000));
    aofBackupListed(&b, -1, 3000); /* the earlier seal holds */
    CHECK_EQ_INT(b.phase, BACKUP_SEALED);
    CHECK_EQ_INT(b.bytes, 7);
    CHECK(!aofBackupEnd(&b, 3000, 4000));
    CHECK_EQ_INT(b.completed, 1);
    CHECK_EQ_INT(b.completed_s, 4);
    CHECK(!aofBackupStart(&b, 5000));
    aofBackupListed(&b, -1, 5000);
    CHECK(!aofBackupHolds(&b));
}
