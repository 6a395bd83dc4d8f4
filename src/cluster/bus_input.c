/* bus_input.c -- bytes of a link, as they arrive, to whole frames.
 *
 *     bytes:  | frames that were returned | the frame that arrives    | free |
 *             0                           used                        length
 *
 * Not here    what a frame says (cluster_core/bus_read.c); sockets.
 * Owns        the buffer.
 * Threads     one owner at a time.
 * Invariants  1. After busInputNext() has returned MORE, `used` is 0: the buffer begins with the frame that arrives.
 *             2. The buffer is NULL while no byte is left.
 * Cost        a buffer of BUS_INPUT_MIN bytes is allocated for a read that finds none, and freed after the last frame.
 *             A long frame is copied as its buffer doubles.
 * Tests       tests/unit/cluster/bus_input_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_input.h"

#include "zmalloc.h"

/* From here on the memory is reserved first: lack of it must not end the process because of what a peer sends. */
#define RESERVE_FROM (1024 * 1024)
#define READ_MAX (256 * 1024) /* bytes of one read: the thread serves other links as well */

size_t busInputReserve(busInput *in, char **at) {
    if (!in->bytes) in->bytes = sdsEmpty();
    size_t have = sdsLen(in->bytes), left = sdsAvail(in->bytes), more = left;
    if (have < BUS_INPUT_MIN) more = BUS_INPUT_MIN - have;
    else if (left == 0) more = in->wanted - have < have ? in->wanted - have : have;
    if (left < more) {
        size_t reserved = zmallocReserved();
        bool is_long = have + more >= RESERVE_FROM;
        if (is_long && !zmallocReserve(have + more)) return 0;
        in->bytes = sdsMakeRoomForNonGreedy(in->bytes, more);
        if (is_long) zmallocUnreserve(reserved);
    }
    *at = in->bytes + have;
    return more < READ_MAX ? more : READ_MAX;
}

void busInputAdd(busInput *in, size_t n) {
    sdsIncrLen(in->bytes, (ptrdiff_t)n);
    if (sdsLen(in->bytes) == 0) busInputFree(in);
}

/* Drops the frames that were returned, and a buffer that is too large for what is left. */
static void compact(busInput *in) {
    if (in->used == 0) return;
    size_t left = sdsLen(in->bytes) - in->used;
    bool is_large = left + sdsAvail(in->bytes) + in->used > (left > BUS_INPUT_MIN ? 2 * left : 2 * BUS_INPUT_MIN);
    if (left == 0) {
        busInputFree(in);
        return;
    }
    if (is_large) {
        sds rest = sdsNewLen(in->bytes + in->used, left);
        sdsFree(in->bytes);
        in->bytes = rest;
    } else {
        sdsRange(in->bytes, (ptrdiff_t)in->used, -1);
    }
    in->used = in->frame = 0;
}

busInputState busInputNext(busInput *in, size_t max, slice *frame) {
    size_t have = in->bytes ? sdsLen(in->bytes) - in->used : 0;
    if (in->wanted == 0 && have >= BUS_HEAD_BYTES) {
        in->wanted = busFrameLength((const uint8_t *)in->bytes + in->used, max);
        if (in->wanted == 0) return BUS_INPUT_BAD;
    }
    if (in->wanted == 0 || have < in->wanted) {
        compact(in);
        return BUS_INPUT_MORE;
    }
    *frame = sliceOf(in->bytes + in->used, in->wanted);
    in->used += in->wanted;
    in->frame = in->wanted;
    in->wanted = 0;
    return BUS_INPUT_FRAME;
}

sds busInputTake(busInput *in) {
    size_t start = in->used - in->frame;
    bool is_small = sdsAllocSize(in->bytes) > 2 * in->frame; /* a copy takes less memory than the buffer */
    if (start > 0 || in->used < sdsLen(in->bytes) || is_small) return sdsNewLen(in->bytes + start, in->frame);
    sds taken = in->bytes;
    *in = (busInput){0};
    return taken;
}

size_t busInputMemory(const busInput *in) { return in->bytes ? sdsAllocSize(in->bytes) : 0; }

void busInputFree(busInput *in) {
    sdsFree(in->bytes);
    *in = (busInput){0};
}
