/* server_uri.c -- parses "valkey://user:password@host:port/db", for the option -u.
 *
 *     scheme "://" [ [ user ":" ] password "@" | user ":" password "@" ] [ host [ ":" port ] ]
 *            [ "/" db [ "/" path ] ] [ "?" query ] [ "#" fragment ]
 *
 * Path, query and fragment are for client libraries, and ignored here. A single word before the "@" is the password of
 * the default user. The scheme is valkey or redis, or valkeys or rediss for TLS. A host may be enclosed in brackets, as
 * IPv6 addresses are.
 *
 * Tests       tests/unit/tools/server_uri_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_uri.h"
#include "slice.h"
#include "numbers.h"
#include "zmalloc.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static char *serverUriCopy(const char *p, size_t len) {
    char *out = zmalloc(len + 1);
    memcpy(out, p, len);
    out[len] = '\0';
    return out;
}

/* Copies [p, p+len) with %XX resolved to *copied, which is zmalloc'ed. Returns NULL, or the reason if an escape is
 * malformed. */
static const char *copyUnescaped(char **copied, const char *p, size_t len) {
    char *to = *copied = zcalloc(1, len + 1);
    for (const char *end = p + len; p < end; p++) {
        if (*p != '%') {
            *to++ = *p;
            continue;
        }
        if (end - p == 1) return "Incomplete URI encoding";
        if (end - p == 2 || hexDigit(p[1]) < 0 || hexDigit(p[2]) < 0) return "Illegal character in URI encoding";
        *to++ = (char)(hexDigit(p[1]) * 16 + hexDigit(p[2]));
        p += 2;
    }
    return NULL;
}

static const char *parseLogin(serverUri *uri, const char *p, const char *at) {
    const char *colon = memchr(p, ':', (size_t)(at - p)), *err = NULL;
    if (colon) {
        err = copyUnescaped(&uri->user, p, (size_t)(colon - p));
        p = colon + 1;
    }
    return err ? err : copyUnescaped(&uri->password, p, (size_t)(at - p));
}

static const char *parseAddress(serverUri *uri, const char *p, const char *end) {
    const char *host_end;
    if (p < end && *p == '[') {
        host_end = memchr(p, ']', (size_t)(end - p));
        if (!host_end) return "Invalid host in URI";
        uri->host = serverUriCopy(p + 1, (size_t)(host_end - p - 1));
        p = host_end + 1;
    } else {
        host_end = memchr(p, ':', (size_t)(end - p));
        if (!host_end) host_end = end;
        if (host_end > p) uri->host = serverUriCopy(p, (size_t)(host_end - p));
        p = host_end;
    }
    if (p == end) return NULL;
    long long port;
    if (*p != ':' || !string2ll(p + 1, (size_t)(end - p - 1), &port) || port < 1 || port > 65535)
        return "Invalid port in URI";
    uri->port = (int)port;
    return NULL;
}

static const char *parseBody(serverUri *uri, const char *p) {
    const char *end = p + strlen(p), *at = strrchr(p, '@'), *err = NULL;
    if (at) {
        err = parseLogin(uri, p, at);
        p = at + 1;
    }
    end = p + strcspn(p, "?#");
    const char *slash = memchr(p, '/', (size_t)(end - p));
    if (!err) err = parseAddress(uri, p, slash ? slash : end);
    if (err || !slash || slash + 1 == end) return err;
    long db = strtol(slash + 1, NULL, 10); /* 0 if it is no number */
    uri->has_db = true;
    uri->db = (int)(db < INT32_MIN ? INT32_MIN : db > INT32_MAX ? INT32_MAX : db);
    return NULL;
}

const char *serverUriParse(serverUri *uri, const char *text) {
    static const struct {
        const char *text;
        bool tls;
    } schemes[] = {{"valkey://", false}, {"redis://", false}, {"valkeys://", true}, {"rediss://", true}};
    *uri = (serverUri){0};
    for (size_t i = 0; i < array_len(schemes); i++) {
        size_t len = strlen(schemes[i].text);
        if (strncasecmp(text, schemes[i].text, len) != 0) continue;
        uri->tls = schemes[i].tls;
        const char *err = parseBody(uri, text + len);
        if (err) serverUriClear(uri);
        return err;
    }
    return "Invalid URI scheme";
}

void serverUriClear(serverUri *uri) {
    zfree(uri->host);
    zfree(uri->user);
    if (uri->password) memset(uri->password, 0, strlen(uri->password));
    zfree(uri->password);
    *uri = (serverUri){0};
}
