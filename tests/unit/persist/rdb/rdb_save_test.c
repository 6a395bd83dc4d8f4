/* rdb_save_test.c -- a saved dataset, read again by the description of the format: frame, order, every type and
 * encoding.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "hash.h"
#include "db_walk.h"
#include "digest.h"
#include "endian.h"
#include "failing_calls.h"
#include "log.h"
#include "lru.h"
#include "panic.h"
#include "persist_settings.h"
#include "rdb_format.h"
#include "rdb_save.h"
#include "unit.h"
#include "usual_objects.h"
#include "value_hash.h"
#include "value_list.h"
#include "value_set.h"
#include "value_zset.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW_MS 1700000000000ll

/* ---- A dataset ---- */

static void setUp(void) {
    static storeSettings store_defaults;
    panicSetMainThread();
    if (!dbGet(0)) {
        logSetLevel(LL_NOTHING);
        clockInit();
        objectTypesRegister();
        dbInit(16);
        store_defaults = store_settings;
    }
    store_settings = store_defaults;
    object_settings = usual_objects;
    persist_settings.rdb_key_save_delay = 0;
    dbEmpty(-1, false);
    storeSetNowMs(NOW_MS);
    lruClockRefresh(NOW_MS);
    enterEmptyFolder();
}

static void put(int db, robj *o) {
    slice name = objectKey(o);
    o->lru = lruInitialBits();
    dbAddTake(dbGet(db), o, hashedKeyOf(name));
}

static slice textN(const char *prefix, long n) {
    static char text[4][64];
    static unsigned turn;
    char *out = text[turn++ % 4];
    return sliceOf(out, (size_t)snprintf(out, 64, "%s%ld", prefix, n));
}

static robj *listOf(slice key, long n) {
    robj *o = valueListCreate(key);
    for (long i = 0; i < n; i++) valueListPush(o, LIST_TAIL, &(slice){"element and more of it", 22}, 1);
    return o;
}

static robj *hashOf(slice key, long n, int64_t when_ms) {
    robj *o = hashCreate(key);
    for (long i = 0; i < n; i++) {
        slice field = textN("field", i);
        hashSet(o, field, hashBytes(field.ptr, field.len), textN("value", i), i % 3 ? HASH_NO_TIME : when_ms);
    }
    return o;
}

static robj *setOf(slice key, const char *prefix, long n) {
    robj *o = setCreate(key, textN(prefix, 0), 1);
    for (long i = 0; i < n; i++) {
        slice member = textN(prefix, i);
        setAdd(o, member, hashBytes(member.ptr, member.len));
    }
    return o;
}

static robj *zsetOf(slice key, long n) {
    double score;
    robj *o = zsetCreate(key, 1, 10);
    for (long i = 0; i < n; i++) {
        slice member = textN("member", i);
        zsetAdd(o, member, zsetHash(member), (double)i / 4, 0, &score);
    }
    return o;
}

/* Returns the stream of XADD k 1-1 f v; XGROUP CREATE k g 0, as the reference server writes it. */
static robj *streamOf(slice key) {
    static const char bytes[] =
        "\x15\x01\x10\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\x1d\x1d\0\0\0\x0a\0\1\1\0\1\1\1\x81\x66\2\0\1"
        "\2\1\0\1\0\1\x81v\2\4\1\xff\1\1\1\1\1\0\0\1\1\1g\0\0\0\0\0";
    rdbReader r = {bytes, bytes + sizeof(bytes) - 1};
    robj *o = rdbReadValue(&r, key, false);
    CHECK(o && r.p == r.end);
    return o;
}

static robj *stringOf(slice key, const char *text, size_t len) {
    return objectCreateString(key, sliceOf(text, len), false, 0);
}

static void putOneOfEach(int db) {
    static char large[300000], small[400];
    memset(large, 'x', sizeof(large));
    memset(small, 'y', sizeof(small));
    for (size_t i = 0; i < sizeof(large); i += 7) large[i] = (char)(i * 2654435761u >> 13);
    put(db, stringOf(sliceStr("int"), "12345", 5));
    put(db, stringOf(sliceStr("long"), "1234567890123456789", 19));
    put(db, stringOf(sliceStr("embstr"), "hello", 5));
    put(db, stringOf(sliceStr(""), "", 0));
    put(db, stringOf(sliceStr("raw"), small, sizeof(small)));
    put(db, stringOf(sliceStr("large"), large, sizeof(large)));
    put(db, stringOf(sliceOf(small, sizeof(small)), "of a long name", 14));
    put(db, stringOf(sliceStr("1234"), "of a name that is a number", 26));
    put(db, listOf(sliceStr("list"), 3));
    put(db, listOf(sliceStr("long list"), 5000));
    put(db, hashOf(sliceStr("hash"), 3, HASH_NO_TIME));
    put(db, hashOf(sliceStr("long hash"), 5000, HASH_NO_TIME));
    put(db, hashOf(sliceStr("hash with times"), 5000, NOW_MS + 1000));
    put(db, setOf(sliceStr("intset"), "", 100));
    put(db, setOf(sliceStr("set"), "m", 100));
    put(db, setOf(sliceStr("long set"), "m", 5000));
    put(db, zsetOf(sliceStr("zset"), 100));
    put(db, zsetOf(sliceStr("long zset"), 5000));
    put(db, streamOf(sliceStr("stream")));
    put(db, objectSetExpireTake(stringOf(sliceStr("expires"), "v", 1), NOW_MS + 5000));
    put(db, objectSetExpireTake(listOf(sliceStr("is over"), 3), NOW_MS - 5000));
}

/* ---- A file, read by its description ---- */

typedef struct seenKey {
    int db;
    int64_t when_ms;
    long long idle_s, freq; /* -1 if absent */
} seenKey;

typedef struct seenFile {
    char *bytes; /* owns */
    size_t len;
    char aux[2000]; /* each as "name=value " */
    char dbs[200];  /* each as "db:keys:expires " */
    size_t keys;
    uint64_t sum;
} seenFile;

static bool readWhole(const char *path, seenFile *f) {
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st)) return false;
    *f = (seenFile){.bytes = zmalloc((size_t)st.st_size + 1), .len = (size_t)st.st_size};
    size_t have = 0;
    for (ssize_t n; (n = read(fd, f->bytes + have, f->len - have)) > 0;) have += (size_t)n;
    close(fd);
    return have == f->len;
}

static void readAux(seenFile *f, rdbReader *r) {
    rdbText name, value;
    if (!CHECK(rdbReadText(r, &name)) || !CHECK(rdbReadText(r, &value))) return;
    size_t used = strlen(f->aux);
    snprintf(f->aux + used, sizeof(f->aux) - used, "%.*s=%.*s ", (int)name.text.len, name.text.ptr, (int)value.text.len,
             value.text.ptr);
    rdbTextFree(&name);
    rdbTextFree(&value);
}

static digest digestOf(const robj *o) {
    digest d = {{0}};
    digestMixValue(&d, o);
    return d;
}

/* Compares the next key with the keyspace. `r` is after its type. */
static void checkKey(const seenKey *seen, uint8_t type, rdbReader *r) {
    rdbText name;
    if (!CHECK(rdbReadText(r, &name))) return;
    const robj *want = dbFindByHash(dbGet(seen->db), hashBytes(name.text.ptr, name.text.len));
    sds value = sdsCatLen(sdsNewLen(&type, 1), r->p, (size_t)(r->end - r->p));
    rdbReader of_value = {value, value + sdsLen(value)};
    robj *o = rdbReadValue(&of_value, name.text, false);
    if (o && seen->when_ms != -1) o = objectSetExpireTake(o, seen->when_ms);
    if (CHECK(want != NULL) && CHECK(o != NULL)) {
        digest a = digestOf(o), b = digestOf(want);
        CHECK_MEM(a.bytes, b.bytes, DIGEST_BYTES);
        CHECK(o->type == want->type && o->encoding == want->encoding);
        CHECK_EQ_INT(seen->when_ms, objectExpire(want));
        bool lru = store_settings.maxmemory_policy & MAXMEMORY_FLAG_LRU;
        bool lfu = store_settings.maxmemory_policy & MAXMEMORY_FLAG_LFU;
        CHECK_EQ_INT(seen->idle_s, lru ? (long long)(lruIdleMs(want) / 1000) : -1);
        CHECK_EQ_INT(seen->freq, lfu ? (long long)lfuFrequency(want) : -1);
    }
    r->p += of_value.p - value - 1;
    if (o) objectFree(o);
    sdsFree(value);
    rdbTextFree(&name);
}

static const seenKey no_key = {.when_ms = -1, .idle_s = -1, .freq = -1};

/* Reads an item between the keys, or a key. Returns false at the end. */
static bool checkNext(seenFile *f, rdbReader *r, seenKey *key) {
    uint64_t a = 0, b = 0;
    uint8_t op = (uint8_t)*r->p++;
    size_t used = strlen(f->dbs);
    switch (op) {
    case RDB_OP_EOF: return false;
    case RDB_OP_AUX: readAux(f, r); break;
    case RDB_OP_SELECTDB:
        CHECK(rdbReadCount(r, &a));
        *key = no_key;
        key->db = (int)a;
        break;
    case RDB_OP_RESIZEDB:
        CHECK(rdbReadCount(r, &a) && rdbReadCount(r, &b));
        snprintf(f->dbs + used, sizeof(f->dbs) - used, "%d:%llu:%llu ", key->db, (unsigned long long)a,
                 (unsigned long long)b);
        break;
    case RDB_OP_EXPIRE_MS: CHECK(rdbReadMs(r, &key->when_ms)); break;
    case RDB_OP_IDLE:
        CHECK(rdbReadCount(r, &a));
        key->idle_s = (long long)a;
        break;
    case RDB_OP_FREQ: key->freq = (uint8_t)*r->p++; break;
    default:
        checkKey(key, op, r);
        f->keys++;
        int db = key->db;
        *key = no_key;
        key->db = db;
    }
    return true;
}

/* Compares the whole file with the keyspace. */
static void checkFile(const char *path, seenFile *f) {
    if (!CHECK(readWhole(path, f))) return;
    rdbReader r = {f->bytes, f->bytes + f->len};
    seenKey key = no_key;
    CHECK_MEM(r.p, "VALKEY080", RDB_MAGIC_BYTES);
    r.p += RDB_MAGIC_BYTES;
    while (r.p < r.end && checkNext(f, &r, &key)) continue;
    if (!CHECK_EQ_INT(r.end - r.p, RDB_CHECKSUM_BYTES)) return;
    f->sum = loadLe64(r.p);
    if (f->sum) CHECK(f->sum == crc64(0, f->bytes, f->len - RDB_CHECKSUM_BYTES));
    zfree(f->bytes);
    size_t keys = 0;
    for (int i = 0; i < dbCount(); i++) keys += dbSize(dbGet(i));
    CHECK_EQ_INT(f->keys, keys);
}

static rdbSaveOptions plain(void) {
    return (rdbSaveOptions){.compression = true, .checksum = true, .incremental_sync = true};
}

/* ---- Tests ---- */

TEST(rdb_save_does_by_default_what_settings_say) {
    setUp();
    for (int how = 0; how < 8; how++) {
        object_settings.compression = how & 1;
        persist_settings.rdbchecksum = how & 2;
        persist_settings.rdb_save_incremental_fsync = how & 4;
        rdbSaveOptions o = rdbSaveDefaults();
        CHECK_EQ_INT(o.compression | o.checksum << 1 | o.incremental_sync << 2, how);
        CHECK(!o.is_aof_base && !o.temporary && !o.progress && !o.replication);
    }
}

TEST(rdb_save_of_nothing) {
    seenFile f;
    rdbSaveOptions options = plain();
    setUp();
    CHECK(rdbSaveFile("dump.rdb", &options));
    checkFile("dump.rdb", &f);
    CHECK_EQ_STR(f.dbs, "");
    CHECK_EQ_INT(filesInFolder(), 1);
}

TEST(rdb_save_writes_fields_in_their_order) {
    rdbReplication replication = {.stream_db = 3,
                                  .id = "0123456789012345678901234567890123456789",
                                  .offset = 77,
                                  .node = "abcdefabcdefabcdefabcdefabcdefabcdefabcd"};
    seenFile f;
    char want[300];
    rdbSaveOptions options = plain();
    setUp();
    CHECK(rdbSaveFile("dump.rdb", &options));
    checkFile("dump.rdb", &f);
    long long created = 0, memory = 0;
    CHECK_EQ_INT(sscanf(f.aux, "valkey-ver=9.1.2 redis-bits=%*d ctime=%lld used-mem=%lld", &created, &memory), 2);
    snprintf(want, sizeof(want), "valkey-ver=9.1.2 redis-bits=%zu ctime=%lld used-mem=%lld aof-base=0 ",
             sizeof(void *) * 8, created, memory);
    CHECK_EQ_STR(f.aux, want);
    CHECK(created > 1600000000 && memory > 0);
    options.replication = &replication;
    options.is_aof_base = true;
    CHECK(rdbSaveFile("dump.rdb", &options));
    checkFile("dump.rdb", &f);
    CHECK(strstr(f.aux, " repl-stream-db=3 repl-id=0123456789012345678901234567890123456789 repl-offset=77 "
                        "repl-node=abcdefabcdefabcdefabcdefabcdefabcdefabcd aof-base=1 "));
    CHECK(!strstr(f.aux, "cluster-slot-states"));
    replication.slot_states = sliceStr("5>...,");
    CHECK(rdbSaveFile("dump.rdb", &options));
    checkFile("dump.rdb", &f);
    CHECK(strstr(f.aux, " aof-base=1 cluster-slot-states=5>..., "));
}

TEST(rdb_save_of_each_type) {
    seenFile f;
    setUp();
    putOneOfEach(0);
    for (int how = 0; how < 8; how++) {
        rdbSaveOptions options = {.compression = how & 1, .checksum = how & 2, .incremental_sync = how & 4};
        CHECK(rdbSaveFile("dump.rdb", &options));
        checkFile("dump.rdb", &f);
        CHECK((f.sum != 0) == options.checksum);
        CHECK_EQ_STR(f.dbs, "0:21:2 ");
    }
}

TEST(rdb_save_of_several_databases) {
    seenFile f;
    rdbSaveOptions options = plain();
    setUp();
    for (long i = 0; i < 10000; i++) put(3, stringOf(textN("key", i), "value", 5));
    put(0, objectSetExpireTake(stringOf(sliceStr("a"), "1", 1), NOW_MS + 1));
    put(15, stringOf(sliceStr("a"), "2", 1));
    CHECK(rdbSaveFile("dump.rdb", &options));
    checkFile("dump.rdb", &f);
    CHECK_EQ_STR(f.dbs, "0:1:1 3:10000:0 15:1:0 ");
}

static const char *textWithin(const seenFile *f, const char *text) {
    return memmem(f->bytes, f->len, text, strlen(text));
}

TEST(rdb_save_announces_each_slot) {
    seenFile f;
    rdbSaveOptions options = plain();
    setUp();
    dbSetSlots(true);
    const char *names[] = {"{06S}a", "{06S}b", "{06S}c"}; /* slot 0 */
    for (size_t i = 0; i < array_len(names); i++) {
        robj *o = hashOf(sliceStr(names[i]), 3, i == 2 ? NOW_MS + 1000 : HASH_NO_TIME);
        if (i == 1) o = objectSetExpireTake(o, NOW_MS + 5000);
        slice name = objectKey(o);
        dbAddTake(dbGet(0), o, (hashedKey){name, keyHash(name)});
    }
    CHECK(rdbSaveFile("dump.rdb", &options));
    CHECK(readWhole("dump.rdb", &f));
    const char *first = textWithin(&f, "\xfa\x09slot-info\x07"
                                       "0,3,1,1"),
               *key = textWithin(&f, "{06S}");
    CHECK(first && key && first < key);
    CHECK(!textWithin(&f, "cluster-slot-states"));
    zfree(f.bytes);
    dbEmpty(-1, false);
    dbSetSlots(false);
    put(0, listOf(sliceStr("list"), 3));
    CHECK(rdbSaveFile("dump.rdb", &options));
    CHECK(readWhole("dump.rdb", &f));
    CHECK(!textWithin(&f, "slot-info"));
    zfree(f.bytes);
}

TEST(rdb_save_writes_use_as_the_policy_means_it) {
    static const int policies[] = {MAXMEMORY_ALLKEYS_LRU, MAXMEMORY_VOLATILE_LRU, MAXMEMORY_ALLKEYS_LFU,
                                   MAXMEMORY_VOLATILE_LFU, MAXMEMORY_ALLKEYS_RANDOM};
    rdbSaveOptions options = plain();
    seenFile f;
    for (size_t i = 0; i < array_len(policies); i++) {
        setUp();
        store_settings.maxmemory_policy = policies[i];
        putOneOfEach(1);
        robj *o = dbFindByHash(dbGet(1), hashBytes("embstr", 6));
        if (policies[i] & MAXMEMORY_FLAG_LFU) lfuSetFrequency(o, 200);
        else lruSetIdle(o, 100000);
        CHECK(rdbSaveFile("dump.rdb", &options));
        checkFile("dump.rdb", &f);
    }
}

static size_t reports, last_reported;
static void onProgress(void *arg, size_t keys) {
    CHECK(arg == &reports && keys >= last_reported);
    reports++;
    last_reported = keys;
}

TEST(rdb_save_reports_progress) {
    rdbSaveOptions options = plain();
    options.progress = onProgress;
    options.progress_arg = &reports;
    setUp();
    for (long i = 0; i < 10000; i++) put(0, stringOf(textN("key", i), "value", 5));
    reports = last_reported = 0;
    CHECK(rdbSaveFile("dump.rdb", &options));
    CHECK(reports >= 10 && reports < 20);
    CHECK_EQ_INT(last_reported, 10000);
    setUp();
    for (long i = 0; i < 20; i++) put(0, stringOf(textN("key", i), "value", 5));
    reports = last_reported = 0;
    persist_settings.rdb_key_save_delay = 1000;
    uint64_t began_us = clockMonotonicUs();
    CHECK(rdbSaveFile("dump.rdb", &options));
    CHECK(clockMonotonicUs() - began_us >= 20000);
    CHECK_EQ_INT(reports, 21);
    persist_settings.rdb_key_save_delay = -10;
    last_reported = 0;
    CHECK(rdbSaveFile("dump.rdb", &options));
}

TEST(rdb_save_that_fails_leaves_the_old_file) {
    static const failingCall faults[] = {CALL_WRITE, CALL_FSYNC, CALL_CLOSE, CALL_RENAME};
    rdbSaveOptions options = plain();
    seenFile f;
    setUp();
    putOneOfEach(0);
    CHECK(rdbSaveFile("dump.rdb", &options));
    for (size_t i = 0; i < array_len(faults); i++) {
        callFails(faults[i], 1, ENOSPC);
        CHECK(!rdbSaveFile("dump.rdb", &options));
        CHECK_EQ_INT(errno, ENOSPC);
        callsWork();
        CHECK_EQ_INT(filesInFolder(), 1);
        checkFile("dump.rdb", &f);
    }
    CHECK(!rdbSaveFile("no/folder/dump.rdb", &options));
    CHECK_EQ_INT(filesInFolder(), 1);
    options.temporary = "base.tmp";
    callFails(CALL_WRITE, 1, ENOSPC);
    CHECK(!rdbSaveFile("dump.rdb", &options));
    callsWork();
    CHECK_EQ_INT(filesInFolder(), 1);
    CHECK(rdbSaveFile("base", &options));
    checkFile("base", &f);
    CHECK_EQ_INT(filesInFolder(), 2);
}

/* A value that the format lacks is an error and not left out silently. */
TEST(rdb_save_for_an_older_version_refuses_what_that_does_not_know) {
    rdbSaveOptions options = plain();
    setUp();
    put(0, hashOf(sliceStr("hash"), 3, HASH_NO_TIME));
    options.version = 11;
    CHECK(rdbSaveFile("dump.rdb", &options));
    put(0, hashOf(sliceStr("hash with times"), 3, NOW_MS + 1000));
    errno = 0;
    CHECK(!rdbSaveFile("dump.rdb", &options));
    CHECK_EQ_INT(errno, EINVAL);
    CHECK_EQ_INT(filesInFolder(), 1);
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CHECK(!rdbSaveTo(fd, &options));
    CHECK_EQ_INT(errno, EINVAL);
    close(fd);
}

static void saveInChild(void *arg) {
    struct rlimit limit = {20000, 20000};
    rdbSaveOptions options = plain();
    unused(arg);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(!rdbSaveFile("dump.rdb", &options) && errno == EFBIG ? 0 : 1);
}

TEST(rdb_save_into_a_full_disk) {
    char output[2000];
    seenFile f;
    rdbSaveOptions options = plain();
    setUp();
    CHECK(rdbSaveFile("dump.rdb", &options));
    checkFile("dump.rdb", &f);
    putOneOfEach(0);
    CHECK_EQ_INT(unitInChild(saveInChild, NULL, output, sizeof(output)), 0);
    CHECK_EQ_INT(filesInFolder(), 1);
    dbEmpty(-1, false);
    checkFile("dump.rdb", &f);
}

/* Returns the page faults of this process. A forked child has one for each page that it is the first to write to.
 * Pages that a thread of the parent frees meanwhile become the child's own without a fault. */
static long pageFaults(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt : 0;
}

static void saveAndCompare(void *arg) {
    long *faults = arg, before = pageFaults();
    rdbSaveOptions options = plain();
    bool done = rdbSaveFile("dump.rdb", &options);
    *faults = pageFaults() - before;
    _exit(done ? 0 : 1);
}

/* The kernel copies each page of the dataset that a child writes to. */
TEST(rdb_save_writes_to_nothing_of_the_dataset) {
    char output[2000], value[400];
    long *faults = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setUp();
    memset(value, 'v', sizeof(value));
    object_settings.list_compress_depth = 1;
    for (int db = 0; db < 8; db++) putOneOfEach(db);
    for (long i = 0; i < 50000; i++) put(9, stringOf(textN("key", i), value, sizeof(value)));
    for (long i = 0; i < 2000; i++) {
        put(10, hashOf(textN("hash", i), 60, HASH_NO_TIME));
        put(10, setOf(textN("set", i), "member", 150));
        put(10, zsetOf(textN("zset", i), 150));
        put(10, listOf(textN("list", i), 60));
        put(10, streamOf(textN("stream", i)));
    }
    size_t dataset = zmallocUsed();
    CHECK(dataset > (size_t)40 << 20);
    CHECK_EQ_INT(unitInChild(saveAndCompare, faults, output, sizeof(output)), 0);
    size_t pages = dataset / (size_t)sysconf(_SC_PAGESIZE);
    if (!CHECK(*faults < (long)pages / 8)) printf("    %ld pages written, with a dataset of %zu\n", *faults, pages);
    munmap(faults, 4096);
    setUp();
}

TEST(rdb_save_in_another_folder) {
    char name[RDB_TEMPORARY_NAME_SIZE], path[4200], folder[4096];
    rdbSaveOptions options = plain();
    seenFile f;
    setUp();
    CHECK(getcwd(folder, sizeof(folder)) != NULL);
    snprintf(path, sizeof(path), "%s/dump.rdb", folder);
    CHECK(chdir("/") == 0);
    CHECK(rdbSaveFile(path, &options));
    CHECK(chdir(folder) == 0);
    checkFile("dump.rdb", &f);
    rdbTemporaryName(name, 1234);
    CHECK_EQ_STR(name, "temp-1234.rdb");
}
