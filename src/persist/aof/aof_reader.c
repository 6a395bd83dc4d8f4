/* aof_reader.c -- a thread that reads one file of the log and turns its commands into records, in batches for main.
 *
 * It does what an I/O thread does with requests: finds the arguments, looks the command up, hashes its keys, builds its
 * value. Meanwhile main executes the batch before.
 *
 * A batch has only whole units. A unit is a command, or all commands from MULTI to EXEC, so that main never executes
 * half of a transaction. Records of an incomplete unit are dropped, and its bytes begin the next batch, whose capacity
 * grows until it holds the whole unit.
 *
 * Not here    parsing (aof_parse.c); what to do about faults (aof_load.c).
 * Owns        the batches.
 * Threads     main and the reader; each owns the batches that it has taken under the lock.
 * Invariants  1. At most BATCHES batches exist.
 * Tests       tests/unit/persist/aof/aof_reader_test.c, tests/persist/aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_reader.h"

#include "aof_parse.h"
#include "command_table.h"
#include "panic.h"
#include "thread.h"
#include "zmalloc.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCHES 3
#define BATCH_BYTES ((size_t)256 * 1024) /* of a file; initial capacity */
#define ARENA_BYTES ((size_t)64 * 1024)  /* for records; more is allocated in pieces */

struct aofReader {
    int fd;
    pthread_t thread;
    pthread_mutex_t lock; /* no other lock is taken under it */
    pthread_cond_t ready, free;
    aofBatch *done, *done_last; /* under lock: filled, for main */
    aofBatch *spare;            /* under lock: to be filled */
    bool stopping;              /* under lock */

    /* reader */
    off_t at;    /* offset in the file of the next byte to read */
    off_t end;   /* const: no byte is read from here on */
    off_t zeros; /* const: bytes from there to the end of the file */
    sds left;    /* bytes before `at` that the next batch begins with */
    aofItem item;
    recordCache cache;
    const serverCommand *multi, *exec; /* const */
};

/* --- batches --------------------------------------------------------------------------------------------- */

static aofBatch *batchCreate(void) {
    aofBatch *b = zcalloc(1, sizeof(*b));
    b->capacity = BATCH_BYTES;
    b->bytes = zmalloc(b->capacity);
    void *first = zmallocAligned(16, ARENA_BYTES);
    recordArenaInit(&b->arena, first, ARENA_BYTES);
    b->arena_first = first;
    return b;
}

/* Frees values of the records from `p` on. The reader alone has references to them, so any thread may call it. */
static void dropValues(parsedCommand *p) {
    for (; p; p = p->next) {
        if (p->value) objectFree(p->value);
        p->value = NULL;
    }
}

static void batchEmpty(aofBatch *b) {
    dropValues(b->first);
    recordArenaFree(&b->arena);
    recordArenaInit(&b->arena, b->arena_first, ARENA_BYTES);
    sdsFree(b->error);
    b->first = b->last = NULL;
    b->error = NULL;
    b->count = b->have = 0;
    b->in_multi = false;
    b->zeros = 0;
    b->state = AOF_READ_ON;
}

static void batchFree(aofBatch *b) {
    batchEmpty(b);
    zfree(b->arena_first);
    zfree(b->bytes);
    zfree(b);
}

/* Asserts the state of a batch that is handed to main. Called by the reader and by main. */
static void batchCheck(const aofBatch *b) {
    debugAssert(!b->first == !b->last && !b->first == (b->count == 0));
    debugAssert(!b->last || !b->last->next);
    debugAssert(b->have <= b->capacity && b->end >= 0);
    debugAssert((b->state == AOF_READ_WRONG) == (b->error != NULL));
    debugAssert(b->state != AOF_READ_FAILED || b->error_number != 0);
    debugAssert(b->zeros == 0 || b->state == AOF_READ_SHORT);
    unused(b);
}

/* --- the reader's thread --------------------------------------------------------------------------------- */

off_t aofSizeWithoutZeros(int fd, off_t from, off_t size) {
    char bytes[16384];
    off_t end = size > from ? size : from;
    while (end > from) {
        size_t n = end - from < (off_t)sizeof(bytes) ? (size_t)(end - from) : sizeof(bytes);
        if (pread(fd, bytes, n, end - (off_t)n) != (ssize_t)n) return size > from ? size : from;
        size_t left = n;
        while (left > 0 && bytes[left - 1] == '\0') left--;
        end -= (off_t)(n - left);
        if (left > 0) break;
    }
    return end;
}

/* Reads until there are `want` bytes or the file ends. Returns false with errno on failure. */
static bool aofReaderFill(aofReader *r, aofBatch *b, size_t want, bool *at_end) {
    if (want > b->capacity) {
        b->capacity = want;
        b->bytes = zrealloc(b->bytes, b->capacity);
    }
    while (b->have < want) {
        size_t n_max = r->end - r->at < (off_t)(want - b->have) ? (size_t)(r->end - r->at) : want - b->have;
        ssize_t n = pread(r->fd, b->bytes + b->have, n_max, r->at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        *at_end = n == 0;
        if (n == 0) return true;
        b->have += (size_t)n;
        r->at += n;
    }
    return true;
}

/* Returns the text for the log about a command that is unknown or has the wrong arguments. */
static sds describeFault(const parsedCommand *p) {
    slice name = p->argv[0];
    if (p->flags & REQ_BAD_ARITY)
        return sdsCatPrintf(sdsEmpty(), "wrong number of arguments for '%s' command", p->cmd->fullname);
    if (p->flags & REQ_UNKNOWN_SUBCOMMAND) {
        sds upper = sdsNew(p->cmd->name);
        sdsToUpper(upper);
        sds text = sdsCatPrintf(sdsEmpty(), "unknown subcommand '%.*s'. Try %s HELP.",
                                (int)(p->argv[1].len < 128 ? p->argv[1].len : 128), p->argv[1].ptr, upper);
        sdsFree(upper);
        return text;
    }
    sds text = sdsCatPrintf(sdsEmpty(), "unknown command '%.*s', with args beginning with: ",
                            (int)(name.len < 128 ? name.len : 128), name.ptr);
    for (uint32_t i = 1, left = 128; i < p->argc && left > 0; i++) {
        uint32_t n = p->argv[i].len < left ? (uint32_t)p->argv[i].len : left;
        text = sdsCatPrintf(text, "'%.*s' ", (int)n, p->argv[i].ptr);
        left -= n;
    }
    return text;
}

/* Adds a record of the item to the end of the batch. */
static parsedCommand *addRecord(aofReader *r, aofBatch *b, slice wire) {
    parsedCommand *p = recordCreate(&b->arena, r->item.argc);
    memcpy(p->argv, r->item.args, r->item.argc * sizeof(*p->argv));
    p->wire = wire.ptr;
    p->wire_len = wire.len < UINT32_MAX ? (uint32_t)wire.len : UINT32_MAX;
    recordCompleteStored(&b->arena, &r->cache, p);
    p->next = NULL;
    if (b->last) b->last->next = p;
    else b->first = p;
    b->last = p;
    b->count++;
    return p;
}

/* The state of a batch after its last whole unit. */
typedef struct unitEnd {
    parsedCommand *last;
    size_t count, at;
} unitEnd;

/* Removes the records after the last whole unit. */
static void dropUnfinished(aofBatch *b, const unitEnd *end) {
    dropValues(end->last ? end->last->next : b->first);
    if (end->last) end->last->next = NULL;
    else b->first = NULL;
    b->last = end->last;
    b->count = end->count;
}

/* Makes records of all whole units in the batch's bytes. Returns the number of bytes of these units; *want is the
 * number of bytes that the batch needs for one more. */
static size_t makeRecords(aofReader *r, aofBatch *b, size_t *want) {
    unitEnd end = {.last = NULL};
    size_t at = 0;
    bool in_multi = false;
    aofItemKind kind = AOF_MORE;
    *want = b->have + 1;
    while (at < b->have) {
        kind = aofParse(&r->item, sliceOf(b->bytes + at, b->have - at));
        if (kind == AOF_MORE) *want = at + r->item.bytes;
        if (kind == AOF_MORE || kind == AOF_BAD) break;
        parsedCommand *p = kind == AOF_COMMAND ? addRecord(r, b, sliceOf(b->bytes + at, r->item.bytes)) : NULL;
        if (p && p->flags & REQ_MALFORMED) {
            b->state = AOF_READ_WRONG;
            b->error = describeFault(p);
            break;
        }
        at += r->item.bytes;
        if (p && p->cmd == r->multi) in_multi = true;
        if (p && p->cmd == r->exec) in_multi = false;
        if (!in_multi) end = (unitEnd){b->last, b->count, at};
    }
    if (kind == AOF_BAD && at < b->have) b->state = AOF_READ_BAD;
    b->in_multi = in_multi;
    dropUnfinished(b, &end);
    return end.at;
}

/* Fills a batch and sets its state. */
static void readBatch(aofReader *r, aofBatch *b) {
    bool at_end = false;
    size_t want = sdsLen(r->left) > BATCH_BYTES / 2 ? 2 * sdsLen(r->left) : BATCH_BYTES;
    size_t used = 0, least = 0;
    if (want > b->capacity) b->bytes = zrealloc(b->bytes, b->capacity = want);
    memcpy(b->bytes, r->left, sdsLen(r->left));
    b->have = sdsLen(r->left);
    sdsClear(r->left);
    for (;;) {
        if (!aofReaderFill(r, b, want, &at_end)) {
            b->state = AOF_READ_FAILED;
            b->error_number = errno;
        }
        used = makeRecords(r, b, &least);
        if (b->state != AOF_READ_ON || used > 0 || at_end) break;
        want = least > 2 * b->have ? least : 2 * b->have; /* not even one unit is complete */
    }
    b->end = r->at - (off_t)(b->have - used);
    if (b->state != AOF_READ_ON) return;
    if (at_end) {
        b->state = used < b->have || r->zeros ? AOF_READ_SHORT : AOF_READ_END;
        b->zeros = r->zeros;
    } else r->left = sdsCatLen(r->left, b->bytes + used, b->have - used);
}

/* Waits for a batch to fill. Returns NULL if the reader is being stopped. */
static aofBatch *takeSpare(aofReader *r) {
    pthread_mutex_lock(&r->lock);
    while (!r->spare && !r->stopping) pthread_cond_wait(&r->free, &r->lock);
    aofBatch *b = r->stopping ? NULL : r->spare;
    if (b) r->spare = b->next;
    pthread_mutex_unlock(&r->lock);
    return b;
}

static void giveDone(aofReader *r, aofBatch *b) {
    batchCheck(b);
    pthread_mutex_lock(&r->lock);
    b->next = NULL;
    if (r->done_last) r->done_last->next = b;
    else r->done = b;
    r->done_last = b;
    pthread_cond_signal(&r->ready);
    pthread_mutex_unlock(&r->lock);
}

static void readerMain(void *arg) {
    aofReader *r = arg;
    for (bool on = true; on;) {
        aofBatch *b = takeSpare(r);
        if (!b) break;
        readBatch(r, b);
        on = b->state == AOF_READ_ON;
        giveDone(r, b);
    }
}

/* --- main ------------------------------------------------------------------------------------------------ */

static void freeAll(aofReader *r) {
    for (aofBatch *b = r->spare, *next; b; b = next) next = b->next, batchFree(b);
    for (aofBatch *b = r->done, *next; b; b = next) next = b->next, batchFree(b);
    aofItemFree(&r->item);
    sdsFree(r->left);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->ready);
    pthread_cond_destroy(&r->free);
    zfree(r);
}

aofReader *aofReaderStart(int fd, off_t from) {
    aofReader *r = zcalloc(1, sizeof(*r));
    struct stat st;
    r->fd = fd;
    r->at = from;
    r->end = INT64_MAX; /* of a file that cannot be examined: reading it tells why */
    if (fstat(fd, &st) == 0) {
        r->end = aofSizeWithoutZeros(fd, from, st.st_size);
        r->zeros = st.st_size > r->end ? st.st_size - r->end : 0;
    }
    r->left = sdsEmpty();
    r->cache.own_names = true; /* the server writes original names; clients use those of rename-command */
    r->multi = commandNamed("multi");
    r->exec = commandNamed("exec");
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->ready, NULL);
    pthread_cond_init(&r->free, NULL);
    for (int i = 0; i < BATCHES; i++) {
        aofBatch *b = batchCreate();
        b->next = r->spare;
        r->spare = b;
    }
    int rc = threadStart(&r->thread, &(threadPlan){.name = "aof_reader"}, readerMain, r);
    if (rc == 0) return r;
    freeAll(r);
    errno = rc;
    return NULL;
}

aofBatch *aofReaderNext(aofReader *r) {
    pthread_mutex_lock(&r->lock);
    while (!r->done) pthread_cond_wait(&r->ready, &r->lock);
    aofBatch *b = r->done;
    r->done = b->next;
    if (!r->done) r->done_last = NULL;
    pthread_mutex_unlock(&r->lock);
    b->next = NULL;
    batchCheck(b);
    return b;
}

void aofReaderReturn(aofReader *r, aofBatch *b) {
    debugAssert(!b->next);
    batchEmpty(b);
    pthread_mutex_lock(&r->lock);
    b->next = r->spare;
    r->spare = b;
    pthread_cond_signal(&r->free);
    pthread_mutex_unlock(&r->lock);
}

void aofReaderStop(aofReader *r) {
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_cond_signal(&r->free);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    freeAll(r);
}
