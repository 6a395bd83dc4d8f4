/* listpack_fuzz.c -- feeds any bytes as a listpack of a file: they are rejected, or every function of listpack.h works
 * on them.
 *
 * The first byte of the input selects the position of changes; the rest is the listpack. An accepted one is read from
 * both ends, searched for each of its values, and changed at one position after the other; each result must be accepted
 * again.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listpack.h"
#include "panic.h"
#include "zmalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ENTRIES_MAX = 512 };

/* Checks that the input, or the result of a function, is valid and has `count` entries. */
static void mustBeGood(const uint8_t *lp, size_t count) {
    serverAssert(listpackValidate(lp, listpackBytes(lp), true, NULL, NULL));
    serverAssert(listpackCount(lp) == count);
}

static bool countVisit(void *arg, const uint8_t *at) {
    char buf[LONG_STR_SIZE];
    slice text = listpackText(at, buf);
    uint64_t sum = 0;
    for (size_t i = 0; i < text.len; i++) sum += (unsigned char)text.ptr[i];
    ++*(size_t *)arg;
    return sum + 1 > 0;
}

static void readAll(const uint8_t *lp, size_t count) {
    const uint8_t *at[ENTRIES_MAX];
    size_t n = 0;
    listpackIter it = listpackIterBegin(lp, false);
    listpackValue v;
    while (listpackIterNext(&it, &v, &at[n])) n++;
    serverAssert(n == count);
    it = listpackIterBegin(lp, true);
    const uint8_t *here;
    while (listpackIterNext(&it, &v, &here)) serverAssert(here == at[--n]);
    serverAssert(n == 0);
    for (size_t i = 0; i < count; i++) {
        char buf[LONG_STR_SIZE];
        slice text = listpackText(at[i], buf);
        int64_t num;
        (void)listpackInteger(at[i], &num);
        serverAssert(listpackEquals(at[i], text));
        serverAssert(listpackIndex(lp, (long)i) == at[i] && listpackIndex(lp, (long)i - (long)count) == at[i]);
        const uint8_t *found = listpackFind(at[0], text, 0);
        serverAssert(found && found <= at[i] && listpackFind(at[i], text, 1) == at[i]);
    }
    serverAssert(!listpackIndex(lp, (long)count) && !listpackIndex(lp, -(long)count - 1));
}

/* Calls every function that changes a listpack, at entry `number` if there is one. */
static uint8_t *change(uint8_t *lp, size_t number, size_t count) {
    static const slice texts[] = {{"", 0}, {"17", 2}, {"-70000", 6}, {"some text that is no number", 27}};
    slice text = texts[number % array_len(texts)];
    const uint8_t *at = listpackIndex(lp, (long)number);
    if (at) {
        lp = listpackInsert(lp, &at, LISTPACK_REPLACE, text);
        serverAssert(listpackEquals(at, text));
        lp = listpackInsertInteger(lp, &at, LISTPACK_BEFORE, -(int64_t)number * 1000003);
        mustBeGood(lp, ++count);
        lp = listpackInsert(lp, &at, LISTPACK_AFTER, text);
        mustBeGood(lp, ++count);
        lp = listpackDelete(lp, &at, 2);
        count -= 2;
        mustBeGood(lp, count);
    }
    lp = listpackPrepend(lp, text);
    lp = listpackAppendBatch(lp, texts, array_len(texts));
    mustBeGood(lp, count += 1 + array_len(texts));
    uint8_t *copy = listpackDup(lp);
    lp = number % 2 ? listpackMergeTake(lp, copy) : listpackConcat(lp, copy);
    if (number % 2 == 0) listpackFree(copy);
    mustBeGood(lp, 2 * count);
    lp = listpackDeleteRange(lp, (long)number, 3);
    lp = listpackDeleteRange(lp, -1, 1);
    (void)listpackRecount(lp);
    mustBeGood(lp, listpackCount(lp));
    lp = listpackDeleteRange(lp, 0, SIZE_MAX);
    mustBeGood(lp, 0);
    return listpackShrinkToFit(lp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    size_t number = data[0], count = 0;
    data++, size--;
    /* Separately allocated, so that an access outside is detected at both ends. */
    uint8_t *lp = zmalloc(size ? size : 1);
    memcpy(lp, data, size);
    (void)listpackValidate(lp, size, false, NULL, NULL);
    if (listpackValidate(lp, size, true, countVisit, &count)) {
        serverAssert(listpackCount(lp) == count);
        if (count <= ENTRIES_MAX) readAll(lp, count);
        lp = change(lp, count ? number % (count + 1) : 0, count);
    }
    listpackFree(lp);
    return 0;
}
