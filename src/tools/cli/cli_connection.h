/* cli_connection.h -- the connection to the server, and its state.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_CONNECTION_H
#define CLI_CONNECTION_H

#include "cli_options.h"
#include "server_link.h"

typedef struct cliConnection {
    cliOptions *options; /* borrowed */
    serverLink *link;    /* owns; NULL while not connected */
    sds host;            /* owns; host of a redirection or `connect`, to which options->target.host points; or NULL */
    int db, resp;
    bool in_transaction, subscribed, monitoring;
    bool interactive;
    bool reads_lines;     /* commands come from a terminal or a pipe, not from the command line */
    bool line_waits;      /* the next line is already buffered: poll(2) does not report it */
    bool broken;          /* a command could not be sent or its reply not read */
    bool refused;         /* the server has refused login, protocol or database */
    bool any_failed;      /* a reply was an error */
    bool unknown_command; /* the last reply was an error for an unknown command */
    bool streamed;        /* the last command printed pushes until it was interrupted */
    char last_error[LINK_ERR_LEN];
} cliConnection;

/* Connects, authenticates, and selects protocol and database. Returns false if there is no connection, with a line on
 * stderr unless `quiet`. If the server refuses a step, a line on stderr reports it, `refused` is set, and the
 * connection stays. */
bool cliConnect(cliConnection *c, bool quiet);
void cliDisconnect(cliConnection *c); /* closes the connection, if any, and resets what depends on it */
/* Sets the address of the server for the next cliConnect(). */
void cliSetAddress(cliConnection *c, slice host, int port);
/* Returns the server's name for prompt and messages: "host:port" or the path of the socket. The caller frees it. */
sds cliAddress(const cliConnection *c);
/* Runs a command `repeat` times, with the interval of the options, and prints its replies. Reconnects once if the
 * connection is lost; returns false if it breaks again. An error reply ends the program if it was started with -e and a
 * single command. */
bool cliRunRepeated(cliConnection *c, int argc, const slice *argv, long long repeat);
/* Sends a command (words ended by NULL) for a mode and returns its reply. Ends the program if the connection breaks or
 * the reply is an error. */
replyValue *cliAsk(cliConnection *c, const char *word, ...) __attribute__((sentinel));
/* Waits; returns early if a signal arrives. */
void cliPause(double seconds);

#endif
