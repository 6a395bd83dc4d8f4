/* web_settings.c -- the settings of the metrics port.
 *
 * Owns        web_settings.
 * Threads     main.
 * Tests       tests/server/metrics.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "web_settings.h"

#include "sds.h"
#include "setting.h"
#include "panic.h"
#include "zmalloc.h"

webSettings web_settings;

static bool setBind(const setting *s, char **words, int count, const char **err) {
    unused(s);
    if (count == 0 || (count == 1 && words[0][0] == '\0')) {
        *err = "metrics-bind names at least one address; metrics-port 0 turns the port off";
        return false;
    }
    if (count > WEB_BIND_MAX) {
        *err = "Too many bind addresses specified.";
        return false;
    }
    debugAssert(web_settings.bind_count >= 0 && web_settings.bind_count <= WEB_BIND_MAX);
    while (web_settings.bind_count > 0) zfree(web_settings.bind[--web_settings.bind_count]);
    for (; web_settings.bind_count < count; web_settings.bind_count++)
        web_settings.bind[web_settings.bind_count] = zstrdup(words[web_settings.bind_count]);
    return true;
}

static char *getBind(const setting *s) {
    unused(s);
    return sdsJoin(web_settings.bind, web_settings.bind_count, " ");
}

static const setting rows[] = {
    INT_SETTING("metrics-port", web_settings.port, 0, 0, 65535),
    {.name = "metrics-bind",
     .type = SETTING_SPECIAL,
     .flags = SETTING_MULTI_ARG,
     .default_text = "127.0.0.1 -::1",
     .set = setBind,
     .get = getBind},
    SETTINGS_END,
};

void webSettingsRegister(void) { settingRegister(rows); }
