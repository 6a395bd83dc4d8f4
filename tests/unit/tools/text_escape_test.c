/* text_escape_test.c -- arbitrary bytes in JSON and XML.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "result_files.h"
#include "unit.h"

static void checkJson(const char *text, const char *wanted) {
    sds out = catJsonString(sdsEmpty(), text);
    CHECK_EQ_STR(out, wanted);
    sdsFree(out);
}

static void checkXml(const char *text, const char *wanted) {
    sds out = catXmlText(sdsEmpty(), text);
    CHECK_EQ_STR(out, wanted);
    sdsFree(out);
}

TEST(text_escape_json) {
    checkJson("SET a b", "\"SET a b\"");
    checkJson("", "\"\"");
    checkJson(NULL, "null");
    checkJson("a\"b\\c\n\r\t\x01\x1f", "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u001f\"");
    checkJson("caf\xc3\xa9 \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"");
    checkJson("\xff|\xc3|\xc3\xa9", "\"\xef\xbf\xbd|\xef\xbf\xbd|\xc3\xa9\"");
    checkJson("\xef\xbf\xbd", "\"\xef\xbf\xbd\"");
}

TEST(text_escape_xml) {
    checkXml("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
    checkXml("\x01\n\xff\xef\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    checkXml("caf\xc3\xa9", "caf\xc3\xa9");
}
