/* bus_frame_test.c -- frames of the bus: those that Valkey sent, their encoding, and damaged ones.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_frame.h"
#include "bus_vectors.h"
#include "unit.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>

#define FRAME_MAX ((size_t)1 << 20)

static sds unpack(const char *text) {
    sds out = sdsEmpty();
    while (*text) {
        char byte = (char)(hexDigit(text[0]) << 4 | hexDigit(text[1]));
        long times = 1;
        text += 2;
        if (*text == '(') times = strtol(text + 1, (char **)&text, 10), text++;
        for (; times; times--) out = sdsCatLen(out, &byte, 1);
    }
    return out;
}

static sds slotsText(const slotSet *slots) {
    sds out = sdsEmpty();
    unsigned first = 0, last;
    while (slotSetRun(slots, &first, &last)) {
        out = sdsCatPrintf(out, sdsLen(out) ? ",%u-%u" : "%u-%u", first, last);
        first = last + 1;
    }
    return sdsLen(out) ? out : sdsCat(out, "-");
}

static size_t extensionsOf(const busExtensions *e) {
    return (e->hostname.len > 0) + (e->human_name.len > 0) + (e->client_ipv4.len > 0) + (e->client_ipv6.len > 0) +
           (e->zone.len > 0) + (e->client_port > 0) + (e->client_tls_port > 0) + !nodeIdIsNone(&e->shard) +
           e->forgotten_count;
}

/* Returns in one line what a frame says. */
static sds describe(const busFrame *f) {
    const busHeader *h = &f->header;
    if (f->light) return sdsCatPrintf(sdsEmpty(), "%s light", busTypeName(f->type));
    sds slots = slotsText(&h->slots);
    sds out =
        sdsCatPrintf(sdsEmpty(),
                     "%s gossip=%zu ext=%zu port=%u/%u/%u epochs=%llu/%llu offset=%llu flags=%x state=%u marks=%02x "
                     "slots=%s primary=%.*s",
                     busTypeName(f->type), f->gossip_count, extensionsOf(&f->extensions), h->port, h->other_port,
                     h->bus_port, (unsigned long long)h->current_epoch, (unsigned long long)h->config_epoch,
                     (unsigned long long)h->offset, h->flags, h->state, h->marks, slots,
                     nodeIdIsNone(&h->primary) ? 1 : NODE_ID_LEN, nodeIdIsNone(&h->primary) ? "-" : h->primary.text);
    sdsFree(slots);
    return out;
}

/* Encodes a frame that was decoded. */
static sds encode(const busFrame *f) {
    if (f->light)
        return f->type == BUS_MODULE ? busLightModule(f->module_id, f->module_type, f->payload)
                                     : busLightPublish(f->type, f->channel, f->message);
    sds out = busBegin(sdsEmpty(), f->type, &f->header);
    for (size_t i = 0; i < f->gossip_count; i++) {
        busGossip g = busGossipAt(f, i);
        out = busAddGossip(out, &g);
    }
    switch (f->type) {
    case BUS_FAIL: out = busAddSubject(out, &f->subject); break;
    case BUS_UPDATE: out = busAddUpdate(out, f->subject_epoch, &f->subject, &f->subject_slots); break;
    case BUS_PUBLISH:
    case BUS_PUBLISH_SHARD: out = busAddPublish(out, f->channel, f->message); break;
    case BUS_MODULE: out = busAddModule(out, f->module_id, f->module_type, f->payload); break;
    default: out = busAddExtensions(out, &f->extensions); break;
    }
    busEnd(out);
    return out;
}

TEST(bus_frames_of_valkey_are_decoded_and_encoded_alike) {
    for (size_t i = 0; i < array_len(bus_vectors); i++) {
        const busVector *v = &bus_vectors[i];
        sds bytes = unpack(v->bytes);
        char why[200] = "";
        static busFrame f;
        CHECK_EQ_INT(busFrameLength((uint8_t *)bytes, FRAME_MAX), sdsLen(bytes));
        if (CHECK(busFrameRead(sdsSlice(bytes), &f, why, sizeof(why)) == BUS_READ)) {
            sds says = describe(&f), again = encode(&f);
            CHECK_EQ_STR(says, v->says);
            if (CHECK_EQ_INT(sdsLen(again), sdsLen(bytes))) CHECK_MEM(again, bytes, sdsLen(bytes));
            sdsFree(says);
            sdsFree(again);
        } else {
            printf("%s: %s\n", v->name, why);
        }
        sdsFree(bytes);
    }
}

/* ---- Damaged frames ---- */

static const busVector *vectorNamed(const char *name) {
    for (size_t i = 0; i < array_len(bus_vectors); i++)
        if (!strcmp(bus_vectors[i].name, name)) return &bus_vectors[i];
    return NULL;
}

/* Decodes a copy that ends where its allocation ends, so that a sanitizer sees each byte that is read beyond it. */
static busVerdict readExact(sds bytes, size_t len, char *why, size_t size) {
    static busFrame f;
    char *copy = zmalloc(len);
    memcpy(copy, bytes, len);
    busVerdict verdict = busFrameRead(sliceOf(copy, len), &f, why, size);
    for (size_t i = 0; verdict == BUS_READ && i < f.gossip_count; i++) busGossipAt(&f, i);
    zfree(copy);
    return verdict;
}

/* Returns what the log says of a frame in which `len` bytes at `at` were replaced. */
static const char *saysOf(const char *name, size_t at, const void *bytes, size_t len) {
    static char why[200];
    sds frame = unpack(vectorNamed(name)->bytes);
    memcpy(frame + at, bytes, len);
    busVerdict verdict = readExact(frame, sdsLen(frame), why, sizeof(why));
    sdsFree(frame);
    return verdict == BUS_IGNORED ? why : verdict == BUS_READ ? "read" : "other version";
}

TEST(bus_frames_that_do_not_fit_are_ignored_with_valkeys_words) {
    CHECK_EQ_STR(saysOf("bus-ping-all-ext", 14, "\xff\xff", 2),
                 "Received invalid ping packet with gossip count 65535 that exceeds total packet length (2744)");
    CHECK_EQ_STR(saysOf("bus-ping-all-ext", 2214, "\0\x09", 2),
                 "Received invalid ping packet with extension data that exceeds total packet length (2744)");
    CHECK_EQ_STR(saysOf("bus-pong-empty", 2256, "\xff\xff\xff\xf8", 4),
                 "Received invalid pong packet with extension data that exceeds total packet length (2304)");
    CHECK_EQ_STR(saysOf("bus-pong-empty", 2256, "\0\0\0\x29", 4),
                 "Received a pong packet without proper padding (41 bytes)");
    CHECK_EQ_STR(saysOf("bus-pong-empty", 2253, "\0", 1),
                 "Received invalid pong packet of length 2304 but expected length 2256");
    CHECK_EQ_STR(saysOf("bus-publish-light", 16, "\xff\xff\xff\xff\xff\xff\xff\xff", 8),
                 "Received invalid publish packet with message length that exceeds total packet length (33)");
    CHECK_EQ_STR(saysOf("bus-publish-light", 20, "\xff\xff\xff\xfc", 4),
                 "Received invalid publish packet with message length that exceeds total packet length (33)");
    CHECK_EQ_STR(saysOf("bus-publish-light", 20, "\0\0\0\4", 4),
                 "Received invalid publish packet of length 33 but expected length 32");
    CHECK_EQ_STR(saysOf("bus-mfstart", 12, "\0\x0b", 2), "Received unknown packet type: 11");
    CHECK_EQ_STR(saysOf("bus-publish-light", 12, "\x80\0", 2), "Received unknown packet type: 0");
    CHECK_EQ_STR(saysOf("bus-mfstart", 12, "\0\3", 2),
                 "Received invalid fail packet of length 2256 but expected length 2296");
    CHECK_EQ_STR(saysOf("bus-mfstart", 8, "\0\2", 2), "other version");
}

/* Valkey 9.1 reads beyond such a frame: the next bytes of its memory become a name of the node. */
TEST(bus_frames_whose_texts_do_not_end_are_ignored) {
    static const char bare[] = "\0\0\0\x08\0\0\0\0\0\0\0\x28\0\x03\0\0";
    CHECK_EQ_STR(saysOf("bus-ping-all-ext", 2256 + 3 * 104, "\0\0\0\x08", 4),
                 "Received invalid ping packet: extension 0 of 8 bytes is malformed");
    CHECK_EQ_STR(saysOf("bus-ping-all-ext", 2256 + 3 * 104 + 8, "0123456789abcdef", 16),
                 "Received invalid ping packet: extension 0 of 24 bytes is malformed");
    CHECK_EQ_STR(saysOf("bus-ping-all-ext", 2256 + 3 * 104 + 8, "a b", 3),
                 "Received invalid ping packet: extension 0 of 24 bytes is malformed");
    CHECK_EQ_STR(saysOf("bus-pong-empty", 2256, bare, sizeof(bare) - 1),
                 "Received invalid pong packet: extension 0 of 8 bytes is malformed");
    CHECK_EQ_STR(saysOf("bus-mfstart", 40, "\n", 1),
                 "Received invalid mfstart packet with a malformed node ID or address");
    CHECK_EQ_STR(saysOf("bus-mfstart", 2168, "1111111111111111111111111111111111111111111111", 46),
                 "Received invalid mfstart packet with a malformed node ID or address");
}

TEST(bus_gossip_with_an_invalid_id_is_left_as_a_whole) {
    sds frame = unpack(vectorNamed("bus-ping-all-ext")->bytes);
    static busFrame f;
    char why[200];
    frame[2256 + 104] = 'A';
    CHECK(busFrameRead(sdsSlice(frame), &f, why, sizeof(why)) == BUS_READ);
    CHECK_EQ_INT(f.gossip_count, 0);
    CHECK_EQ_INT(f.gossip_invalid, 1);
    CHECK_EQ_INT(extensionsOf(&f.extensions), 8);
    sdsFree(frame);
}

TEST(bus_lengths_out_of_bounds_close_the_link) {
    sds frame = unpack(vectorNamed("bus-mfstart")->bytes);
    static const struct {
        const char *length;
        size_t wanted;
    } lengths[] = {{"\0\0\x08\xcf", 0},
                   {"\0\0\x08\xd0", 2256},
                   {"\0\x10\0\0", FRAME_MAX},
                   {"\0\x10\0\1", 0},
                   {"\xff\xff\xff\xff", 0}};
    for (size_t i = 0; i < array_len(lengths); i++) {
        memcpy(frame + 4, lengths[i].length, 4);
        CHECK_EQ_INT(busFrameLength((uint8_t *)frame, FRAME_MAX), lengths[i].wanted);
    }
    memcpy(frame + 4, "\0\0\0\x10", 4);
    frame[12] = (char)0x80;
    CHECK_EQ_INT(busFrameLength((uint8_t *)frame, FRAME_MAX), 16);
    frame[0] = 'r';
    CHECK_EQ_INT(busFrameLength((uint8_t *)frame, FRAME_MAX), 0);
    sdsFree(frame);
}

/* Each frame is cut at each length, and each byte but those of the slots changed: nothing is read out of bounds. */
TEST(bus_frames_cut_and_changed_anywhere) {
    char why[200];
    uint64_t rng = unitRandomSeed();
    for (size_t i = 0; i < array_len(bus_vectors); i++) {
        sds frame = unpack(bus_vectors[i].bytes);
        size_t least = (uint8_t)frame[12] & 0x80 ? BUS_HEAD_BYTES : BUS_HEADER_BYTES;
        for (size_t len = least; len < sdsLen(frame); len++) readExact(frame, len, why, sizeof(why));
        for (size_t at = 8; at < sdsLen(frame); at += at == 79 ? (size_t)CLUSTER_SLOTS / 8 + 1 : 1) {
            char old = frame[at];
            frame[at] = (char)unitRandom(&rng);
            if (!((uint8_t)frame[12] & 0x80) || least == BUS_HEAD_BYTES)
                readExact(frame, sdsLen(frame), why, sizeof(why));
            frame[at] = old;
        }
        sdsFree(frame);
    }
}
