/* session.c -- the connection to the server, and its state.
 *
 * The state that commands change (database, protocol, transaction, subscriptions) is derived from the commands and
 * their replies, because the prompt shows it and a new connection must restore it.
 *
 * Not here    splitting lines into words (repl.c, main.c), formats (reply_text.c).
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "session.h"
#include "numbers.h"
#include "terminal.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define REDIRECTIONS_MAX 16

static volatile sig_atomic_t interrupted; /* set by SIGINT while pushes are shown */

/* ---- Connection ------------------------------------------------------------------------------------------------- */

sds sessionAddress(const cliSession *s) {
    const linkTarget *t = &s->options->target;
    if (t->unix_path) return sdsNew(t->unix_path);
    return sdsCatPrintf(sdsEmpty(), strchr(t->host, ':') ? "[%s]:%d" : "%s:%d", t->host, t->port);
}

/* Checks a reply of the login. If it is an error, prints it, sets `refused` and returns false. Takes ownership of
 * `r`. */
static bool greet(cliSession *s, const char *what, replyValue *r) {
    bool refused = r && replyIsError(r);
    if (refused) {
        fprintf(stderr, "%s failed: %s\n", what, r->str);
        s->refused = true;
    }
    replyValueFree(r);
    return !refused;
}

static void selectDb(cliSession *s) {
    char number[LONG_STR_SIZE], what[LONG_STR_SIZE + 8];
    if (s->db == 0) return;
    ll2string(number, s->db);
    snprintf(what, sizeof(what), "SELECT %s", number);
    replyValue *r = linkCall(s->link, "SELECT", number, NULL);
    if (r && replyIsError(r)) s->db = 0;
    greet(s, what, r);
}

bool sessionConnect(cliSession *s, bool quiet) {
    const cliOptions *o = s->options;
    char err[LINK_ERR_LEN];
    sessionDisconnect(s);
    s->link = linkOpen(&o->target, err);
    if (!s->link) {
        sds address = sessionAddress(s);
        if (!quiet) fprintf(stderr, "Could not connect to Valkey at %s: %s\n", address, err);
        sdsFree(address);
        return false;
    }
    s->refused = false;
    if (o->login.password &&
        !greet(s, "AUTH", toolLogIn(s->link, &o->login))) { /* no SELECT as another user than the intended one */
        s->db = 0;
        return true;
    }
    if (s->resp == 3) greet(s, "HELLO 3", linkCall(s->link, "HELLO", "3", NULL));
    else if (s->resp == 2 && o->resp == 2) greet(s, "HELLO 2", linkCall(s->link, "HELLO", "2", NULL));
    if (o->client_name) greet(s, "CLIENT SETNAME", linkCall(s->link, "CLIENT", "SETNAME", o->client_name, NULL));
    selectDb(s);
    return true;
}

void sessionDisconnect(cliSession *s) {
    linkClose(s->link);
    s->link = NULL;
    s->in_transaction = s->subscribed = s->monitoring = false;
}

void sessionSetAddress(cliSession *s, slice host, int port) {
    sds before = s->host;
    s->host = sdsFromSlice(host); /* copied first, as `host` may point into the old one */
    s->options->target.host = s->host;
    s->options->target.port = port;
    s->options->target.unix_path = NULL;
    sdsFree(before);
}

replyValue *sessionAsk(cliSession *s, const char *word, ...) {
    va_list more;
    va_start(more, word);
    replyValue *v = linkCallList(s->link, word, more);
    va_end(more);
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

/* Prints a reply in the style of the options; with `as_text`, as it is. */
static void sessionPrint(const cliSession *s, const replyValue *v, bool as_text) {
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

/* Returns true if the command replies with a page of text, which is printed without quotes. */
static bool repliesText(int argc, const slice *argv) {
    static const char *const pairs[][2] = {
        {"memory", "malloc-stats"}, {"memory", "doctor"},     {"latency", "graph"},         {"latency", "doctor"},
        {"debug", "htstats"},       {"debug", "htstats-key"}, {"debug", "client-eviction"}, {"cluster", "nodes"},
        {"cluster", "info"},        {"client", "list"},       {"client", "info"},           {"proxy", "nodes"},
    };
    if (sliceIs(argv[0], "info") || sliceIs(argv[0], "lolwut")) return true;
    for (size_t i = 0; argc >= 2 && i < array_len(pairs); i++)
        if (sliceIs(argv[0], pairs[i][0]) && sliceIs(argv[1], pairs[i][1])) return true;
    return false;
}

/* ---- Pushes ----------------------------------------------------------------------------------------------------- */

static void onInterrupt(int sig) {
    unused(sig);
    interrupted = 1;
}

static bool isSubscribe(slice word) {
    return sliceIs(word, "subscribe") || sliceIs(word, "psubscribe") || sliceIs(word, "ssubscribe");
}

static bool isUnsubscribe(slice word) {
    return sliceIs(word, "unsubscribe") || sliceIs(word, "punsubscribe") || sliceIs(word, "sunsubscribe");
}

/* Returns the first word of a list, which is the kind of a pub/sub message; "" for other replies. */
static slice kindOf(const replyValue *v) {
    if (!replyIsList(v) || v->count < 3 || !v->items[0].str) return sliceStr("");
    return sliceOf(v->items[0].str, v->items[0].len);
}

static bool isMessage(const replyValue *v) {
    slice kind = kindOf(v);
    return sliceIs(kind, "message") || sliceIs(kind, "pmessage") || sliceIs(kind, "smessage");
}

/* Updates `subscribed` from the confirmation of a SUBSCRIBE or UNSUBSCRIBE, which has the number of subscriptions.
 * Returns false if `v` is not one. */
static bool noteConfirmation(cliSession *s, const replyValue *v) {
    slice kind = kindOf(v);
    if (!isSubscribe(kind) && !isUnsubscribe(kind)) return false;
    s->subscribed = v->items[2].integer > 0;
    return true;
}

/* Prints pushes until the connection or the last subscription ends, or, if commands are read as lines, until the next
 * line (at a terminal: a key or Ctrl-C). Returns false if the connection is broken. */
static bool showStream(cliSession *s) {
    struct sigaction act = {.sa_handler = onInterrupt}, before;
    bool alive = true, lines = s->reads_lines && !s->monitoring;
    interrupted = 0;
    s->streamed = true;
    if (s->interactive) {
        if (!s->monitoring) terminalSetKeys(); /* any key ends it, not only Enter */
        sigaction(SIGINT, &act, &before);
    }
    while (!interrupted) {
        struct pollfd p[2] = {{.fd = linkFd(s->link), .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
        if (!linkHasReply(s->link) && !linkHasInput(s->link)) {
            if (lines && s->line_waits) break;
            int ready = poll(p, lines ? 2 : 1, -1);
            if (ready < 0 && s->interactive && !s->monitoring) terminalSetKeys(); /* may have been stopped */
            if (ready < 0) continue;
            if (p[1].revents) break;
        }
        bool timed_out;
        replyValue *v = linkReadWithin(s->link, 0, &timed_out);
        if (!v && timed_out) continue;
        if (!v) {
            alive = false;
            break;
        }
        sessionPrint(s, v, false);
        bool over = noteConfirmation(s, v) && !s->subscribed;
        replyValueFree(v);
        if (over && s->reads_lines) break;
    }
    if (s->interactive) {
        sigaction(SIGINT, &before, NULL);
        terminalRestore();
        if (interrupted && s->monitoring) {
            sessionDisconnect(s);
        } else if (interrupted) {
            printf("\nLeft the stream; the next command gets a connection of its own.\n");
            sessionDisconnect(s);
        }
    }
    return alive;
}

/* Returns the next reply to a command, which with `confirmation_wanted` may be the confirmation of a subscription.
 * Prints messages that arrive before it, and other pushes if the options say so. NULL if the connection is broken. */
static replyValue *readReply(cliSession *s, bool confirmation_wanted) {
    replyValue *v;
    while ((v = linkRead(s->link))) {
        bool message = s->subscribed && isMessage(v), confirmation = v->type == '>' && noteConfirmation(s, v);
        if (confirmation ? confirmation_wanted : v->type != '>' && !message) return v;
        if (message || confirmation || s->options->show_pushes) sessionPrint(s, v, false);
        replyValueFree(v);
    }
    return NULL;
}

/* Prints the confirmations of a subscription, one per channel (pushes in RESP3), then its messages. Takes ownership of
 * `first`. Returns false if the connection is broken. */
static bool showSubscription(cliSession *s, int argc, bool subscribe, replyValue *first) {
    for (int i = 0; i < (argc > 1 ? argc - 1 : 1); i++) {
        replyValue *v = i == 0 ? first : readReply(s, true);
        if (!v) return false;
        sessionPrint(s, v, false);
        bool failed = replyIsError(v);
        noteConfirmation(s, v);
        replyValueFree(v);
        if (failed) return true;
    }
    if (!s->subscribed || !(subscribe || s->reads_lines)) return true;
    if (subscribe && s->interactive && s->options->style == STYLE_PRETTY)
        printf("Messages follow as they come. Any key leads back to the prompt, Ctrl-C also unsubscribes.\n");
    fflush(stdout);
    return showStream(s);
}

/* ---- Commands --------------------------------------------------------------------------------------------------- */

/* Updates the state after a command that has succeeded. */
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

/* Sets the address from "MOVED 3999 127.0.0.1:6381" or "ASK 3999 :6381"; an empty host means the same host. Returns
 * false if the error is not a valid redirection. */
static bool takeRedirection(cliSession *s, const replyValue *v, bool *asking) {
    int count;
    long long slot, port;
    sds *words = sdsSplitLen(v->str, v->len, " ", 1, &count);
    bool asks = count == 3 && strcmp(words[0], "ASK") == 0, moved = count == 3 && strcmp(words[0], "MOVED") == 0;
    const char *colon = asks || moved ? strrchr(words[2], ':') : NULL;
    bool good = colon && string2ll(words[1], sdsLen(words[1]), &slot) &&
                string2ll(colon + 1, strlen(colon + 1), &port) && port > 0 && port <= 65535;
    if (good) {
        slice host = sliceOf(words[2], (size_t)(colon - words[2]));
        sessionSetAddress(s, host.len ? host : sliceStr(s->options->target.host), (int)port);
        *asking = asks;
        if (s->reads_lines && (s->options->style == STYLE_PRETTY || s->options->style == STYLE_RAW)) {
            sds address = sessionAddress(s);
            printf("-> Redirected to slot [%lld] located at %s\n", slot, address);
            sdsFree(address);
        }
    }
    sdsFreeSplitRes(words, count);
    return good;
}

/* Sends a command, follows redirections if the options say so, and returns its (first) reply. After REDIRECTIONS_MAX
 * redirections the last one is the reply. NULL if a connection is broken. */
static replyValue *askCluster(cliSession *s, int argc, const slice *argv, bool confirmation_wanted) {
    bool asking = false;
    for (int hops = 0;; hops++) {
        replyValue *v = asking ? linkCall(s->link, "ASKING", NULL) : NULL;
        if (asking && !v) return NULL;
        replyValueFree(v);
        if (!linkSend(s->link, argc, argv)) return NULL;
        v = readReply(s, confirmation_wanted);
        /* Within MULTI the server has refused the command and the transaction: a redirection is not followed. */
        if (!v || !replyIsError(v) || !s->options->cluster || s->in_transaction || hops == REDIRECTIONS_MAX) return v;
        sds host = sdsNew(s->options->target.host);
        const char *socket = s->options->target.unix_path;
        int port = s->options->target.port;
        bool followed = takeRedirection(s, v, &asking), connected = followed && sessionConnect(s, false);
        if (followed && !connected) { /* go back to the server that can be reached */
            sessionSetAddress(s, sdsSlice(host), port);
            s->options->target.unix_path = socket;
        }
        sdsFree(host);
        if (!followed) return v;
        replyValueFree(v);
        if (!connected) return NULL;
    }
}

/* Runs one command and prints its reply, following redirections if the options say so. Returns false if the connection
 * is broken; `link` is NULL if a redirection led to a server that cannot be reached. */
static bool sessionRun(cliSession *s, int argc, const slice *argv) {
    bool subscribe = isSubscribe(argv[0]);
    bool subscription = !s->in_transaction && (subscribe || isUnsubscribe(argv[0]));
    replyValue *v = askCluster(s, argc, argv, subscription);
    if (!v) return false;
    if (subscription) return showSubscription(s, argc, subscribe, v);
    bool failed = replyIsError(v);
    if (failed && s->options->exit_on_error && !s->reads_lines) {
        fprintf(stderr, "%s\n", v->str);
        replyValueFree(v);
        exit(1);
    }
    sessionPrint(s, v, repliesText(argc, argv));
    s->unknown_command = failed && strncmp(v->str, "ERR unknown command", 19) == 0;
    if (failed) s->any_failed = true;
    if (!failed) noteEffect(s, argc, argv);
    else if (sliceIs(argv[0], "exec")) s->in_transaction = false;
    replyValueFree(v);
    if (s->subscribed && s->reads_lines) return showStream(s);
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
        /* SHUTDOWN ends the connection: that is not an error. */
        bool shutdown_sent = sliceIs(argv[0], "shutdown");
        snprintf(s->last_error, sizeof(s->last_error), "%s", s->link ? linkError(s->link) : "the redirection failed");
        bool subscription_lost = s->subscribed && !isSubscribe(argv[0]);
        bool retry = s->link && s->interactive && !s->in_transaction && !shutdown_sent && !subscription_lost;
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
