/* hash.h -- the keyed hash of every dict, hash slots, and digests of passwords and scripts.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "platform.h"

/* SipHash-1-2 (Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012; c=1, d=2) under the
 * process-wide key set below. Threads: any, after the key is set at boot. */
void hashSetKey(const uint8_t key[16]);
uint64_t hashBytes(const void *p, size_t len);
/* The same for ASCII text with case ignored. */
uint64_t hashBytesNoCase(const void *p, size_t len);

/* CRC-16/XMODEM (polynomial 0x1021, start 0), as cluster key slots use it. */
uint16_t crc16(const void *p, size_t len);

/* Hash slot (0..16383) of a key: crc16 of the part between the first '{' and the next '}' when that
 * is not empty, else of the whole key. */
int keyHashSlot(const char *key, size_t len);

/* SHA-256 and SHA-1 of bytes, hexadecimal digits with NUL (passwords of users, script ids). */
void sha256Hex(char out[65], const void *p, size_t len);
void sha1Hex(char out[41], const void *p, size_t len);

#endif
