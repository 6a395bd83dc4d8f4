/* lib_cjson_internal.h -- shared by cjson.encode() and cjson.decode(): the settings of one instance of the library.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LIB_CJSON_INTERNAL_H
#define SCRIPT_LIB_CJSON_INTERNAL_H

#include "interpreter.h"

enum { INVALID_OFF, INVALID_ON, INVALID_NULL };

/* A userdata that is the first upvalue of the instance's functions. */
typedef struct cjsonSettings {
    int encode_max_depth, decode_max_depth;
    int number_precision; /* significant digits */
    int encode_invalid;   /* INVALID_: how NaN and infinities are encoded */
    int decode_invalid;   /* INVALID_OFF or INVALID_ON: whether these, and hexadecimal numbers, are accepted */
    int keep_buffer;      /* can be read and set, without an effect */
    int sparse_convert;   /* a sparse array becomes an object instead of an error */
    int sparse_ratio;     /* an array is sparse if it has more indexes per element than this (0: never) ... */
    int sparse_safe;      /* ... and more indexes than this */
} cjsonSettings;

/* Returns the settings of the instance whose function is running. */
static inline cjsonSettings *cjsonSettingsOf(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

/* lua_CFunctions. */
int cjsonEncode(lua_State *L);
int cjsonDecode(lua_State *L);

#endif
