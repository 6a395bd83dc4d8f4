/* server_uri_test.c -- parsing URIs of servers.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_uri.h"
#include "unit.h"

static void expect(const char *text, const char *host, int port, const char *user, const char *password, int db) {
    serverUri uri;
    CHECK_EQ_STR(serverUriParse(&uri, text), NULL);
    CHECK_EQ_STR(uri.host, host);
    CHECK_EQ_INT(uri.port, port);
    CHECK_EQ_STR(uri.user, user);
    CHECK_EQ_STR(uri.password, password);
    CHECK_EQ_INT(uri.has_db ? uri.db : -1, db);
    serverUriClear(&uri);
}

TEST(uri_parts_are_optional) {
    expect("valkey://", NULL, 0, NULL, NULL, -1);
    expect("redis://h", "h", 0, NULL, NULL, -1);
    expect("VALKEY://h:1", "h", 1, NULL, NULL, -1);
    expect("valkey://:1", NULL, 1, NULL, NULL, -1);
    expect("valkey://h/", "h", 0, NULL, NULL, -1);
    expect("valkey://h/3", "h", 0, NULL, NULL, 3);
    expect("valkey://pw@h", "h", 0, NULL, "pw", -1);
    expect("valkey://:pw@h", "h", 0, "", "pw", -1);
    expect("valkey://:@h", "h", 0, "", "", -1);
    expect("valkey://@h", "h", 0, NULL, "", -1);
    expect("valkey://u:pw@h:6380/12", "h", 6380, "u", "pw", 12);
    expect("valkey://[::1]:6380/1", "::1", 6380, NULL, NULL, 1);
    expect("redis://h:1/3?ssl_cert_reqs=none", "h", 1, NULL, NULL, 3);
    expect("redis://h:1?db=3", "h", 1, NULL, NULL, -1);
    expect("redis://h/?a=b/c", "h", 0, NULL, NULL, -1);
    expect("redis://h/3/4#part", "h", 0, NULL, NULL, 3);
    expect("redis://:p?w@h/3#part", "h", 0, "", "p?w", 3);
}

TEST(uri_database_is_the_number_at_the_start_of_the_path) {
    expect("redis://h/x", "h", 0, NULL, NULL, 0);
    expect("redis://h/x3", "h", 0, NULL, NULL, 0);
    expect("redis://h/%33", "h", 0, NULL, NULL, 0);
    expect("redis://h/3x", "h", 0, NULL, NULL, 3);
    expect("redis://h/03", "h", 0, NULL, NULL, 3);
    expect("redis://h/-2", "h", 0, NULL, NULL, -2);
    expect("redis://h/99999999999999999999", "h", 0, NULL, NULL, INT32_MAX);
    expect("redis://h/4294967299", "h", 0, NULL, NULL, INT32_MAX);
}

TEST(uri_scheme_says_whether_it_is_tls) {
    static const struct {
        const char *text;
        bool tls;
    } uris[] = {{"valkey://h", false}, {"redis://h", false}, {"valkeys://h", true}, {"REDISS://h", true}};
    for (size_t i = 0; i < array_len(uris); i++) {
        serverUri uri;
        CHECK(serverUriParse(&uri, uris[i].text) == NULL);
        CHECK(uri.tls == uris[i].tls);
        serverUriClear(&uri);
    }
}

TEST(uri_escapes_are_resolved_in_names_only) {
    expect("valkey://a%20b:p%40%2f@h", "h", 0, "a b", "p@/", -1);
    expect("valkey://u:p@x@h", "h", 0, "u", "p@x", -1);
}

TEST(uri_escape_without_two_digits_is_an_error) {
    static const char *const bad[] = {"redis://p%4@h", "redis://%zz:x@h", "redis://u:%4g@h"};
    for (size_t i = 0; i < array_len(bad); i++) {
        serverUri uri;
        CHECK_EQ_STR(serverUriParse(&uri, bad[i]), "Illegal character in URI encoding");
    }
    serverUri uri;
    CHECK_EQ_STR(serverUriParse(&uri, "redis://p%@h"), "Incomplete URI encoding");
}

TEST(uri_errors_are_told) {
    static const char *const bad[] = {"",
                                      "foo",
                                      "http://h",
                                      "valkey://h:port",
                                      "valkey://h:0",
                                      "valkey://h:65536",
                                      "valkey://%4@h",
                                      "valkey://%zz:x@h",
                                      "valkey://[::1",
                                      "valkeyss://h",
                                      "valkeys://h:0"};
    for (size_t i = 0; i < array_len(bad); i++) {
        serverUri uri;
        CHECK(serverUriParse(&uri, bad[i]) != NULL);
        CHECK(uri.host == NULL && uri.user == NULL && uri.password == NULL);
    }
}
