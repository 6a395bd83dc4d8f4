/* server_uri.h -- parses "valkey://user:password@host:port/db", for the option -u.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SERVER_URI_H
#define TOOLS_SERVER_URI_H

#include "platform.h"

/* The parts of a URI. If it lacks a part, the string is NULL, the port 0 or has_db false. Strings are zmalloc'ed; `tls`
 * follows from the scheme. ":password@" has an empty user name, which is not the same as none. */
typedef struct serverUri {
    char *host, *user, *password;
    int port, db;
    bool has_db, tls;
} serverUri;

/* Parses `text`, resolving percent escapes in user and password. The database is the number at the start of the path, 0
 * if there is none; its range is not checked. Returns NULL, or the reason as one sentence with *uri empty. */
const char *serverUriParse(serverUri *uri, const char *text);
void serverUriClear(serverUri *uri); /* frees the strings, after overwriting the password */

#endif
