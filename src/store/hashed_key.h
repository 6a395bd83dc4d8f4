/* hashed_key.h -- a key's name with its hash, which the parser of the command computes once.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_HASHED_KEY_H
#define STORE_HASHED_KEY_H

#include "hash.h"
#include "slice.h"

typedef struct hashedKey {
    slice name;
    uint64_t hash; /* dictHash of name */
} hashedKey;

static inline hashedKey hashedKeyOf(slice name) { return (hashedKey){name, hashBytes(name.ptr, name.len)}; }

#endif
