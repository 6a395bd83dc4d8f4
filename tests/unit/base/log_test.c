/* log_test.c -- the formats of a log line.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "log.h"
#include "unit.h"

#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char file[64], content[8192];

static void start(void) {
    setenv("TZ", "XXX-5:30", 1);
    clockRefreshTimezone();
    snprintf(file, sizeof(file), "/tmp/unit-log-%d.log", (int)getpid());
    unlink(file);
    logSetFile(file);
    CHECK_EQ_STR(logFile(), file);
    logSetLevel(LL_DEBUG);
}

static const char *finish(void) {
    content[0] = '\0';
    FILE *f = fopen(file, "r");
    if (f) {
        content[fread(content, 1, sizeof(content) - 1, f)] = '\0';
        fclose(f);
    }
    unlink(file);
    logSetFile("");
    logSetLevel(LL_NOTICE);
    logSetFormat(LOG_FORMAT_LEGACY, LOG_TIME_LEGACY);
    logSetRole('M');
    unsetenv("TZ");
    clockRefreshTimezone();
    return content;
}

static bool like(const char *text, const char *pattern) {
    regex_t re;
    if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0) return false;
    bool yes = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    if (!yes) printf("    %s", text);
    return yes;
}

TEST(legacy_lines) {
    start();
    serverLog(LL_DEBUG, "a %d", 1);
    logSetRole('S');
    serverLog(LL_WARNING, "b");
    const char *text = finish();
    CHECK(like(text, "^[0-9]+:M [0-9]{2} [A-Z][a-z]{2} 20[0-9]{2} [0-9:]{8}\\.[0-9]{3} \\. a 1\n"
                     "[0-9]+:S [^\n]* # b\n$"));
}

TEST(other_times) {
    start();
    logSetFormat(LOG_FORMAT_LEGACY, LOG_TIME_ISO8601);
    serverLog(LL_NOTICE, "x");
    logSetFormat(LOG_FORMAT_LEGACY, LOG_TIME_MILLISECONDS);
    serverLog(LL_VERBOSE, "y");
    const char *text = finish();
    CHECK(like(text, "^[0-9]+:M 20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}\\+05:30 \\* x\n"
                     "[0-9]+:M [0-9]{13} - y\n$"));
}

TEST(logfmt_lines_stay_on_one_line) {
    start();
    logSetFormat(LOG_FORMAT_LOGFMT, LOG_TIME_LEGACY);
    serverLog(LL_VERBOSE, "he\"l\nlo\\");
    logSetRole('C');
    serverLog(LL_WARNING, "z");
    const char *text = finish();
    CHECK(like(text, "^pid=[0-9]+ role=primary timestamp=\"[^\"]*\" level=info message=\"he'l lo\\\\\"\n"
                     "pid=[0-9]+ role=RDB/AOF timestamp=\"[^\"]*\" level=warning message=\"z\"\n$"));
}

TEST(json_lines_are_json) {
    start();
    logSetFormat(LOG_FORMAT_JSON, LOG_TIME_LEGACY);
    serverLog(LL_NOTICE, "he\"l\nlo\\");
    const char *text = finish();
    CHECK(like(text, "^\\{\"pid\":[0-9]+,\"role\":\"primary\",\"timestamp\":\"[^\"]*\",\"level\":\"notice\","
                     "\"message\":\"he\\\\\"l\\\\nlo\\\\\\\\\"\\}\n$"));
}

TEST(levels_and_lengths) {
    start();
    logSetLevel(LL_WARNING);
    serverLog(LL_NOTICE, "hidden");
    char big[3000];
    memset(big, 'q', sizeof(big));
    big[sizeof(big) - 1] = '\0';
    serverLog(LL_WARNING, "%s", big);
    serverLogRaw("raw\n");
    serverLogFromSignal(LL_WARNING, "from a signal");
    serverLogFromSignal(LL_NOTICE, "hidden");
    const char *text = finish();
    CHECK(strstr(text, "hidden") == NULL);
    const char *q = strchr(text, 'q');
    CHECK(q && strspn(q, "q") == 1023);
    CHECK(strstr(text, "q\nraw\n") != NULL);
    CHECK(like(text, "[0-9]+:signal-handler \\([0-9]+\\) from a signal\n$"));
}
