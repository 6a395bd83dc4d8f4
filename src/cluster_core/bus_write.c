/* bus_write.c -- encodes frames of the cluster bus.
 *
 * Threads     any: there is no state.
 * Tests       tests/unit/cluster_core/bus_frame_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_frame.h"

#include "bus_bytes.h"
#include "panic.h"

/* Appends zero bytes and returns where they begin. */
static uint8_t *append(sds *out, size_t len) {
    size_t at = sdsLen(*out);
    *out = sdsGrowZero(*out, at + len);
    return (uint8_t *)*out + at;
}

static void addToCount(sds frame, size_t at) {
    unsigned count = loadBe16(frame + at);
    serverAssert(count < UINT16_MAX);
    storeBe16(frame + at, (uint16_t)(count + 1));
}

sds busBegin(sds out, busType type, const busHeader *h) {
    debugAssert(sdsLen(out) == 0);
    uint8_t *p = append(&out, BUS_HEADER_BYTES);
    memcpy(p, BUS_SIGNATURE, 4);
    storeBe16(p + AT_VERSION, BUS_VERSION);
    storeBe16(p + AT_PORT, h->port);
    storeBe16(p + AT_TYPE, (uint16_t)type);
    storeBe64(p + AT_CURRENT_EPOCH, h->current_epoch);
    storeBe64(p + AT_CONFIG_EPOCH, h->config_epoch);
    storeBe64(p + AT_OFFSET, h->offset);
    memcpy(p + AT_SENDER, &h->sender, NODE_ID_LEN);
    memcpy(p + AT_SLOTS, &h->slots, sizeof(h->slots));
    memcpy(p + AT_PRIMARY, &h->primary, NODE_ID_LEN);
    memcpy(p + AT_IP, h->ip, NODE_IP_LEN);
    storeBe16(p + AT_OTHER_PORT, h->other_port);
    storeBe16(p + AT_BUS_PORT, h->bus_port);
    storeBe16(p + AT_FLAGS, h->flags);
    p[AT_STATE] = h->state;
    p[AT_MARKS] = h->marks;
    return out;
}

sds busAddGossip(sds out, const busGossip *entry) {
    debugAssert(loadBe16(out + AT_EXTENSIONS) == 0);
    uint8_t *p = append(&out, BUS_GOSSIP_BYTES);
    memcpy(p, &entry->id, NODE_ID_LEN);
    storeBe32(p + 40, entry->ping_sent_s);
    storeBe32(p + 44, entry->pong_received_s);
    memcpy(p + 48, entry->ip, NODE_IP_LEN);
    storeBe16(p + 94, entry->port);
    storeBe16(p + 96, entry->bus_port);
    storeBe16(p + 98, entry->flags);
    storeBe16(p + 100, entry->other_port);
    addToCount(out, AT_GOSSIP);
    return out;
}

/* --- extensions ------------------------------------------------------------------------------------------------- */

/* Appends the head of an extension with that much data, and returns where the data begin. */
static uint8_t *beginExtension(sds *out, uint16_t type, size_t len) {
    size_t padded = EXTENSION_HEAD + (len + 7) / 8 * 8;
    uint8_t *p = append(out, padded);
    storeBe32(p, (uint32_t)padded);
    storeBe16(p + 4, type);
    addToCount(*out, AT_EXTENSIONS);
    return p + EXTENSION_HEAD;
}

static sds addText(sds out, uint16_t type, slice text) {
    if (text.len) memcpy(beginExtension(&out, type, text.len + 1), text.ptr, text.len);
    return out;
}

static sds addPort(sds out, uint16_t type, uint16_t port) {
    if (port) storeBe16(beginExtension(&out, type, 2), port);
    return out;
}

sds busAddExtensions(sds out, const busExtensions *e) {
    out = addText(out, EXT_HOSTNAME, e->hostname);
    out = addText(out, EXT_HUMAN_NAME, e->human_name);
    out = addText(out, EXT_CLIENT_IPV4, e->client_ipv4);
    out = addText(out, EXT_CLIENT_IPV6, e->client_ipv6);
    out = addPort(out, EXT_CLIENT_PORT, e->client_port);
    out = addPort(out, EXT_CLIENT_TLS_PORT, e->client_tls_port);
    out = addText(out, EXT_ZONE, e->zone);
    for (size_t i = 0; i < e->forgotten_count; i++) {
        uint8_t *p = beginExtension(&out, EXT_FORGOTTEN, NODE_ID_LEN + 8);
        memcpy(p, &e->forgotten[i].id, NODE_ID_LEN);
        storeBe64(p + NODE_ID_LEN, e->forgotten[i].left_s);
    }
    if (!nodeIdIsNone(&e->shard)) memcpy(beginExtension(&out, EXT_SHARD, NODE_ID_LEN), &e->shard, NODE_ID_LEN);
    return out;
}

/* --- bodies ----------------------------------------------------------------------------------------------------- */

sds busAddSubject(sds out, const nodeId *failed) { return sdsCatLen(out, failed, NODE_ID_LEN); }

sds busAddUpdate(sds out, uint64_t epoch, const nodeId *node, const slotSet *slots) {
    uint8_t *p = append(&out, UPDATE_BYTES);
    storeBe64(p, epoch);
    memcpy(p + 8, node, NODE_ID_LEN);
    memcpy(p + 8 + NODE_ID_LEN, slots, sizeof(*slots));
    return out;
}

sds busAddPublish(sds out, slice channel, slice message) {
    uint8_t *p = append(&out, 8);
    storeBe32(p, (uint32_t)channel.len);
    storeBe32(p + 4, (uint32_t)message.len);
    return sdsCatSlice(sdsCatSlice(out, channel), message);
}

sds busAddModule(sds out, uint64_t module_id, uint8_t type, slice payload) {
    uint8_t *p = append(&out, 13);
    storeLe64(p, module_id);
    storeBe32(p + 8, (uint32_t)payload.len);
    p[12] = type;
    return sdsCatSlice(out, payload);
}

void busEnd(sds frame) {
    serverAssert(sdsLen(frame) <= UINT32_MAX);
    storeBe32(frame + AT_LENGTH, (uint32_t)sdsLen(frame));
}

static sds beginLight(busType type) {
    sds out = sdsEmpty();
    uint8_t *p = append(&out, BUS_HEAD_BYTES);
    memcpy(p, BUS_SIGNATURE, 4);
    storeBe16(p + AT_VERSION, BUS_VERSION);
    storeBe16(p + AT_TYPE, (uint16_t)(type | BUS_LIGHT));
    return out;
}

sds busLightPublish(busType type, slice channel, slice message) {
    sds out = busAddPublish(beginLight(type), channel, message);
    busEnd(out);
    return out;
}

sds busLightModule(uint64_t module_id, uint8_t type, slice payload) {
    sds out = busAddModule(beginLight(BUS_MODULE), module_id, type, payload);
    busEnd(out);
    return out;
}
