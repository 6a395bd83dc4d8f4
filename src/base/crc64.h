/* crc64.h -- the checksum of RDB files and DUMP payloads.
 *
 * CRC-64/Jones: polynomial 0xad93d23594c935a9, reflected, start and xor-out 0. "123456789" gives 0xe9c6d914c4b8d9ca.
 *
 * Threads     any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CRC64_H
#define BASE_CRC64_H

#include "platform.h"

/* Returns the checksum of more bytes; `crc` is that of the bytes before, 0 at first. Uses carry-less multiplication if
 * the processor has it. */
uint64_t crc64(uint64_t crc, const void *p, size_t len);
/* Like crc64(), without it: tests compare the two. */
uint64_t crc64ByTable(uint64_t crc, const void *p, size_t len);

#endif
