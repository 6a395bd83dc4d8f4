/* cluster_types.c -- names of nodes and sets of slots.
 *
 * Threads     any: there is no state.
 * Tests       tests/unit/cluster_core/cluster_types_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_types.h"

bool nodeIdIsValid(const nodeId *id) {
    for (size_t i = 0; i < NODE_ID_LEN; i++) {
        char c = id->text[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z')) return false;
    }
    return true;
}

bool nodeTextIsPlain(slice text) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c <= ',' || c >= 0x7f || strchr(";<=>?@[]^{|}~\\`", c)) return false;
    }
    return true;
}

size_t slotSetCount(const slotSet *s) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof(s->bytes); i += 8) {
        uint64_t word;
        memcpy(&word, s->bytes + i, 8);
        count += (size_t)__builtin_popcountll(word);
    }
    return count;
}

bool slotSetRun(const slotSet *s, unsigned *first, unsigned *last) {
    unsigned at = *first;
    while (at < CLUSTER_SLOTS && !slotSetHas(s, at)) at += at % 8 == 0 && s->bytes[at >> 3] == 0 ? 8 : 1;
    if (at >= CLUSTER_SLOTS) return false;
    *first = at;
    while (at + 1 < CLUSTER_SLOTS && slotSetHas(s, at + 1)) at++;
    *last = at;
    return true;
}
