/* cli_connection.c -- the connection to the server, and its state.
 *
 * The state that commands change (database, protocol, transaction, subscriptions) is derived from the commands and
 * their replies, because the prompt shows it and a new connection must restore it.
 *
 * Not here    splitting lines into words (repl.c, main.c), formats (reply_text.c).
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli_connection.h"
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

sds cliAddress(const cliConnection *c) {
    const linkTarget *t = &c->options->target;
    if (t->unix_path) return sdsNew(t->unix_path);
    return sdsCatPrintf(sdsEmpty(), strchr(t->host, ':') ? "[%s]:%d" : "%s:%d", t->host, t->port);
}

/* Checks a reply of the login. If it is an error, prints it, sets `refused` and returns false. Takes ownership of
 * `r`. */
static bool checkLogin(cliConnection *c, const char *what, replyValue *r) {
    bool refused = r && replyIsError(r);
    if (refused) {
        fprintf(stderr, "%s failed: %s\n", what, r->str);
        c->refused = true;
    }
    replyValueFree(r);
    return !refused;
}

static void selectDb(cliConnection *c) {
    char number[LONG_STR_SIZE], what[LONG_STR_SIZE + 8];
    if (c->db == 0) return;
    ll2string(number, c->db);
    snprintf(what, sizeof(what), "SELECT %s", number);
    replyValue *r = linkCall(c->link, "SELECT", number, NULL);
    if (r && replyIsError(r)) c->db = 0;
    checkLogin(c, what, r);
}

bool cliConnect(cliConnection *c, bool quiet) {
    const cliOptions *o = c->options;
    char err[LINK_ERR_LEN];
    cliDisconnect(c);
    c->link = linkOpen(&o->target, err);
    if (!c->link) {
        sds address = cliAddress(c);
        if (!quiet) fprintf(stderr, "Could not connect to Valkey at %s: %s\n", address, err);
        sdsFree(address);
        return false;
    }
    c->refused = false;
    if (o->login.password &&
        !checkLogin(c, "AUTH", toolLogIn(c->link, &o->login))) { /* no SELECT as another user than the intended one */
        c->db = 0;
        return true;
    }
    if (c->resp == 3) checkLogin(c, "HELLO 3", linkCall(c->link, "HELLO", "3", NULL));
    else if (c->resp == 2 && o->resp == 2) checkLogin(c, "HELLO 2", linkCall(c->link, "HELLO", "2", NULL));
    if (o->client_name) checkLogin(c, "CLIENT SETNAME", linkCall(c->link, "CLIENT", "SETNAME", o->client_name, NULL));
    selectDb(c);
    return true;
}

void cliDisconnect(cliConnection *c) {
    linkClose(c->link);
    c->link = NULL;
    c->in_transaction = c->subscribed = c->monitoring = false;
}

void cliSetAddress(cliConnection *c, slice host, int port) {
    sds before = c->host;
    c->host = sdsFromSlice(host); /* copied first, as `host` may point into the old one */
    c->options->target.host = c->host;
    c->options->target.port = port;
    c->options->target.unix_path = NULL;
    sdsFree(before);
}

replyValue *cliAsk(cliConnection *c, const char *word, ...) {
    va_list more;
    va_start(more, word);
    replyValue *v = linkCallList(c->link, word, more);
    va_end(more);
    if (!v) {
        fprintf(stderr, "\nI/O error: %s\n", linkError(c->link));
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
static void printReply(const cliConnection *c, const replyValue *v, bool as_text) {
    const cliOptions *o = c->options;
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
static bool updateSubscribed(cliConnection *c, const replyValue *v) {
    slice kind = kindOf(v);
    if (!isSubscribe(kind) && !isUnsubscribe(kind)) return false;
    c->subscribed = v->items[2].integer > 0;
    return true;
}

/* Prints pushes until the connection or the last subscription ends, or, if commands are read as lines, until the next
 * line (at a terminal: a key or Ctrl-C). Returns false if the connection is broken. */
static bool showStream(cliConnection *c) {
    struct sigaction act = {.sa_handler = onInterrupt}, before;
    bool connected = true, lines = c->reads_lines && !c->monitoring;
    interrupted = 0;
    c->streamed = true;
    if (c->interactive) {
        if (!c->monitoring) terminalSetKeys(); /* any key ends it, not only Enter */
        sigaction(SIGINT, &act, &before);
    }
    while (!interrupted) {
        struct pollfd p[2] = {{.fd = linkFd(c->link), .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
        if (!linkHasReply(c->link) && !linkHasInput(c->link)) {
            if (lines && c->line_waits) break;
            int ready = poll(p, lines ? 2 : 1, -1);
            if (ready < 0 && c->interactive && !c->monitoring) terminalSetKeys(); /* may have been stopped */
            if (ready < 0) continue;
            if (p[1].revents) break;
        }
        bool timed_out;
        replyValue *v = linkReadWithin(c->link, 0, &timed_out);
        if (!v && timed_out) continue;
        if (!v) {
            connected = false;
            break;
        }
        printReply(c, v, false);
        bool over = updateSubscribed(c, v) && !c->subscribed;
        replyValueFree(v);
        if (over && c->reads_lines) break;
    }
    if (c->interactive) {
        sigaction(SIGINT, &before, NULL);
        terminalRestore();
        if (interrupted && c->monitoring) {
            cliDisconnect(c);
        } else if (interrupted) {
            printf("\nThe subscription has ended. The next command uses a new connection.\n");
            cliDisconnect(c);
        }
    }
    return connected;
}

/* Returns the next reply to a command, which with `confirmation_wanted` may be the confirmation of a subscription.
 * Prints messages that arrive before it, and other pushes with --show-pushes. Returns NULL if the
 * connection is broken. */
static replyValue *readReply(cliConnection *c, bool confirmation_wanted) {
    replyValue *v;
    while ((v = linkRead(c->link))) {
        bool message = c->subscribed && isMessage(v), confirmation = v->type == '>' && updateSubscribed(c, v);
        if (confirmation ? confirmation_wanted : v->type != '>' && !message) return v;
        if (message || confirmation || c->options->show_pushes) printReply(c, v, false);
        replyValueFree(v);
    }
    return NULL;
}

/* Prints the confirmations of a subscription, one per channel (pushes in RESP3), then its messages. Takes ownership of
 * `first`. Returns false if the connection is broken. */
static bool showSubscription(cliConnection *c, int argc, bool subscribe, replyValue *first) {
    for (int i = 0; i < (argc > 1 ? argc - 1 : 1); i++) {
        replyValue *v = i == 0 ? first : readReply(c, true);
        if (!v) return false;
        printReply(c, v, false);
        bool failed = replyIsError(v);
        updateSubscribed(c, v);
        replyValueFree(v);
        if (failed) return true;
    }
    if (!c->subscribed || !(subscribe || c->reads_lines)) return true;
    if (subscribe && c->interactive && c->options->style == STYLE_PRETTY)
        printf("Reading messages... (press any key to type a command, Ctrl-C to unsubscribe)\n");
    fflush(stdout);
    return showStream(c);
}

/* ---- Commands --------------------------------------------------------------------------------------------------- */

/* Updates the state after a command that has succeeded. */
static void updateState(cliConnection *c, int argc, const slice *argv) {
    long long n;
    if (sliceIs(argv[0], "select") && argc == 2 && string2ll(argv[1].ptr, argv[1].len, &n)) c->db = (int)n;
    else if (sliceIs(argv[0], "multi")) c->in_transaction = true;
    else if (sliceIs(argv[0], "exec") || sliceIs(argv[0], "discard")) c->in_transaction = false;
    else if (sliceIs(argv[0], "hello") && argc >= 2 && string2ll(argv[1].ptr, argv[1].len, &n)) c->resp = (int)n;
    else if (sliceIs(argv[0], "reset")) {
        c->in_transaction = c->subscribed = false;
        c->db = 0;
        c->resp = 0;
    }
}

/* Sets the address from "MOVED 3999 127.0.0.1:6381" or "ASK 3999 :6381"; an empty host means the same host. Returns
 * false if the error is not a valid redirection. */
static bool setRedirection(cliConnection *c, const replyValue *v, bool *asking) {
    int count;
    long long slot, port;
    sds *words = sdsSplitLen(v->str, v->len, " ", 1, &count);
    bool asks = count == 3 && strcmp(words[0], "ASK") == 0, moved = count == 3 && strcmp(words[0], "MOVED") == 0;
    const char *colon = asks || moved ? strrchr(words[2], ':') : NULL;
    bool good = colon && string2ll(words[1], sdsLen(words[1]), &slot) &&
                string2ll(colon + 1, strlen(colon + 1), &port) && port > 0 && port <= 65535;
    if (good) {
        slice host = sliceOf(words[2], (size_t)(colon - words[2]));
        cliSetAddress(c, host.len ? host : sliceStr(c->options->target.host), (int)port);
        *asking = asks;
        if (c->reads_lines && (c->options->style == STYLE_PRETTY || c->options->style == STYLE_RAW)) {
            sds address = cliAddress(c);
            printf("-> Redirected to slot [%lld] located at %s\n", slot, address);
            sdsFree(address);
        }
    }
    sdsFreeSplitRes(words, count);
    return good;
}

/* Sends a command, follows redirections with -c, and returns its (first) reply. After REDIRECTIONS_MAX
 * redirections the last one is the reply. NULL if a connection is broken. */
static replyValue *callFollowing(cliConnection *c, int argc, const slice *argv, bool confirmation_wanted) {
    bool asking = false;
    for (int hops = 0;; hops++) {
        replyValue *v = asking ? linkCall(c->link, "ASKING", NULL) : NULL;
        if (asking && !v) return NULL;
        replyValueFree(v);
        if (!linkSend(c->link, argc, argv)) return NULL;
        v = readReply(c, confirmation_wanted);
        /* Within MULTI the server has refused the command and the transaction: a redirection is not followed. */
        if (!v || !replyIsError(v) || !c->options->cluster || c->in_transaction || hops == REDIRECTIONS_MAX) return v;
        sds host = sdsNew(c->options->target.host);
        const char *socket = c->options->target.unix_path;
        int port = c->options->target.port;
        bool followed = setRedirection(c, v, &asking), connected = followed && cliConnect(c, false);
        if (followed && !connected) { /* go back to the server that can be reached */
            cliSetAddress(c, sdsSlice(host), port);
            c->options->target.unix_path = socket;
        }
        sdsFree(host);
        if (!followed) return v;
        replyValueFree(v);
        if (!connected) return NULL;
    }
}

/* Runs one command and prints its reply, following redirections with -c. Returns false if the connection
 * is broken; `link` is NULL if a redirection led to a server that cannot be reached. */
static bool runOnce(cliConnection *c, int argc, const slice *argv) {
    bool subscribe = isSubscribe(argv[0]);
    bool subscription = !c->in_transaction && (subscribe || isUnsubscribe(argv[0]));
    replyValue *v = callFollowing(c, argc, argv, subscription);
    if (!v) return false;
    if (subscription) return showSubscription(c, argc, subscribe, v);
    bool failed = replyIsError(v);
    if (failed && c->options->exit_on_error && !c->reads_lines) {
        fprintf(stderr, "%s\n", v->str);
        replyValueFree(v);
        exit(1);
    }
    printReply(c, v, repliesText(argc, argv));
    c->unknown_command = failed && strncmp(v->str, "ERR unknown command", 19) == 0;
    if (failed) c->any_failed = true;
    if (!failed) updateState(c, argc, argv);
    else if (sliceIs(argv[0], "exec")) c->in_transaction = false;
    replyValueFree(v);
    if (c->subscribed && c->reads_lines) return showStream(c);
    if (failed || !sliceIs(argv[0], "monitor")) return true;
    c->monitoring = true;
    bool connected = showStream(c);
    c->monitoring = false;
    return connected;
}

void cliPause(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    if (seconds > 0) nanosleep(&t, NULL);
}

bool cliRunRepeated(cliConnection *c, int argc, const slice *argv, long long repeat) {
    for (long long i = 0; repeat < 0 || i < repeat; i++) {
        if (i > 0) cliPause(c->options->interval_s);
        if (!c->link && !cliConnect(c, false)) {
            c->broken = true;
            return false;
        }
        if (runOnce(c, argc, argv)) continue;
        /* SHUTDOWN ends the connection: that is not an error. */
        bool shutdown_sent = sliceIs(argv[0], "shutdown");
        snprintf(c->last_error, sizeof(c->last_error), "%s", c->link ? linkError(c->link) : "the redirection failed");
        bool subscription_lost = c->subscribed && !isSubscribe(argv[0]);
        bool retry = c->link && c->interactive && !c->in_transaction && !shutdown_sent && !subscription_lost;
        cliDisconnect(c);
        if (shutdown_sent) return true;
        if (!retry || !cliConnect(c, true) || !runOnce(c, argc, argv)) {
            fprintf(stderr, "Error: %s\n", c->last_error);
            c->broken = true;
            return false;
        }
    }
    return true;
}
