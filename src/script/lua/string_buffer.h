/* string_buffer.h -- bytes that a C function of Lua puts together while it walks tables.
 *
 * luaL_Buffer keeps its pieces on the stack of Lua, where a walk has its keys and values; this one has one place there.
 * It is memory of Lua: what throws meanwhile loses nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_STRING_BUFFER_H
#define SCRIPT_STRING_BUFFER_H

#include "interpreter.h"

#include <string.h>

typedef struct stringBuffer {
    lua_State *L;
    int place;   /* on the stack: the userdata that holds the bytes; nil while `first` does */
    char *bytes; /* borrowed from there: the struct must stay where it is */
    size_t len, room;
    char first[256];
} stringBuffer;

/* Takes one place on the top of the stack, which stays its own. */
void stringBufferInit(stringBuffer *t, lua_State *L);
/* Room for so many bytes more; throws when there is no memory. */
void stringBufferGrow(stringBuffer *t, size_t more);
/* Push the bytes as a string. */
void stringBufferPush(stringBuffer *t);

static inline void stringBufferReserve(stringBuffer *t, size_t more) {
    if (unlikely(t->room - t->len < more)) stringBufferGrow(t, more);
}

static inline void stringBufferAdd(stringBuffer *t, const void *bytes, size_t len) {
    stringBufferReserve(t, len);
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

static inline void stringBufferAddByte(stringBuffer *t, uint8_t byte) {
    stringBufferReserve(t, 1);
    t->bytes[t->len++] = (char)byte;
}

#endif
