/* bus_output_test.c -- the order in which frames of a link are written, in pieces, and the memory that they take.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_output.h"
#include "unit.h"
#include "zmalloc.h"

#include <string.h>

static frameBlock *blockOf(sds bytes) {
    frameBlock *b = zmalloc(sizeof(*b));
    *b = (frameBlock){.references = 1, .bytes = bytes};
    return b;
}

static frameBlock *ping(uint16_t port) {
    busHeader header = {.flags = NODE_PRIMARY, .port = port};
    memset(header.sender.text, 'a', NODE_ID_LEN);
    sds frame = busBegin(sdsEmpty(), BUS_PING, &header);
    busEnd(frame);
    return blockOf(frame);
}

static frameBlock *message(size_t len, char fill) {
    sds text = sdsNewLen(NULL, len);
    memset(text, fill, len);
    frameBlock *b = blockOf(busLightPublish(BUS_PUBLISH, sliceStr("c"), sdsSlice(text)));
    sdsFree(text);
    return b;
}

/* Writes up to `max` bytes, and appends them to *out. Returns their number. */
static size_t writeSome(busOutput *o, size_t max, sds *out, busStats *stats) {
    struct iovec pieces[4];
    int n = busOutputPieces(o, pieces, 4);
    size_t done = 0;
    for (int i = 0; i < n && done < max; i++) {
        size_t take = pieces[i].iov_len < max - done ? pieces[i].iov_len : max - done;
        *out = sdsCatLen(*out, pieces[i].iov_base, take);
        done += take;
    }
    if (done) busOutputWritten(o, done, stats);
    return done;
}

TEST(bus_output_pings_go_ahead_of_messages) {
    busOutput o = {0};
    busStats stats = {0};
    sds out = sdsEmpty();
    for (int i = 0; i < 100; i++) busOutputAddTake(&o, message(10000, (char)('a' + i % 26)));
    writeSome(&o, 5000, &out, &stats); /* the first message has begun */
    busOutputAddTake(&o, ping(1));
    busOutputAddTake(&o, ping(2));
    while (writeSome(&o, 7777, &out, &stats)) continue;
    size_t first_ping = 0, frames = 0, port = 0;
    char fill = 'a' - 1;
    for (const char *p = out; p < out + sdsLen(out); p += busFrameLength((const uint8_t *)p, SIZE_MAX), frames++) {
        if (busTypeOf(p) == BUS_PING) {
            if (!first_ping) first_ping = frames;
            CHECK_EQ_INT(loadBe16(p + AT_PORT), ++port);
        } else {
            fill = fill == 'z' ? 'a' : (char)(fill + 1);
            CHECK_EQ_INT(p[30], fill);
        }
    }
    CHECK_EQ_INT(frames, 102);
    CHECK(first_ping > 0 && first_ping <= BUS_BEGUN_BYTES / 10000 + 2);
    CHECK_EQ_INT(atomic_load(&stats.sent[BUS_PING]), 2);
    CHECK_EQ_INT(atomic_load(&stats.sent[BUS_PUBLISH]), 100);
    CHECK_EQ_INT(atomic_load(&stats.bytes_sent), sdsLen(out));
    CHECK_EQ_INT(atomic_load(&stats.pubsub_bytes_sent), sdsLen(out) - 2 * BUS_HEADER_BYTES);
    CHECK_EQ_INT(busOutputBytes(&o), 0);
    busOutputFree(&o);
    sdsFree(out);
}

TEST(bus_output_pieces_begin_with_the_same_bytes_until_written) {
    busOutput o = {0};
    busStats stats = {0};
    sds before = sdsEmpty(), after = sdsEmpty();
    struct iovec pieces[32];
    for (int i = 0; i < 20; i++) busOutputAddTake(&o, message(5000, 'm'));
    int n = busOutputPieces(&o, pieces, 32);
    for (int i = 0; i < n; i++) before = sdsCatLen(before, pieces[i].iov_base, pieces[i].iov_len);
    busOutputAddTake(&o, ping(1));
    n = busOutputPieces(&o, pieces, 32);
    for (int i = 0; i < n; i++) after = sdsCatLen(after, pieces[i].iov_base, pieces[i].iov_len);
    CHECK(sdsLen(after) >= sdsLen(before) && !memcmp(before, after, sdsLen(before)));
    busOutputFree(&o);
    sdsFree(before), sdsFree(after);
    unused(stats);
}

TEST(bus_output_shares_blocks_and_frees_them_when_sent) {
    busOutput a = {0}, b = {0};
    busStats stats = {0};
    sds out = sdsEmpty();
    frameBlock *block = message(100000, 'x');
    block->references = 3;
    int64_t before = zmallocThreadHeld();
    busOutputAddTake(&a, block);
    busOutputAddTake(&b, block);
    CHECK(zmallocThreadHeld() - before < 1000);
    CHECK_EQ_INT(busOutputBytes(&a), sdsLen(block->bytes));
    CHECK_EQ_INT(busOutputMessageBytes(&a), sdsLen(block->bytes));
    CHECK(busOutputMemory(&a) > sdsLen(block->bytes));
    while (writeSome(&a, 30000, &out, &stats)) continue;
    CHECK_EQ_INT(block->references, 2);
    busOutputFree(&b);
    CHECK_EQ_INT(block->references, 1);
    frameBlockRelease(block);
    busOutputFree(&a);
    sdsFree(out);
}

TEST(bus_output_gives_memory_of_a_burst_back) {
    busOutput o = {0};
    busStats stats = {0};
    sds out = sdsEmpty();
    int64_t before = zmallocThreadHeld();
    for (int i = 0; i < 10000; i++) busOutputAddTake(&o, message(10, 'x'));
    CHECK(busOutputMemory(&o) > 10000 * 34);
    while (writeSome(&o, 100000, &out, &stats)) sdsClear(out);
    CHECK_EQ_INT(busOutputBytes(&o), 0);
    CHECK(busOutputMemory(&o) < 1000);
    CHECK_EQ_INT(atomic_load(&stats.sent[BUS_PUBLISH]), 10000);
    busOutputFree(&o);
    sdsFree(out);
    CHECK(zmallocThreadHeld() - before < 1000);
}
