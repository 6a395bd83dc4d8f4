/* workload.c -- a pipeline of requests, built once, in which random numbers are replaced before each send.
 *
 * All repetitions of the sequence have one length, because a placeholder and its number are both 12 bytes wide:
 *
 *     | seq 0: cmd cmd | seq 1: cmd cmd | ... | seq depth-1 |        patch i of seq n is at n * seq_len + offset[i]
 *
 * so a shorter pipeline is a prefix of the buffer, and all connections of a thread share one buffer that stays in the
 * first-level cache: bytes that the kernel has copied may be patched again at once.
 *
 * Not here    sending (generator.c).
 * Threads     a workload belongs to one thread; the numberSource is shared.
 * Cost        per placeholder one random number and six divisions by a constant; nothing allocates.
 * Tests       tests/unit/tools/workload_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "workload.h"
#include "numbers.h"
#include "panic.h"
#include "resp_format.h"
#include "zmalloc.h"
#include <stdlib.h>

#define PLACEHOLDER_LEN 12
#define REPEAT_MAX 1000000

typedef struct patch {
    size_t offset; /* within its sequence */
    int kind;      /* 0: a new number each time; 1-9: one number per sequence */
} patch;

struct workload {
    sds buffer; /* owns; depth * sequence_len bytes */
    size_t sequence_len;
    int commands, depth;
    patch *patches; /* owns */
    int patch_count;
};

/* Returns the kind of the placeholder at p, or -1. */
static int placeholderAt(const char *p, const char *end) {
    static const char names[PLACEHOLDER_KINDS][PLACEHOLDER_LEN + 1] = {
        "__rand_int__", "__rand_1st__", "__rand_2nd__", "__rand_3rd__", "__rand_4th__",
        "__rand_5th__", "__rand_6th__", "__rand_7th__", "__rand_8th__", "__rand_9th__"};
    if (end - p < PLACEHOLDER_LEN || memcmp(p, "__rand_", 7) != 0) return -1;
    for (int kind = 0; kind < PLACEHOLDER_KINDS; kind++)
        if (memcmp(p, names[kind], PLACEHOLDER_LEN) == 0) return kind;
    return -1;
}

static void findPatches(workload *w) {
    const char *start = w->buffer, *end = start + w->sequence_len;
    for (const char *p = start; p < end; p++) {
        int kind = *p == '_' ? placeholderAt(p, end) : -1;
        if (kind < 0) continue;
        w->patches = zrealloc(w->patches, sizeof(patch) * (size_t)(w->patch_count + 1));
        w->patches[w->patch_count++] = (patch){(size_t)(p - start), kind};
        p += PLACEHOLDER_LEN - 1;
    }
}

/* Builds a workload that repeats `sequence`, of which it takes ownership. */
static workload *build(sds sequence, int commands, int depth, bool patched) {
    workload *w = zcalloc(1, sizeof(*w));
    w->sequence_len = sdsLen(sequence);
    w->commands = commands;
    w->depth = depth;
    w->buffer = sequence;
    if (patched) findPatches(w);
    w->buffer = sdsMakeRoomForNonGreedy(w->buffer, w->sequence_len * (size_t)(depth - 1));
    for (int i = 1; i < depth; i++) w->buffer = sdsCatLen(w->buffer, w->buffer, w->sequence_len);
    return w;
}

static sds catWord(sds out, slice word, slice data) {
    static const char name[] = "__data__";
    sds text = sdsEmpty();
    const char *p = word.ptr, *end = word.ptr + word.len;
    for (const char *at; (at = memmem(p, (size_t)(end - p), name, sizeof(name) - 1)); p = at + sizeof(name) - 1) {
        text = sdsCatLen(text, p, (size_t)(at - p));
        text = sdsCatSlice(text, data);
    }
    text = sdsCatLen(text, p, (size_t)(end - p));
    out = respCatBulk(out, sdsSlice(text));
    sdsFree(text);
    return out;
}

workload *workloadFromWords(const slice *words, int argc, slice data, int depth, bool patched, const char **err) {
    sds sequence = sdsEmpty();
    int commands = 0;
    for (int i = 0; i < argc;) {
        int first = i;
        while (i < argc && !sliceEq(words[i], sliceStr(";"))) i++;
        int count = i++ - first;
        long long repeat = 1;
        if (count > 1 && string2ll(words[first].ptr, words[first].len, &repeat)) {
            first++;
            count--;
        }
        if (count < 1 || repeat < 1 || repeat > REPEAT_MAX) {
            *err = count < 1 ? "empty command" : "a command can be repeated 1 to 1000000 times";
            sdsFree(sequence);
            return NULL;
        }
        size_t start = sdsLen(sequence);
        sequence = sdsCatPrintf(sequence, "*%d\r\n", count);
        for (int word = first; word < first + count; word++) sequence = catWord(sequence, words[word], data);
        size_t len = sdsLen(sequence) - start;
        for (long long n = 1; n < repeat; n++) {
            sequence = sdsMakeRoomFor(sequence, len);
            sequence = sdsCatLen(sequence, sequence + start, len);
        }
        commands += (int)repeat;
    }
    if (commands == 0) {
        *err = "no command";
        sdsFree(sequence);
        return NULL;
    }
    return build(sequence, commands, depth, patched);
}

workload *workloadFromRaw(slice raw, int depth) { return build(sdsFromSlice(raw), 1, depth, false); }

workload *workloadDup(const workload *w) {
    workload *copy = zmalloc(sizeof(*copy));
    *copy = *w;
    copy->buffer = sdsDup(w->buffer);
    copy->patches = zmalloc(sizeof(patch) * (size_t)(w->patch_count + 1));
    if (w->patch_count) memcpy(copy->patches, w->patches, sizeof(patch) * (size_t)w->patch_count);
    return copy;
}

void workloadFree(workload *w) {
    if (!w) return;
    sdsFree(w->buffer);
    zfree(w->patches);
    zfree(w);
}

int workloadCommands(const workload *w) { return w->commands; }
int workloadDepth(const workload *w) { return w->depth; }

static uint64_t drawNumber(numberSource *numbers, int kind, rng *r) {
    if (!numbers->sequential) return rngBelow(r, numbers->range);
    return atomic_fetch_add_explicit(&numbers->next[kind], 1, memory_order_relaxed) % numbers->range;
}

/* Writes exactly 12 digits, with leading zeros. */
static void writeNumber(char *out, uint64_t value) {
    for (int i = PLACEHOLDER_LEN - 2; i >= 0; i -= 2) {
        uint32_t pair = (uint32_t)(value % 100);
        value /= 100;
        out[i] = (char)('0' + pair / 10);
        out[i + 1] = (char)('0' + pair % 10);
    }
}

slice workloadNext(workload *w, int sequences, numberSource *numbers, rng *r) {
    debugAssert(sequences >= 1 && sequences <= w->depth);
    int patches = numbers->range ? w->patch_count : 0;
    char *base = w->buffer;
    for (int i = 0; i < sequences && patches; i++, base += w->sequence_len) {
        uint64_t shared[PLACEHOLDER_KINDS];
        unsigned drawn = 0;
        for (int j = 0; j < patches; j++) {
            int kind = w->patches[j].kind;
            if (kind == 0 || !(drawn & 1u << kind)) {
                shared[kind] = drawNumber(numbers, kind, r);
                drawn |= 1u << kind;
            }
            writeNumber(base + w->patches[j].offset, shared[kind]);
        }
    }
    return sliceOf(w->buffer, (size_t)sequences * w->sequence_len);
}
