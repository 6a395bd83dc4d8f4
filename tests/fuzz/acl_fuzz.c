/* acl_fuzz.c -- feeds any bytes as the words of ACL SETUSER: a word is refused and changes nothing, or the user's
 * description creates the same user again.
 *
 * Words end at a NUL or a line feed. A description that is written to a file must be readable: a server does not start
 * if it cannot read its own users.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_user.h"
#include "panic.h"
#include "zmalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS_MAX 200

static void handler(client *c) { unused(c); }

#define IN(categories) .proc = handler, .arity = -1, .acl_categories = categories

static serverCommand in_config[] = {
    {.name = "get", IN(ACL_CATEGORY_ADMIN)}, {.name = "set", IN(ACL_CATEGORY_ADMIN)}, {.name = NULL}};
static serverCommand commands[] = {{.name = "get", IN(ACL_CATEGORY_READ | ACL_CATEGORY_FAST)},
                                   {.name = "set", IN(ACL_CATEGORY_WRITE | ACL_CATEGORY_SLOW)},
                                   {.name = "select", IN(ACL_CATEGORY_FAST)},
                                   {.name = "config", .arity = -2, .subcommands = in_config}};

static sds textOf(const user *u) { return userCat(sdsEmpty(), u); }

/* Applies the words. Returns false if one was refused. */
static bool apply(user *u, const slice *words, int count) {
    slice open;
    sds *joined = aclJoinWords(words, &count, &open);
    bool good = joined != NULL;
    for (int i = 0; good && i < count; i++) {
        sds before = textOf(u);
        good = !userApply(u, sdsSlice(joined[i]));
        sds after = textOf(u);
        serverAssert(good || sdsCmp(before, after) == 0);
        sdsFree(before);
        sdsFree(after);
    }
    if (joined) sdsFreeSplitRes(joined, count);
    return good;
}

static void checkSame(const user *a, const user *b) {
    serverAssert(a->unrestricted == b->unrestricted && a->selectors_count == b->selectors_count);
    for (uint32_t i = 0; i < a->selectors_count; i++)
        for (int id = 0; id < commandIdCount(); id++) {
            serverCommand cmd = {.id = id};
            serverAssert(aclSelectorHasCommand(a->selectors[i], &cmd) == aclSelectorHasCommand(b->selectors[i], &cmd));
            serverAssert(a->selectors[i]->keys.count == b->selectors[i]->keys.count);
        }
}

static void checkComesBack(const user *u) {
    int count;
    sds text = textOf(u);
    sds *shown = sdsSplitLen(text, sdsLen(text), " ", 1, &count);
    slice *words = zmalloc((size_t)count * sizeof(*words));
    for (int i = 1; i < count; i++) words[i - 1] = sdsSlice(shown[i]);
    user *back = userCreate(sdsSlice(shown[0]));
    bool understood = apply(back, words, count - 1);
    if (!understood) serverPanic("'%s' is not understood", text);
    sds again = textOf(back);
    if (sdsCmp(text, again) != 0) serverPanic("'%s' became '%s'", text, again);
    checkSame(u, back);
    sdsFree(again);
    userFree(back);
    zfree(words);
    sdsFreeSplitRes(shown, count);
    sdsFree(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool registered;
    slice words[WORDS_MAX];
    int count = 0;
    if (!registered) commandTableRegister(commands, array_len(commands));
    registered = true;
    for (size_t at = 0, end; at < size && count < WORDS_MAX; at = end + 1) {
        for (end = at; end < size && data[end] != '\0' && data[end] != '\n';) end++;
        words[count++] = sliceOf((const char *)data + at, end - at);
    }
    user *u = userCreate(sliceStr("u"));
    apply(u, words, count); /* up to the first that is refused */
    checkComesBack(u);
    user *copy = userDup(u);
    checkComesBack(copy);
    userTake(u, copy);
    userFree(u);
    return 0;
}
