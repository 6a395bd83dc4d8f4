/* web_page_test.c -- the headers of a page.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"
#include "web_page.h"

static bool has(const char *fields, const char *text) { return strstr(fields, text) != NULL; }

/* Digests of "a" and of nothing as `openssl dgst -sha256 -binary | base64` prints them. */
#define OF_A "'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='"
#define OF_NOTHING "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"

TEST(web_page_policy) {
    char fields[WEB_PAGE_FIELDS_MAX];
    webPageFieldsOf(fields, sliceStr("<style>a</style><b><script></script>x<script>a</script>"), "\"t\"");
    CHECK(has(fields, "script-src " OF_NOTHING " " OF_A "; "));
    CHECK(has(fields, "style-src " OF_A "\r\n"));
    CHECK(has(fields, "ETag: \"t\"\r\n"));
    CHECK(has(fields, "default-src 'none'; connect-src 'self'; "));
    webPageFieldsOf(fields, sliceStr("<script>open"), "\"t\"");
    CHECK(has(fields, "script-src 'none'; style-src 'none'\r\n"));
}

TEST(web_page_is_there) {
    webPageInit();
    slice page = webPage();
    CHECK(page.len > 100 && !memcmp(page.ptr, "<!doctype html>", 15));
    CHECK(has(webPageFields(), webPageEtag()));
    CHECK(has(webPageFields(), "script-src 'sha256-"));
    CHECK_EQ_INT(strlen(webPageEtag()), 18);
}
