/* lzf_encode.h -- compress bytes into the LZF format, which liblzf and every RDB reader decompress.
 *
 * Threads     any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_LZF_ENCODE_H
#define DS_LZF_ENCODE_H

#include "platform.h"

/* Compresses `len` bytes of `in_bytes` into at most `capacity` bytes of `out`, which do not overlap. Returns the
 * compressed size, 0 if it does not fit (or len is 0). */
size_t lzfEncode(const void *in_bytes, size_t len, void *out, size_t capacity) must_check;

#endif
