/* bus_frame_fuzz.c -- feeds any bytes as a frame of the cluster bus: it is ignored, or all that it says can be used.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_frame.h"
#include "panic.h"
#include "zmalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void useText(slice text) {
    for (size_t i = 0; i < text.len; i++) serverAssert(text.ptr[i] > ' ');
}

static void useFrame(const busFrame *f) {
    const busExtensions *e = &f->extensions;
    for (size_t i = 0; i < f->gossip_count; i++) {
        busGossip g = busGossipAt(f, i);
        serverAssert(nodeIdIsValid(&g.id));
        useText(sliceStr(g.ip));
    }
    useText(e->hostname), useText(e->human_name), useText(e->client_ipv4), useText(e->client_ipv6), useText(e->zone);
    useText(sliceStr(f->header.ip));
    serverAssert(e->forgotten_count <= BUS_FORGOTTEN_MAX);
    for (size_t i = 0; i < e->forgotten_count; i++) serverAssert(nodeIdIsValid(&e->forgotten[i].id));
    serverAssert(nodeIdIsNone(&e->shard) || nodeIdIsValid(&e->shard));
    volatile char sum = 0;
    for (size_t i = 0; i < f->message.len; i++) sum = (char)(sum + f->message.ptr[i]);
    for (size_t i = 0; i < f->payload.len; i++) sum = (char)(sum + f->payload.ptr[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static busFrame frame;
    char why[160];
    if (size < BUS_HEAD_BYTES) return 0;
    char *copy = zmalloc(size);
    memcpy(copy, data, size);
    /* Its length is that of the input: nearly all others would be a wrong length. */
    copy[4] = (char)(size >> 24), copy[5] = (char)(size >> 16), copy[6] = (char)(size >> 8), copy[7] = (char)size;
    size_t length = busFrameLength((uint8_t *)copy, (size_t)1 << 24);
    serverAssert(length == 0 || length == size);
    if (length && busFrameRead(sliceOf(copy, size), &frame, why, sizeof(why)) == BUS_READ) useFrame(&frame);
    zfree(copy);
    return 0;
}
