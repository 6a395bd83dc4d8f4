/* hash.h -- the keyed hash of every dict, hash slots, digests of passwords, scripts and values, the checksum of files.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "platform.h"
#include "slice.h"

/* Set the process-wide key, and return the SipHash-1-2 under it (Aumasson, Bernstein, "SipHash: a fast short-input
 * PRF", 2012; c=1, d=2). hashBytes() runs on any thread once the key is set at startup. */
void hashSetKey(const uint8_t key[16]);
uint64_t hashBytes(const void *p, size_t len);
/* Like hashBytes(), for ASCII text with case ignored. */
uint64_t hashBytesNoCase(const void *p, size_t len);

/* Returns the CRC-16/XMODEM (polynomial 0x1021, start 0), which cluster key slots are computed from. */
uint16_t crc16(const void *p, size_t len);

/* Returns the hash slot (0..16383) of a key: crc16() of the part between the first '{' and the next '}' if that is not
 * empty, else of the whole key. */
int keyHashSlot(const char *key, size_t len);

#define HASH_SLOTS 16384
/* Writes a text of one to three letters and digits whose slot is `slot`, and a NUL. It is the first one by length, then
 * in the order 0-9, a-z, A-Z: a hash tag that Valkey's cursors have as well. Takes up to 10 us. */
void keySlotTag(int slot, char out[4]);
/* Sets whether keyHash() contains the slot (cluster mode). Call at startup, before any key is hashed. */
void keyHashSetSlots(bool on);
extern uint64_t (*key_hash)(slice key); /* const after startup; for keyHash() */
/* Returns the hash of a key, as the dicts of keys, and all others whose names are keys, use it: hashBytes(), in which
 * the key's slot replaces 14 bits if slots are on. So whatever has the hash of a key has its slot. */
static inline uint64_t keyHash(slice key) { return key_hash(key); }
#define HASH_SLOT_SHIFT 38 /* neither the low bits, which select a bucket, nor the top ones: tags of dicts, shards */
/* Returns the slot in the hash of a key, if slots are on. */
static inline int keyHashSlotOf(uint64_t hash) { return (int)(hash >> HASH_SLOT_SHIFT & (HASH_SLOTS - 1)); }

/* Write the SHA-256 or SHA-1 of bytes as hexadecimal digits with a NUL (passwords of users, script IDs). */
void sha256Hex(char out[65], const void *p, size_t len);
void sha1Hex(char out[41], const void *p, size_t len);

/* --- crc64.c: the checksum of RDB files and DUMP payloads --------------------------------------------------------- */

/* Returns the CRC-64/Jones of more bytes; `crc` is that of the bytes before, 0 at first. Uses carry-less multiplication
 * if the processor has it. (Polynomial 0xad93d23594c935a9, reflected, start and xor-out 0: "123456789" gives
 * 0xe9c6d914c4b8d9ca.) */
uint64_t crc64(uint64_t crc, const void *p, size_t len);
/* Like crc64(), without that instruction: tests compare the two. */
uint64_t crc64ByTable(uint64_t crc, const void *p, size_t len);

/* --- xxh3.c: the digest of a string that clients compute as well -------------------------------------------------- */

/* Returns XXH3 (Collet) of the bytes, 64 bits wide, with seed 0 and the default secret. */
uint64_t xxh3(const void *p, size_t len);

#endif
