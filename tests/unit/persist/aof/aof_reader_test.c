/* aof_reader_test.c -- a log is returned as its commands, in complete units, wherever it is cut and in any division
 * into reads.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_reader.h"

#include "command_table.h"
#include "rdb_test_file.h"
#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static void handler(client *c) { unused(c); }

static serverCommand commands[] = {
    {.name = "multi", .proc = handler, .arity = 1},
    {.name = "exec", .proc = handler, .arity = 1},
    {.name = "select", .proc = handler, .arity = 2},
    {.name = "take", .proc = handler, .arity = -2},
};

static void once(void) {
    static bool done;
    rdbTestReset();
    if (!done) commandTableRegister(commands, array_len(commands));
    done = true;
}

/* --- logs and their contents ----------------------------------------------------------------------------- */

/* A log whose units end at `ends`; the commands up to there are the first `counts`. */
typedef struct log {
    sds bytes;
    sds all; /* every argument, after its length */
    size_t *ends, *counts, *text_ends;
    size_t units, commands;
} log;

static sds catArgument(sds text, slice argument) {
    text = sdsCatPrintf(text, "%zu:", argument.len);
    return sdsCatSlice(text, argument);
}

static void addCommand(log *g, size_t argc, const slice *argv) {
    g->bytes = sdsCatPrintf(g->bytes, "*%zu\r\n", argc);
    for (size_t i = 0; i < argc; i++) {
        g->bytes = sdsCatPrintf(g->bytes, "$%zu\r\n", argv[i].len);
        g->bytes = sdsCatSlice(g->bytes, argv[i]);
        g->bytes = sdsCatLen(g->bytes, "\r\n", 2);
        g->all = catArgument(g->all, argv[i]);
    }
    g->all = sdsCatLen(g->all, "\n", 1);
    g->commands++;
}

static void addWord(log *g, const char *word) { addCommand(g, 1, &(slice){word, strlen(word)}); }

static void addRandom(log *g, uint64_t *seed, size_t largest) {
    static char bytes[1000000];
    if (unitRandom(seed) % 10 == 0) {
        addCommand(g, 2, (slice[]){sliceStr("SELECT"), sliceStr("3")});
        return;
    }
    slice argv[20];
    size_t argc = 2 + unitRandom(seed) % (array_len(argv) - 2);
    argv[0] = sliceStr("TAKE");
    for (size_t i = 1; i < argc; i++) {
        size_t len = unitRandom(seed) % (unitRandom(seed) % 20 ? 30 : largest);
        for (size_t j = 0; j < len && j < 50; j++) bytes[j] = "\r\n*$1ab"[unitRandom(seed) % 7];
        argv[i] = sliceOf(bytes, len);
    }
    addCommand(g, argc, argv);
}

static void endUnit(log *g) {
    g->ends[g->units] = sdsLen(g->bytes);
    g->counts[g->units] = g->commands;
    g->text_ends[g->units++] = sdsLen(g->all);
}

static log randomLog(uint64_t *seed, size_t units, size_t largest) {
    log g = {.bytes = sdsEmpty(), .all = sdsEmpty()};
    g.ends = zcalloc(units + 1, sizeof(*g.ends));
    g.counts = zcalloc(units + 1, sizeof(*g.counts));
    g.text_ends = zcalloc(units + 1, sizeof(*g.text_ends));
    endUnit(&g);
    while (g.units <= units) {
        bool several = unitRandom(seed) % 4 == 0;
        if (several) addWord(&g, "MULTI");
        for (size_t n = several ? unitRandom(seed) % 6 : 1; n > 0; n--) addRandom(&g, seed, largest);
        if (several) addWord(&g, "EXEC");
        endUnit(&g);
        if (unitRandom(seed) % 8 == 0) g.bytes = sdsCat(g.bytes, "#TS:1600000000\r\n"); /* belongs to the next unit */
    }
    return g;
}

static void logFree(log *g) {
    sdsFree(g->bytes);
    sdsFree(g->all);
    zfree(g->ends);
    zfree(g->counts);
    zfree(g->text_ends);
}

/* --- what the reader gives ------------------------------------------------------------------------------- */

typedef struct reading {
    aofReadState state;
    off_t end, zeros;
    size_t count, batches;
    bool in_multi;
    sds all, error;
} reading;

static reading readAll(int fd, off_t from) {
    reading got = {.state = AOF_READ_ON, .all = sdsEmpty()};
    aofReader *r = aofReaderStart(fd, from);
    while (CHECK(r != NULL) && got.state == AOF_READ_ON) {
        aofBatch *b = aofReaderNext(r);
        size_t count = 0;
        for (const parsedCommand *p = b->first; p; p = p->next, count++) {
            for (size_t i = 0; i < p->argc; i++) got.all = catArgument(got.all, p->argv[i]);
            got.all = sdsCatLen(got.all, "\n", 1);
        }
        CHECK_EQ_INT(b->count, count);
        CHECK(b->end >= got.end);
        got.count += count;
        got.batches++;
        got.state = b->state;
        got.end = b->end;
        got.zeros = b->zeros;
        got.in_multi = b->in_multi;
        if (b->error) got.error = sdsDup(b->error);
        aofReaderReturn(r, b);
    }
    if (r) aofReaderStop(r);
    return got;
}

static void readingFree(reading *got) {
    sdsFree(got->all);
    sdsFree(got->error);
}

/* Reads the log cut at `len`: all complete units, and nothing of another. */
static bool readsCut(const log *g, size_t len) {
    int fd = rdbTestOpen(sliceOf(g->bytes, len));
    reading got = readAll(fd, 0);
    close(fd);
    size_t whole = g->units;
    while (g->ends[whole - 1] > len) whole--;
    whole--;
    bool good = CHECK_EQ_INT(got.count, g->counts[whole]) && CHECK_EQ_INT(sdsLen(got.all), g->text_ends[whole]) &&
                CHECK_MEM(got.all, g->all, g->text_ends[whole]);
    if (len == g->ends[whole]) good &= CHECK_EQ_INT(got.state, AOF_READ_END) && CHECK_EQ_INT(got.end, len);
    else good &= CHECK(got.end >= (off_t)g->ends[whole] && got.end <= (off_t)len);
    if (got.state != AOF_READ_END) good &= CHECK_EQ_INT(got.state, AOF_READ_SHORT);
    readingFree(&got);
    return good;
}

TEST(reader_gives_a_log_cut_at_every_byte) {
    once();
    uint64_t seed = unitRandomSeed();
    log g = randomLog(&seed, 12, 60);
    for (size_t len = 0; len <= sdsLen(g.bytes); len++)
        if (!readsCut(&g, len)) break;
    logFree(&g);
}

/* Logs larger than a batch: units span the pieces that are read, and a batch grows for a unit that does not fit. */
TEST(reader_gives_what_is_split_across_pieces) {
    once();
    uint64_t seed = unitRandomSeed();
    log g = randomLog(&seed, 400, 900000);
    int fd = rdbTestOpen(sdsSlice(g.bytes));
    reading got = readAll(fd, 0);
    CHECK(got.batches > 2);
    readingFree(&got);
    for (size_t skipped = 1; skipped < 5; skipped++) { /* from a unit on, as after a base */
        size_t unit = unitRandom(&seed) % g.units, text = g.text_ends[unit];
        got = readAll(fd, (off_t)g.ends[unit]);
        CHECK_EQ_INT(got.state, AOF_READ_END);
        CHECK_EQ_INT(got.count, g.commands - g.counts[unit]);
        if (CHECK_EQ_INT(sdsLen(got.all), sdsLen(g.all) - text)) CHECK_MEM(got.all, g.all + text, sdsLen(got.all));
        readingFree(&got);
    }
    close(fd);
    for (int i = 0; i < 6; i++)
        if (!readsCut(&g, unitRandom(&seed) % sdsLen(g.bytes))) break;
    logFree(&g);
}

static reading readText(const char *text) {
    int fd = rdbTestOpen(sliceOf(text, strlen(text)));
    reading got = readAll(fd, 0);
    close(fd);
    return got;
}

#define TAKE "*2\r\n$4\r\nTAKE\r\n$1\r\nx\r\n"
#define MULTI "*1\r\n$5\r\nMULTI\r\n"

TEST(reader_says_what_ends_a_log) {
    once();
    static const struct {
        const char *text;
        aofReadState state;
        size_t count, end;
        bool in_multi;
    } cases[] = {
        {"", AOF_READ_END, 0, 0, false},
        {TAKE TAKE, AOF_READ_END, 2, 2 * (sizeof(TAKE) - 1), false},
        {TAKE MULTI, AOF_READ_SHORT, 1, sizeof(TAKE) - 1, true},
        {TAKE MULTI TAKE, AOF_READ_SHORT, 1, sizeof(TAKE) - 1, true},
        {TAKE "*2\r\n$4\r\nTA", AOF_READ_SHORT, 1, sizeof(TAKE) - 1, false},
        {TAKE "hello\r\n", AOF_READ_BAD, 1, sizeof(TAKE) - 1, false},
        {MULTI TAKE "hello\r\n", AOF_READ_BAD, 0, 0, true},
        {TAKE "*1\r\n$4\r\nWHAT\r\n", AOF_READ_WRONG, 1, sizeof(TAKE) - 1, false},
        {TAKE "*1\r\n$4\r\nTAKE\r\n", AOF_READ_WRONG, 1, sizeof(TAKE) - 1, false},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        reading got = readText(cases[i].text);
        bool good = CHECK_EQ_INT(got.state, cases[i].state);
        good &= CHECK_EQ_INT(got.count, cases[i].count);
        good &= CHECK_EQ_INT(got.end, cases[i].end);
        good &= CHECK_EQ_INT(got.in_multi, cases[i].in_multi);
        if (!good) printf("  case %zu\n", i);
        CHECK((got.error != NULL) == (cases[i].state == AOF_READ_WRONG));
        readingFree(&got);
    }
}

/* Reads `text` followed by `zeros` zero bytes. */
static reading readWithZeros(const char *text, size_t zeros, size_t from) {
    sds bytes = sdsNew(text);
    char *none = zcalloc(1, zeros + 1);
    bytes = sdsCatLen(bytes, none, zeros);
    zfree(none);
    int fd = rdbTestOpen(sdsSlice(bytes));
    sdsFree(bytes);
    reading got = readAll(fd, (off_t)from);
    close(fd);
    return got;
}

TEST(reader_ends_at_zeros) {
    once();
    static const struct {
        const char *text;
        aofReadState state;
        size_t count;
    } cases[] = {
        {"", AOF_READ_SHORT, 0},
        {TAKE, AOF_READ_SHORT, 1},
        {TAKE "*2\r\n$4\r\nTA", AOF_READ_SHORT, 1},
        {TAKE "*2\r\n$4\r\nTAKE\r\n$9000\r\n", AOF_READ_SHORT, 1},
        {TAKE MULTI, AOF_READ_SHORT, 1},
        {TAKE "hello\r\n", AOF_READ_BAD, 1},
    };
    static const size_t zeros[] = {1, 3, 4096, 16383, 16384, 16385, 300000};
    for (size_t i = 0; i < array_len(cases) * array_len(zeros); i++) {
        size_t c = i % array_len(cases), z = zeros[i / array_len(cases)];
        reading got = readWithZeros(cases[c].text, z, 0);
        bool good = CHECK_EQ_INT(got.state, cases[c].state);
        good &= CHECK_EQ_INT(got.count, cases[c].count);
        good &= CHECK_EQ_INT(got.end, cases[c].count * (sizeof(TAKE) - 1));
        good &= CHECK_EQ_INT(got.zeros, cases[c].state == AOF_READ_SHORT ? z : 0);
        if (!good) printf("  case %zu, %zu zeros\n", c, z);
        readingFree(&got);
    }
    /* A snapshot before the commands may end with zeros. */
    reading got = readWithZeros(TAKE, 8, sizeof(TAKE) - 1 + 8);
    CHECK_EQ_INT(got.state, AOF_READ_END);
    readingFree(&got);
}

TEST(reader_says_why_a_file_cannot_be_read) {
    once();
    aofReader *r = aofReaderStart(-1, 0);
    if (!CHECK(r != NULL)) return;
    aofBatch *b = aofReaderNext(r);
    CHECK_EQ_INT(b->state, AOF_READ_FAILED);
    CHECK_EQ_INT(b->error_number, EBADF);
    aofReaderReturn(r, b);
    aofReaderStop(r);
}

/* Main stops the reader: the thread ends where it is. */
TEST(reader_stops_before_the_end) {
    once();
    uint64_t seed = unitRandomSeed();
    log g = randomLog(&seed, 300, 900000);
    int fd = rdbTestOpen(sdsSlice(g.bytes));
    for (int taken = 0; taken < 3; taken++) {
        aofReader *r = aofReaderStart(fd, 0);
        for (int i = 0; CHECK(r != NULL) && i < taken; i++) aofReaderReturn(r, aofReaderNext(r));
        if (r) aofReaderStop(r);
    }
    close(fd);
    logFree(&g);
}
