/* syntax_test.c -- arguments as text, and those that are still to come.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "syntax.h"
#include "unit.h"

#define PARTS(array_) .parts = (array_), .part_count = sizeof(array_) / sizeof((array_)[0])
#define NODES(array_) (array_), sizeof(array_) / sizeof((array_)[0])
#define TOKEN(text_) \
    { .kind = ARG_TOKEN, .token = (char *)(text_) }
#define VALUE(name_) \
    { .kind = ARG_VALUE, .name = (char *)(name_) }
#define NAMED(token_, name_) \
    { .kind = ARG_VALUE, .token = (char *)(token_), .name = (char *)(name_) }

/* SET key value [NX|XX] [GET] [EX seconds|KEEPTTL] */
static argNode nx_xx[] = {TOKEN("NX"), TOKEN("XX")};
static argNode expiry[] = {NAMED("EX", "seconds"), TOKEN("KEEPTTL")};
static argNode set[] = {
    VALUE("key"),
    VALUE("value"),
    {.kind = ARG_ONEOF, .optional = true, PARTS(nx_xx)},
    {.kind = ARG_TOKEN, .token = (char *)"GET", .optional = true},
    {.kind = ARG_ONEOF, .optional = true, PARTS(expiry)},
};
/* ZADD key [NX|XX] [CH] score member [score member ...] */
static argNode pair[] = {VALUE("score"), VALUE("member")};
static argNode zadd[] = {
    VALUE("key"),
    {.kind = ARG_ONEOF, .optional = true, PARTS(nx_xx)},
    {.kind = ARG_TOKEN, .token = (char *)"CH", .optional = true},
    {.kind = ARG_BLOCK, .multiple = true, PARTS(pair)},
};
/* SORT key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] */
static argNode limit[] = {VALUE("offset"), VALUE("count")};
static argNode sort[] = {
    VALUE("key"),
    {.kind = ARG_VALUE, .token = (char *)"BY", .name = (char *)"pattern", .optional = true},
    {.kind = ARG_BLOCK, .token = (char *)"LIMIT", .optional = true, PARTS(limit)},
    {.kind = ARG_VALUE,
     .token = (char *)"GET",
     .name = (char *)"pattern",
     .optional = true,
     .multiple = true,
     .multiple_token = true},
};
/* XADD key [MAXLEN [=|~] threshold] *|id field value */
static argNode roughly[] = {TOKEN("="), TOKEN("~")};
static argNode trim[] = {TOKEN("MAXLEN"), {.kind = ARG_ONEOF, .optional = true, PARTS(roughly)}, VALUE("threshold")};
static argNode id[] = {TOKEN("*"), VALUE("id")};
static argNode xadd[] = {
    VALUE("key"),   {.kind = ARG_BLOCK, .optional = true, PARTS(trim)}, {.kind = ARG_ONEOF, PARTS(id)}, VALUE("field"),
    VALUE("value"),
};
/* DEL key [key ...] */
static argNode del[] = {{.kind = ARG_VALUE, .name = (char *)"key", .multiple = true}};
/* HRANDFIELD key [count [WITHVALUES]] */
static argNode with[] = {VALUE("count"), {.kind = ARG_TOKEN, .token = (char *)"WITHVALUES", .optional = true}};
static argNode hrandfield[] = {VALUE("key"), {.kind = ARG_BLOCK, .optional = true, PARTS(with)}};

TEST(syntax_is_one_line) {
    static const struct {
        const argNode *nodes;
        size_t count;
        const char *text;
    } cases[] = {
        {NODES(set), "key value [NX|XX] [GET] [EX seconds|KEEPTTL]"},
        {NODES(zadd), "key [NX|XX] [CH] score member [score member ...]"},
        {NODES(sort), "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]]"},
        {NODES(xadd), "key [MAXLEN [=|~] threshold] *|id field value"},
        {NODES(hrandfield), "key [count [WITHVALUES]]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sds text = syntaxText(cases[i].nodes, cases[i].count);
        CHECK_EQ_STR(text, cases[i].text);
        sdsFree(text);
    }
}

/* Checks the text after the words of `line`, whose last word is unfinished unless the line ends with a blank; "-" for
 * NULL. */
static void remains(const argNode *nodes, size_t count, const char *line, const char *want) {
    slice argv[16];
    size_t argc = 0;
    const char *p = line;
    while (*p) {
        size_t len = strcspn(p, " ");
        argv[argc++] = sliceOf(p, len);
        p += len;
        while (*p == ' ') p++;
    }
    bool unfinished = argc > 0 && line[strlen(line) - 1] != ' ';
    sds rest = syntaxRemainder(nodes, count, argv, argc, unfinished);
    if (!CHECK_EQ_STR(rest ? rest : "-", want)) CHECK_EQ_STR(line, "");
    sdsFree(rest);
}

TEST(syntax_shrinks_as_words_come) {
    remains(NODES(set), "", "key value [NX|XX] [GET] [EX seconds|KEEPTTL]");
    remains(NODES(set), "k ", "value [NX|XX] [GET] [EX seconds|KEEPTTL]");
    remains(NODES(set), "k v", "[NX|XX] [GET] [EX seconds|KEEPTTL]");
    remains(NODES(set), "k v GET ", "[NX|XX] [EX seconds|KEEPTTL]");
    remains(NODES(set), "k v get ex ", "seconds [NX|XX]");
    remains(NODES(set), "k v get ex 10 ", "[NX|XX]");
    remains(NODES(set), "k v get ex 10 nx ", "");
    remains(NODES(set), "k v get ex 10 nx xx ", "-");
    remains(NODES(set), "NX GET ", "[NX|XX] [GET] [EX seconds|KEEPTTL]");
    remains(NODES(del), "a b ", "[key ...]");
    remains(NODES(hrandfield), "k ", "[count [WITHVALUES]]");
    remains(NODES(hrandfield), "k 5 ", "[WITHVALUES]");
    remains(NODES(hrandfield), "k 5 withvalues ", "");
}

TEST(syntax_drops_options_that_came_too_late) {
    remains(NODES(zadd), "z ch ", "[NX|XX] score member [score member ...]");
    remains(NODES(zadd), "z 1 ", "member [score member ...]");
    remains(NODES(zadd), "z 1 a ", "[score member ...]");
    remains(NODES(zadd), "z 1 a 2 ", "member [score member ...]");
}

TEST(syntax_repeats_with_and_without_tokens) {
    remains(NODES(sort), "k limit 0 ", "count [BY pattern] [GET pattern [GET pattern ...]]");
    remains(NODES(sort), "k get ", "pattern [BY pattern] [LIMIT offset count] [GET pattern ...]");
    remains(NODES(sort), "k get # get ", "pattern [BY pattern] [LIMIT offset count] [GET pattern ...]");
    remains(NODES(sort), "k get # nonsense ", "-");
}

TEST(syntax_looks_into_blocks) {
    remains(NODES(xadd), "s MAXLEN ", "[=|~] threshold *|id field value");
    remains(NODES(xadd), "s maxlen ~ ", "threshold *|id field value");
    remains(NODES(xadd), "s maxlen 5 * ", "field value");
    remains(NODES(xadd), "s 1-1 ", "field value");
    remains(NODES(xadd), "s * f ", "value");
}

TEST(syntax_waits_for_an_unfinished_token) {
    remains(NODES(set), "k v E", "[NX|XX] [GET] [EX seconds|KEEPTTL]");
    remains(NODES(set), "k v E ", "-");
    remains(NODES(set), "k v EY", "-");
    remains(NODES(sort), "k get # li", "[BY pattern] [LIMIT offset count] [GET pattern ...]");
}

/* Checks the tokens that may follow `line`. */
static void offers(const argNode *nodes, size_t count, const char *line, const char *want) {
    const char *tokens[8];
    int argc;
    sds *words = sdsSplitLen(line, strlen(line), " ", 1, &argc), all = sdsEmpty();
    slice argv[16];
    for (int i = 0; i < argc; i++) argv[i] = sdsSlice(words[i]);
    size_t found = syntaxTokens(nodes, count, argv, (size_t)argc, tokens, 8);
    for (size_t i = 0; i < found; i++) all = sdsCatPrintf(all, "%s%s", i ? " " : "", tokens[i]);
    if (!CHECK_EQ_STR(all, want)) CHECK_EQ_STR(line, "");
    sdsFreeSplitRes(words, argc);
    sdsFree(all);
}

TEST(syntax_offers_tokens_that_may_come) {
    offers(NODES(set), "k", "");
    offers(NODES(set), "k v", "NX XX GET EX KEEPTTL");
    offers(NODES(set), "k v ex", "");
    offers(NODES(set), "k v ex 10 nx", "GET");
    offers(NODES(set), "k v nonsense", "");
    offers(NODES(zadd), "z", "NX XX CH");
    offers(NODES(zadd), "z 1", "");
    offers(NODES(xadd), "s", "MAXLEN *");
    offers(NODES(xadd), "s maxlen", "= ~");
    offers(NODES(xadd), "s maxlen 5", "*");
    offers(NODES(sort), "k get a", "BY LIMIT GET");
    offers(NODES(hrandfield), "k 5", "WITHVALUES");
}

/* A description like a server's. */
TEST(syntax_reads_command_docs) {
    static const char docs[] =
        "*2\r\n"
        "*4\r\n$4\r\nname\r\n$3\r\nkey\r\n$4\r\ntype\r\n$3\r\nkey\r\n"
        "*8\r\n$4\r\nname\r\n$4\r\nmode\r\n$4\r\ntype\r\n$5\r\noneof\r\n"
        "$5\r\nflags\r\n*1\r\n+optional\r\n$9\r\narguments\r\n*2\r\n"
        "*6\r\n$4\r\nname\r\n$1\r\na\r\n$4\r\ntype\r\n$10\r\npure-token\r\n$5\r\ntoken\r\n$5\r\nASYNC\r\n"
        "*6\r\n$4\r\nname\r\n$1\r\nb\r\n$4\r\ntype\r\n$7\r\ninteger\r\n$5\r\ntoken\r\n$2\r\nIN\r\n";
    replyValue *v = replyValueParse(docs, sizeof(docs) - 1);
    size_t count;
    if (!CHECK(v != NULL)) return;
    argNode *nodes = syntaxFromDocs(v, &count);
    sds text = syntaxText(nodes, count);
    CHECK_EQ_STR(text, "key [ASYNC|IN b]");
    remains(nodes, count, "k in ", "b");
    sdsFree(text);
    syntaxFree(nodes, count);
    replyValueFree(v);
}
