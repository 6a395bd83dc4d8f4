/* session.c -- the connection that the user talks over, and what is known of its state.
 *
 * What a reply means for later ones (database, protocol, transaction, subscriptions) is read off the commands as they
 * pass, because the prompt shows it and a new connection must restore it.
 *
 * Not here    words (repl.c, main.c), formats (reply_text.c).
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "session.h"
#include "numbers.h"
#include "zmalloc.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

volatile int session_interrupted;

/* ---- Connection ------------------------------------------------------------------------------------------------- */

sds sessionAddress(const cliSession *s) {
    const cliOptions *o = s->options;
    if (o->socket) return sdsNew(o->socket);
    return sdsCatPrintf(sdsEmpty(), strchr(o->host, ':') ? "[%s]:%d" : "%s:%d", o->host, o->port);
}

/* Tell a refusal. Takes `r`. */
static void greet(const char *what, replyValue *r) {
    if (r && replyIsError(r)) fprintf(stderr, "%s failed: %s\n", what, r->str);
    replyValueFree(r);
}

static void authenticate(cliSession *s) {
    const cliOptions *o = s->options;
    if (!o->password) return;
    greet("AUTH", o->user ? linkCall(s->link, "AUTH", o->user, o->password, NULL)
                          : linkCall(s->link, "AUTH", o->password, NULL));
}

static void selectDb(cliSession *s) {
    char number[LONG_STR_SIZE], what[LONG_STR_SIZE + 8];
    if (s->db == 0) return;
    ll2string(number, s->db);
    snprintf(what, sizeof(what), "SELECT %s", number);
    replyValue *r = linkCall(s->link, "SELECT", number, NULL);
    if (r && replyIsError(r)) s->db = 0;
    greet(what, r);
}

bool sessionConnect(cliSession *s, bool quiet) {
    const cliOptions *o = s->options;
    char err[LINK_ERR_LEN];
    sessionDisconnect(s);
    s->link = linkOpen(o->host, o->port, o->socket, o->timeout_s, err);
    if (!s->link) {
        sds address = sessionAddress(s);
        if (!quiet) fprintf(stderr, "Could not connect to Valkey at %s: %s\n", address, err);
        sdsFree(address);
        return false;
    }
    authenticate(s);
    if (s->resp == 3) greet("HELLO 3", linkCall(s->link, "HELLO", "3", NULL));
    else if (s->resp == 2 && o->resp == 2) greet("HELLO 2", linkCall(s->link, "HELLO", "2", NULL));
    selectDb(s);
    return true;
}

void sessionDisconnect(cliSession *s) {
    linkClose(s->link);
    s->link = NULL;
    s->in_transaction = s->subscribed = s->monitoring = false;
}

replyValue *sessionAsk(cliSession *s, const char *word, ...) {
    slice words[32];
    int count = 0;
    va_list ap;
    va_start(ap, word);
    for (const char *w = word; w && count < 32; w = va_arg(ap, const char *)) words[count++] = sliceStr(w);
    va_end(ap);
    replyValue *v = linkCallWords(s->link, count, words);
    if (!v) {
        fprintf(stderr, "\nI/O error: %s\n", linkError(s->link));
        exit(1);
    }
    if (replyIsError(v)) {
        fprintf(stderr, "%s failed: %s\n", word, v->str);
        exit(1);
    }
    return v;
}

/* ---- Replies ---------------------------------------------------------------------------------------------------- */

void sessionPrint(const cliSession *s, const replyValue *v, bool as_text) {
    const cliOptions *o = s->options;
    sds out = sdsEmpty();
    replyStyle style = as_text ? STYLE_AUTO : o->style;
    switch (style) {
    case STYLE_CSV: out = sdsCat(replyTextCsv(out, v), "\n"); break;
    case STYLE_JSON:
    case STYLE_QUOTED_JSON: out = sdsCat(replyTextJson(out, v, style == STYLE_QUOTED_JSON), "\n"); break;
    case STYLE_PRETTY: out = replyTextPretty(out, v, ""); break;
    case STYLE_RAW: out = sdsCat(replyTextRaw(out, v, o->line_delimiter), o->reply_delimiter); break;
    case STYLE_AUTO: out = replyTextRaw(out, v, o->line_delimiter); break;
    }
    fwrite(out, sdsLen(out), 1, stdout);
    fflush(stdout);
    sdsFree(out);
}

/* Replies that are pages of text are shown as such. */
static bool repliesText(int argc, const slice *argv) {
    static const char *const pairs[][2] = {
        {"memory", "malloc-stats"}, {"memory", "doctor"},     {"latency", "graph"},         {"latency", "doctor"},
        {"debug", "htstats"},       {"debug", "htstats-key"}, {"debug", "client-eviction"}, {"cluster", "nodes"},
        {"cluster", "info"},        {"client", "list"},       {"client", "info"},           {"proxy", "nodes"},
    };
    if (sliceIs(argv[0], "info") || sliceIs(argv[0], "lolwut")) return true;
    for (size_t i = 0; argc >= 2 && i < array_len(pairs); i++) {
        if (sliceIs(argv[0], pairs[i][0]) && sliceIs(argv[1], pairs[i][1])) return true;
    }
    return false;
}

/* ---- Streams ---------------------------------------------------------------------------------------------------- */

static void onInterrupt(int sig) {
    unused(sig);
    session_interrupted = 1;
}

/* Show what comes until it ends, or, in interactive mode, until a key or Ctrl-C is pressed. */
static bool showStream(cliSession *s) {
    struct sigaction act = {.sa_handler = onInterrupt}, before;
    bool alive = true;
    session_interrupted = 0;
    if (s->interactive) sigaction(SIGINT, &act, &before);
    while (!session_interrupted) {
        struct pollfd p[2] = {{.fd = linkFd(s->link), .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
        if (!linkHasReply(s->link)) {
            int ready = poll(p, s->interactive && !s->monitoring ? 2 : 1, -1);
            if (ready < 0) continue;
            if (s->interactive && p[1].revents) break;
        }
        bool timed_out;
        replyValue *v = linkReadWithin(s->link, 0, &timed_out);
        if (!v && timed_out) continue;
        if (!v) {
            alive = false;
            break;
        }
        sessionPrint(s, v, false);
        replyValueFree(v);
    }
    if (s->interactive) {
        sigaction(SIGINT, &before, NULL);
        if (session_interrupted && s->monitoring) {
            sessionDisconnect(s);
        } else if (session_interrupted) {
            printf("Closing current connection. Ready to reconnect to Valkey server... \n");
            sessionDisconnect(s);
        }
    }
    return alive;
}

static bool isSubscribe(slice word) {
    return sliceIs(word, "subscribe") || sliceIs(word, "psubscribe") || sliceIs(word, "ssubscribe");
}

static bool isUnsubscribe(slice word) {
    return sliceIs(word, "unsubscribe") || sliceIs(word, "punsubscribe") || sliceIs(word, "sunsubscribe");
}

/* Subscribing answers once per channel, as pushes in RESP3; then messages come. */
static bool runSubscribe(cliSession *s, int argc, bool subscribe) {
    long long left = 0;
    for (int i = 0; i < (argc > 1 ? argc - 1 : 1); i++) {
        replyValue *v = linkRead(s->link);
        if (!v) return false;
        sessionPrint(s, v, false);
        bool failed = replyIsError(v);
        if (replyIsList(v) && v->count == 3) left = v->items[2].integer;
        replyValueFree(v);
        if (failed) return true;
    }
    s->subscribed = left > 0;
    if (!subscribe || !s->subscribed) return true;
    if (s->interactive && s->options->style == STYLE_PRETTY)
        printf("Reading messages... (press Ctrl-C to quit or any key to type command)\r\n");
    fflush(stdout);
    return showStream(s);
}

/* ---- Commands --------------------------------------------------------------------------------------------------- */

/* What a command that succeeded changes for later ones. */
static void noteEffect(cliSession *s, int argc, const slice *argv) {
    long long n;
    if (sliceIs(argv[0], "select") && argc == 2 && string2ll(argv[1].ptr, argv[1].len, &n)) s->db = (int)n;
    else if (sliceIs(argv[0], "multi")) s->in_transaction = true;
    else if (sliceIs(argv[0], "exec") || sliceIs(argv[0], "discard")) s->in_transaction = false;
    else if (sliceIs(argv[0], "hello") && argc >= 2 && string2ll(argv[1].ptr, argv[1].len, &n)) s->resp = (int)n;
    else if (sliceIs(argv[0], "reset")) {
        s->in_transaction = s->subscribed = false;
        s->db = 0;
        s->resp = 0;
    }
}

/* The next reply to a command; pushes before it are shown if so wanted. */
static replyValue *readReply(cliSession *s) {
    replyValue *v;
    while ((v = linkRead(s->link)) && v->type == '>') {
        if (s->options->show_pushes) sessionPrint(s, v, false);
        replyValueFree(v);
    }
    return v;
}

bool sessionRun(cliSession *s, int argc, const slice *argv) {
    bool subscribe = isSubscribe(argv[0]);
    if (!linkSend(s->link, argc, argv)) return false;
    if (!s->in_transaction && (subscribe || isUnsubscribe(argv[0]))) return runSubscribe(s, argc, subscribe);
    replyValue *v = readReply(s);
    if (!v) return false;
    bool failed = replyIsError(v);
    if (failed && s->options->exit_on_error && !s->interactive) {
        fprintf(stderr, "%s\n", v->str);
        replyValueFree(v);
        exit(1);
    }
    sessionPrint(s, v, repliesText(argc, argv));
    if (!failed) noteEffect(s, argc, argv);
    else if (sliceIs(argv[0], "exec")) s->in_transaction = false;
    replyValueFree(v);
    if (failed || !sliceIs(argv[0], "monitor")) return true;
    s->monitoring = true;
    bool alive = showStream(s);
    s->monitoring = false;
    return alive;
}

void sessionPause(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    if (seconds > 0) nanosleep(&t, NULL);
}

bool sessionRunRepeated(cliSession *s, int argc, const slice *argv, long long repeat) {
    for (long long i = 0; repeat < 0 || i < repeat; i++) {
        if (i > 0) sessionPause(s->options->interval_s);
        if (!s->link && !sessionConnect(s, false)) {
            s->broken = true;
            return false;
        }
        if (sessionRun(s, argc, argv)) continue;
        /* Ending the server ends the connection: as expected. */
        bool shutdown_sent = sliceIs(argv[0], "shutdown");
        snprintf(s->last_error, sizeof(s->last_error), "%s", linkError(s->link));
        bool retry = s->interactive && !s->in_transaction && !shutdown_sent;
        sessionDisconnect(s);
        if (shutdown_sent) return true;
        if (!retry || !sessionConnect(s, true) || !sessionRun(s, argc, argv)) {
            fprintf(stderr, "Error: %s\n", s->last_error);
            s->broken = true;
            return false;
        }
    }
    return true;
}
