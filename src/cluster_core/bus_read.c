/* bus_read.c -- decodes frames of the cluster bus.
 *
 * A frame comes from outside. Each length in it is compared with the bytes that are left, never added up; no field is
 * used before the whole frame was checked, so that a frame is taken whole or changes nothing.
 *
 * Not here    whether the sender may send it, and what it means (the machine).
 * Threads     any: there is no state.
 * Invariants  Texts in a result contain only characters that the nodes file and replies can hold.
 * Tests       tests/unit/cluster_core/bus_frame_test.c, tests/fuzz/bus_frame_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_frame.h"

#include "bus_bytes.h"

#include <stdio.h>

static const char *const type_names[BUS_TYPES] = {"ping",     "pong",   "meet",    "fail",   "publish",     "auth-req",
                                                  "auth-ack", "update", "mfstart", "module", "publishshard"};

const char *busTypeName(unsigned type) { return type < BUS_TYPES ? type_names[type] : "unknown"; }

static bool isLightType(unsigned type) {
    return type == BUS_PUBLISH || type == BUS_PUBLISH_SHARD || type == BUS_MODULE;
}

size_t busFrameLength(const uint8_t *head, size_t max) {
    size_t length = loadBe32(head + AT_LENGTH);
    bool light = loadBe16(head + AT_TYPE) & BUS_LIGHT;
    if (memcmp(head, BUS_SIGNATURE, 4) != 0 || length < (light ? BUS_HEAD_BYTES : BUS_HEADER_BYTES)) return 0;
    return length <= max ? length : 0;
}

/* Returns the text before the first NUL, or a text without pointer if there is no NUL or a character is not allowed. */
static slice paddedText(const uint8_t *bytes, size_t len) {
    size_t n = strnlen((const char *)bytes, len);
    slice text = sliceOf(bytes, n);
    return n < len && nodeTextIsPlain(text) ? text : (slice){NULL, 0};
}

static bool takeIp(char out[NODE_IP_LEN], const uint8_t *bytes) {
    slice text = paddedText(bytes, NODE_IP_LEN);
    memset(out, 0, NODE_IP_LEN);
    if (!text.ptr) return false;
    memcpy(out, text.ptr, text.len);
    return true;
}

static bool readHeader(const uint8_t *p, busHeader *h) {
    memcpy(&h->sender, p + AT_SENDER, NODE_ID_LEN);
    memcpy(&h->primary, p + AT_PRIMARY, NODE_ID_LEN);
    memcpy(&h->slots, p + AT_SLOTS, sizeof(h->slots));
    h->current_epoch = loadBe64(p + AT_CURRENT_EPOCH);
    h->config_epoch = loadBe64(p + AT_CONFIG_EPOCH);
    h->offset = loadBe64(p + AT_OFFSET);
    h->flags = loadBe16(p + AT_FLAGS);
    h->port = loadBe16(p + AT_PORT);
    h->other_port = loadBe16(p + AT_OTHER_PORT);
    h->bus_port = loadBe16(p + AT_BUS_PORT);
    h->state = p[AT_STATE];
    h->marks = p[AT_MARKS];
    return takeIp(h->ip, p + AT_IP) && nodeIdIsValid(&h->sender) &&
           (nodeIdIsNone(&h->primary) || nodeIdIsValid(&h->primary));
}

busGossip busGossipAt(const busFrame *frame, size_t i) {
    const uint8_t *p = (const uint8_t *)frame->gossip.ptr + i * BUS_GOSSIP_BYTES;
    busGossip g = {.ping_sent_s = loadBe32(p + 40),
                   .pong_received_s = loadBe32(p + 44),
                   .port = loadBe16(p + 94),
                   .bus_port = loadBe16(p + 96),
                   .flags = loadBe16(p + 98),
                   .other_port = loadBe16(p + 100)};
    memcpy(&g.id, p, NODE_ID_LEN);
    takeIp(g.ip, p + 48);
    return g;
}

/* Counts invalid ids. An address that is no text counts as one: the entry says nothing that can be used. */
static void checkGossip(busFrame *f) {
    char ip[NODE_IP_LEN];
    for (size_t i = 0; i < f->gossip_count; i++) {
        const uint8_t *p = (const uint8_t *)f->gossip.ptr + i * BUS_GOSSIP_BYTES;
        nodeId id;
        memcpy(&id, p, NODE_ID_LEN);
        f->gossip_invalid += !nodeIdIsValid(&id) || !takeIp(ip, p + 48);
    }
    if (f->gossip_invalid) f->gossip_count = 0;
}

/* --- extensions ------------------------------------------------------------------------------------------------- */

static bool takeText(slice *out, const uint8_t *data, size_t len) {
    *out = paddedText(data, len);
    return out->ptr != NULL;
}

static bool takePort(uint16_t *out, const uint8_t *data, size_t len) {
    if (len < 2) return false;
    *out = loadBe16(data);
    return true;
}

static bool takeForgotten(busExtensions *e, const uint8_t *data, size_t len) {
    if (len != NODE_ID_LEN + 8) return false;
    if (e->forgotten_count == BUS_FORGOTTEN_MAX) return true;
    busForgotten *f = &e->forgotten[e->forgotten_count++];
    memcpy(&f->id, data, NODE_ID_LEN);
    f->left_s = loadBe64(data + NODE_ID_LEN);
    return nodeIdIsValid(&f->id);
}

static bool takeShard(nodeId *out, const uint8_t *data, size_t len) {
    if (len != NODE_ID_LEN) return false;
    memcpy(out, data, NODE_ID_LEN);
    return nodeIdIsValid(out);
}

static bool readExtension(busExtensions *e, unsigned type, const uint8_t *data, size_t len) {
    switch (type) {
    case EXT_HOSTNAME: return takeText(&e->hostname, data, len);
    case EXT_HUMAN_NAME: return takeText(&e->human_name, data, len);
    case EXT_CLIENT_IPV4: return takeText(&e->client_ipv4, data, len);
    case EXT_CLIENT_IPV6: return takeText(&e->client_ipv6, data, len);
    case EXT_ZONE: return takeText(&e->zone, data, len);
    case EXT_CLIENT_PORT: return takePort(&e->client_port, data, len);
    case EXT_CLIENT_TLS_PORT: return takePort(&e->client_tls_port, data, len);
    case EXT_FORGOTTEN: return takeForgotten(e, data, len);
    case EXT_SHARD: return takeShard(&e->shard, data, len);
    default:
        e->unknown++;
        e->last_unknown_type = (uint16_t)type;
        return true;
    }
}

static busVerdict ignored(char *why, size_t size, const char *fmt, ...) printf_like(3, 4);
static busVerdict ignored(char *why, size_t size, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, size, fmt, ap);
    va_end(ap);
    return BUS_IGNORED;
}

static busVerdict readExtensions(busFrame *f, const uint8_t *p, size_t left, size_t total, size_t count, char *why,
                                 size_t size) {
    const char *name = busTypeName(f->type);
    for (; count; count--) {
        size_t len = left < EXTENSION_HEAD ? 0 : loadBe32(p);
        if (len < EXTENSION_HEAD || len > left)
            return ignored(why, size,
                           "Received invalid %s packet with extension data that exceeds total packet length (%zu)",
                           name, total);
        if (len % 8 != 0)
            return ignored(why, size, "Received a %s packet without proper padding (%zu bytes)", name, len);
        unsigned type = loadBe16(p + 4);
        if (!readExtension(&f->extensions, type, p + EXTENSION_HEAD, len - EXTENSION_HEAD))
            return ignored(why, size, "Received invalid %s packet: extension %u of %zu bytes is malformed", name, type,
                           len);
        p += len;
        left -= len;
    }
    if (left == 0) return BUS_READ;
    return ignored(why, size, "Received invalid %s packet of length %zu but expected length %zu", name, total,
                   total - left);
}

/* --- bodies ----------------------------------------------------------------------------------------------------- */

static busVerdict readGossipFrame(busFrame *f, const uint8_t *p, size_t total, char *why, size_t size) {
    size_t left = total - BUS_HEADER_BYTES, count = loadBe16(p + AT_GOSSIP), extensions = loadBe16(p + AT_EXTENSIONS);
    if (count > left / BUS_GOSSIP_BYTES)
        return ignored(why, size,
                       "Received invalid %s packet with gossip count %zu that exceeds total packet length (%zu)",
                       busTypeName(f->type), count, total);
    f->gossip = sliceOf(p + BUS_HEADER_BYTES, count * BUS_GOSSIP_BYTES);
    f->gossip_count = count;
    checkGossip(f);
    left -= count * BUS_GOSSIP_BYTES;
    if (!(f->header.marks & BUS_MARK_EXTENSIONS)) extensions = 0;
    return readExtensions(f, p + total - left, left, total, extensions, why, size);
}

static busVerdict readPublish(busFrame *f, const uint8_t *body, size_t left, size_t total, char *why, size_t size) {
    size_t channel = left < 8 ? 0 : loadBe32(body), message = left < 8 ? 0 : loadBe32(body + 4);
    if (left < 8 || channel > left - 8 || message > left - 8 - channel)
        return ignored(why, size,
                       "Received invalid %s packet with message length that exceeds total packet length (%zu)",
                       busTypeName(f->type), total);
    if (message != left - 8 - channel)
        return ignored(why, size, "Received invalid %s packet of length %zu but expected length %zu",
                       busTypeName(f->type), total, total - left + 8 + channel + message);
    f->channel = sliceOf(body + 8, channel);
    f->message = sliceOf(body + 8 + channel, message);
    return BUS_READ;
}

static busVerdict readModule(busFrame *f, const uint8_t *body, size_t left, size_t total, char *why, size_t size) {
    size_t payload = left < 13 ? 0 : loadBe32(body + 8);
    if (left < 13 || payload > left - 13)
        return ignored(why, size,
                       "Received invalid %s packet with module payload length that exceeds total packet length (%zu)",
                       busTypeName(f->type), total);
    if (payload != left - 13)
        return ignored(why, size, "Received invalid %s packet of length %zu but expected length %zu",
                       busTypeName(f->type), total, total - left + 13 + payload);
    f->module_id = loadLe64(body);
    f->module_type = body[12];
    f->payload = sliceOf(body + 13, payload);
    return BUS_READ;
}

/* Reads a body of a length that is known from the type. */
static busVerdict readFixed(busFrame *f, const uint8_t *body, size_t left, size_t total, char *why, size_t size) {
    size_t wanted = f->type == BUS_FAIL ? NODE_ID_LEN : f->type == BUS_UPDATE ? UPDATE_BYTES : 0;
    if (left != wanted)
        return ignored(why, size, "Received invalid %s packet of length %zu but expected length %zu",
                       busTypeName(f->type), total, total - left + wanted);
    if (wanted == 0) return BUS_READ;
    const uint8_t *id = f->type == BUS_FAIL ? body : body + 8;
    memcpy(&f->subject, id, NODE_ID_LEN);
    if (f->type == BUS_UPDATE) {
        f->subject_epoch = loadBe64(body);
        memcpy(&f->subject_slots, body + 8 + NODE_ID_LEN, sizeof(f->subject_slots));
    }
    if (nodeIdIsValid(&f->subject)) return BUS_READ;
    return ignored(why, size, "Received invalid %s packet about a node with an invalid ID", busTypeName(f->type));
}

busVerdict busFrameRead(slice bytes, busFrame *f, char *why, size_t size) {
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    unsigned type = loadBe16(p + AT_TYPE) & ~BUS_LIGHT;
    if (loadBe16(p + AT_VERSION) != BUS_VERSION) return BUS_OTHER_VERSION;
    memset(f, 0, sizeof(*f));
    f->light = loadBe16(p + AT_TYPE) & BUS_LIGHT;
    if (type >= BUS_TYPES || (f->light && !isLightType(type)))
        return ignored(why, size, "Received unknown packet type: %u", type);
    f->type = type;
    if (!f->light && !readHeader(p, &f->header))
        return ignored(why, size, "Received invalid %s packet with a malformed node ID or address", busTypeName(type));
    size_t head = f->light ? BUS_HEAD_BYTES : BUS_HEADER_BYTES;
    switch (f->type) {
    case BUS_PING:
    case BUS_PONG:
    case BUS_MEET: return readGossipFrame(f, p, bytes.len, why, size);
    case BUS_PUBLISH:
    case BUS_PUBLISH_SHARD: return readPublish(f, p + head, bytes.len - head, bytes.len, why, size);
    case BUS_MODULE: return readModule(f, p + head, bytes.len - head, bytes.len, why, size);
    case BUS_FAIL:
    case BUS_UPDATE:
    case BUS_VOTE_REQUEST:
    case BUS_VOTE:
    case BUS_FAILOVER_START: return readFixed(f, p + head, bytes.len - head, bytes.len, why, size);
    case BUS_TYPES: break;
    }
    return ignored(why, size, "Received unknown packet type: %u", type);
}
