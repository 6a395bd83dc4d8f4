/* string_buffer.h -- a growing string for C functions that walk Lua tables.
 *
 * luaL_Buffer keeps a varying number of pieces on Lua's stack, where a walk has its keys and values; this buffer takes
 * one slot there. Its memory belongs to Lua, so an error that is thrown meanwhile does not leak it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_STRING_BUFFER_H
#define SCRIPT_STRING_BUFFER_H

#include "interpreter.h"

#include <string.h>

typedef struct stringBuffer {
    lua_State *L;
    int slot;             /* slot on the stack: the userdata with the bytes; nil while `first` holds them */
    char *bytes;          /* borrowed from there or from `first`: the struct must not move */
    size_t len, capacity; /* bytes used; capacity */
    char first[256];
} stringBuffer;

/* Initializes an empty buffer. Pushes one value, which must stay on the stack as long as the buffer is used. */
void stringBufferInit(stringBuffer *t, lua_State *L);
/* Grows the buffer for `more` bytes; throws if there is no memory. */
void stringBufferGrow(stringBuffer *t, size_t more);
/* Pushes the bytes as a string. */
void stringBufferPush(stringBuffer *t);

/* Reserve capacity, append bytes, append one byte. They throw if there is no memory. */
static inline void stringBufferReserve(stringBuffer *t, size_t more) {
    if (unlikely(t->capacity - t->len < more)) stringBufferGrow(t, more);
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
