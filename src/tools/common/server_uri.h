/* server_uri.h -- "valkey://user:password@host:port/db" taken apart, for the programs' -u option.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SERVER_URI_H
#define TOOLS_SERVER_URI_H

#include "platform.h"

/* Strings are zmalloc'ed or NULL where the URI does not say; port 0 and !has_db mean the same. tls: by its scheme.
 * ":password@" names a user, the empty one. */
typedef struct serverUri {
    char *host, *user, *password;
    int port, db;
    bool has_db, tls;
} serverUri;

/* Take `text` apart; percent escapes in user and password are resolved. The database is the number that the path begins
 * with, 0 where it begins with none; whether there is such a database is the server's to say. On failure returns the
 * reason as one sentence and leaves *uri empty. */
const char *serverUriParse(serverUri *uri, const char *text);
void serverUriClear(serverUri *uri);

#endif
