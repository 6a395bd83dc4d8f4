/* session.h -- the connection that the user talks over, and what is known of its state.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli_options.h"
#include "server_link.h"

typedef struct cliSession {
    cliOptions *options; /* borrowed */
    serverLink *link;    /* owns; NULL while not connected */
    sds host;            /* owns; where a redirection or `connect` led, lent to the options; NULL: nowhere yet */
    int db, resp;
    bool in_transaction, subscribed, monitoring;
    bool interactive;
    bool reads_lines;     /* commands come from a terminal or a pipe, not from the command line */
    bool line_waits;      /* the next line has been read already: poll(2) says nothing of it */
    bool broken;          /* a command could not be sent or its reply not be read */
    bool refused;         /* login, protocol or database */
    bool any_failed;      /* a reply was an error */
    bool unknown_command; /* the last reply said so */
    bool streamed;        /* the last command showed what came until it was left */
    char last_error[LINK_ERR_LEN];
} cliSession;

/* Connect, authenticate, choose protocol and database. False when there is no connection (told on stderr unless
 * `quiet`); a refusal by the server is told and noted, and the connection stays. */
bool sessionConnect(cliSession *s, bool quiet);
void sessionDisconnect(cliSession *s);
/* From now on the server is this one. Does not connect. */
void sessionSetAddress(cliSession *s, slice host, int port);
/* As the prompt and messages name the server: "host:port" or the socket's path. */
sds sessionAddress(const cliSession *s);
/* Run a command `repeat` times, with the options' interval, and print its replies; connects again once when the
 * connection was lost. False when it broke again. An error ends the program if the options say so and there is one
 * command only. */
bool sessionRunRepeated(cliSession *s, int argc, const slice *argv, long long repeat);
/* Send words (ended by NULL) for a mode; ends the program when the connection breaks or the server answers an error. */
replyValue *sessionAsk(cliSession *s, const char *word, ...) __attribute__((sentinel));
/* Wait; returns early when a signal comes. */
void sessionPause(double seconds);
/* Set by SIGINT while a stream is shown. */
extern volatile int session_interrupted;

#endif
