/* toy_engine.c -- see toy_engine.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "toy_engine.h"

#include "unit.h"

#include <string.h>

int toy_functions;

static sds load(functionLibrary *library, slice code, bool limited) {
    unused(limited);
    int count = 0;
    sds text = sdsFromSlice(code), error = NULL;
    sds *words = sdsSplitArgs(text, &count);
    for (int i = 0; i < count && !error; i++) {
        slice name = sdsSlice(words[i]), description = sliceStr("a word");
        if (name.ptr[0] == '!') {
            error = sdsNew(words[i] + 1);
            break;
        }
        const char *refused = functionLibraryAdd(library, name, i % 2 ? &description : NULL, (uint32_t)i, i);
        if (refused) error = sdsNew(refused);
        else toy_functions++;
    }
    sdsFreeSplitRes(words, count);
    sdsFree(text);
    return error;
}

static void forget(int function) {
    unused(function);
    toy_functions--;
}

static void reset(bool async) {
    unused(async);
    toy_functions = 0;
}

void toyEngineUse(void) {
    static const functionEngine toy = {.name = "TOY", .load = load, .forget = forget, .reset = reset};
    toy_functions = 0;
    functionEngineSet(&toy);
}

void toyLoad(functionTable *t, const char *text, bool replace, const char *want_error) {
    sds error;
    const functionLibrary *library =
        functionTableLoad(t, sliceStr(text), (functionLoading){.replace = replace}, &error);
    CHECK_EQ_STR(error ? error : "", want_error ? want_error : "");
    CHECK((library != NULL) == (error == NULL));
    sdsFree(error);
}
