/* lib_cjson_internal.h -- what the two directions of `cjson` share: the settings of one instance of the library.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LIB_CJSON_INTERNAL_H
#define SCRIPT_LIB_CJSON_INTERNAL_H

#include "interpreter.h"

enum { INVALID_OFF, INVALID_ON, INVALID_NULL };

/* Lies in a userdata that is the first upvalue of the instance's functions. */
typedef struct cjsonSettings {
    int encode_max_depth, decode_max_depth;
    int number_precision; /* significant digits */
    int encode_invalid;   /* INVALID_: NaN and the infinities */
    int decode_invalid;   /* INVALID_OFF, INVALID_ON: these, and hexadecimal numbers */
    int keep_buffer;      /* is told, and means nothing */
    int sparse_convert;   /* a sparse array is an object instead of an error */
    int sparse_ratio;     /* sparse: more than so many places for each element (0: never) ... */
    int sparse_safe;      /* ... and more than these */
} cjsonSettings;

static inline cjsonSettings *cjsonSettingsOf(lua_State *L) {
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* lua_CFunctions. */
int cjsonEncode(lua_State *L);
int cjsonDecode(lua_State *L);

#endif
