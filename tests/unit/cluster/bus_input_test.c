/* bus_input_test.c -- frames from bytes in pieces of any size, and the memory that they take.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_input.h"
#include "unit.h"

#include <string.h>

#define MAX (8 * 1024 * 1024)

static sds ping(void) {
    busHeader header = {.flags = NODE_PRIMARY, .port = 7000};
    memset(header.sender.text, 'a', NODE_ID_LEN);
    sds frame = busBegin(sdsEmpty(), BUS_PING, &header);
    busEnd(frame);
    return frame;
}

static sds message(size_t len, char fill) {
    sds text = sdsNewLen(NULL, len);
    memset(text, fill, len);
    sds frame = busLightPublish(BUS_PUBLISH, sliceStr("channel"), sdsSlice(text));
    sdsFree(text);
    return frame;
}

/* Adds bytes as a socket would, whose reads have at most `piece` bytes. Returns the number of frames, of which each is
 * appended to *frames. The memory must follow the bytes that have arrived. */
static int feed(busInput *in, slice bytes, size_t piece, sds *frames, busInputState *last) {
    int count = 0;
    while (bytes.len) {
        char *at;
        slice frame;
        size_t space = busInputReserve(in, &at), n = piece < bytes.len ? piece : bytes.len;
        CHECK(space > 0);
        if (n > space) n = space;
        memcpy(at, bytes.ptr, n);
        busInputAdd(in, n);
        bytes = sliceOf(bytes.ptr + n, bytes.len - n);
        while ((*last = busInputNext(in, MAX, &frame)) == BUS_INPUT_FRAME) {
            *frames = sdsCatSlice(*frames, frame);
            count++;
        }
        if (*last == BUS_INPUT_BAD) break;
        size_t kept = in->bytes ? sdsLen(in->bytes) : 0, limit = 2 * kept + 64;
        if (limit < 2 * BUS_INPUT_MIN) limit = 2 * BUS_INPUT_MIN;
        if (busInputMemory(in) > limit + limit / 4) CHECK_EQ_INT(busInputMemory(in), limit);
    }
    return count;
}

TEST(bus_input_finds_frames_at_every_split) {
    sds one = ping(), two = message(300, 'x'), all = sdsCatSlice(sdsDup(one), sdsSlice(two));
    all = sdsCatSlice(all, sdsSlice(one));
    for (size_t i = 0; i <= sdsLen(all); i++) {
        busInput in = {0};
        sds frames = sdsEmpty();
        busInputState last;
        int count = feed(&in, sliceOf(all, i), i + 1, &frames, &last);
        count += feed(&in, sliceOf(all + i, sdsLen(all) - i), sdsLen(all), &frames, &last);
        if (count != 3 || sdsCmp(frames, all) != 0) CHECK_EQ_INT(i, -1);
        CHECK_EQ_INT(busInputMemory(&in), 0);
        sdsFree(frames);
    }
    sdsFree(one), sdsFree(two), sdsFree(all);
}

TEST(bus_input_finds_frames_in_pieces_of_random_size) {
    uint64_t seed = unitRandomSeed();
    for (int run = 0; run < 30; run++) {
        sds all = sdsEmpty(), frames = sdsEmpty();
        int count = 0, found = 0;
        for (; count < 12; count++) {
            size_t scale = (size_t)1 << unitRandom(&seed) % 20;
            sds frame = unitRandom(&seed) % 2 ? ping() : message(unitRandom(&seed) % scale, (char)('a' + count));
            all = sdsCatSlice(all, sdsSlice(frame));
            sdsFree(frame);
        }
        busInput in = {0};
        busInputState last = BUS_INPUT_MORE;
        for (size_t at = 0; at < sdsLen(all);) {
            size_t n = 1 + unitRandom(&seed) % ((size_t)1 << unitRandom(&seed) % 20);
            if (n > sdsLen(all) - at) n = sdsLen(all) - at;
            found += feed(&in, sliceOf(all + at, n), n, &frames, &last);
            at += n;
        }
        CHECK_EQ_INT(found, count);
        CHECK(sdsCmp(frames, all) == 0);
        CHECK_EQ_INT(last, BUS_INPUT_MORE);
        CHECK_EQ_INT(busInputMemory(&in), 0);
        sdsFree(all), sdsFree(frames);
    }
}

TEST(bus_input_does_not_allocate_what_is_announced) {
    busInput in = {0};
    uint8_t head[BUS_HEAD_BYTES] = {'R', 'C', 'm', 'b', 0, 0x7f, 0xff, 0xff, 0, 1, 0, 0, 0, 4};
    sds frames = sdsEmpty();
    busInputState last;
    CHECK_EQ_INT(feed(&in, sliceOf(head, sizeof(head)), 16, &frames, &last), 0);
    CHECK_EQ_INT(last, BUS_INPUT_MORE);
    CHECK(busInputMemory(&in) <= 2 * BUS_INPUT_MIN);
    busInputFree(&in);
    sdsFree(frames);
}

TEST(bus_input_refuses_what_is_no_frame) {
    static const char *const bad[] = {"RCmb\xff\xff\xff\xff\0\1\0\0\0\4\0\0", "GET / HTTP/1.1\r\n",
                                      "RCmb\0\0\0\x10\0\1\0\0\0\0\0\0"};
    sds good = ping();
    for (size_t i = 0; i < array_len(bad); i++) {
        busInput in = {0};
        sds frames = sdsEmpty(), bytes = sdsCatLen(sdsDup(good), bad[i], BUS_HEAD_BYTES);
        busInputState last;
        CHECK_EQ_INT(feed(&in, sdsSlice(bytes), sdsLen(bytes), &frames, &last), 1);
        CHECK_EQ_INT(last, BUS_INPUT_BAD);
        busInputFree(&in);
        sdsFree(frames), sdsFree(bytes);
    }
    sdsFree(good);
}

TEST(bus_input_gives_a_frame_away) {
    sds one = message(40000, 'x'), two = ping(), both = sdsCatSlice(sdsDup(two), sdsSlice(one));
    busInput in = {0};
    slice frame;
    char *at;
    for (size_t done = 0; done < sdsLen(both);) {
        size_t n = busInputReserve(&in, &at);
        if (n > sdsLen(both) - done) n = sdsLen(both) - done;
        memcpy(at, both + done, n);
        busInputAdd(&in, n);
        done += n;
        if (done < sdsLen(both)) continue;
    }
    CHECK_EQ_INT(busInputNext(&in, MAX, &frame), BUS_INPUT_FRAME);
    sds copy = busInputTake(&in); /* another frame follows it */
    CHECK(copy != frame.ptr && sdsCmp(copy, two) == 0);
    CHECK_EQ_INT(busInputNext(&in, MAX, &frame), BUS_INPUT_FRAME);
    CHECK(sliceEq(frame, sdsSlice(one)));
    CHECK_EQ_INT(busInputNext(&in, MAX, &frame), BUS_INPUT_MORE);
    sdsFree(copy);
    for (size_t done = 0; done < sdsLen(one);) {
        size_t n = busInputReserve(&in, &at);
        if (n > sdsLen(one) - done) n = sdsLen(one) - done;
        memcpy(at, one + done, n);
        busInputAdd(&in, n);
        done += n;
        if (done < sdsLen(one)) CHECK_EQ_INT(busInputNext(&in, MAX, &frame), BUS_INPUT_MORE);
    }
    CHECK_EQ_INT(busInputNext(&in, MAX, &frame), BUS_INPUT_FRAME);
    sds moved = busInputTake(&in); /* nothing follows it */
    CHECK(moved == frame.ptr && sdsCmp(moved, one) == 0);
    CHECK_EQ_INT(busInputNext(&in, MAX, &frame), BUS_INPUT_MORE);
    sdsFree(moved);
    CHECK_EQ_INT(busInputMemory(&in), 0);
    sdsFree(one), sdsFree(two), sdsFree(both);
}
