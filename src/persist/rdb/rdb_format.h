/* rdb_format.h -- the frame of an RDB file: everything but keys and values.
 *
 *   magic  AUX ...  (SELECTDB  RESIZEDB  key ...) for each database that has keys  EOF  checksum
 *   key:   [EXPIRE_MS 8 bytes]  [IDLE len | FREQ 1 byte]  type  name  value
 *
 * Not here    types of values and versions (object/rdb_value.h), lengths and strings (object/rdb_string.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_FORMAT_H
#define PERSIST_RDB_FORMAT_H

#include "rdb_value.h"

/* A file begins with six letters and the version as three digits. */
#define RDB_MAGIC "VALKEY"
#define RDB_MAGIC_OLD "REDIS0" /* of files with versions below RDB_VERSION */
#define RDB_MAGIC_BYTES 9
#define RDB_CHECKSUM_BYTES 8       /* CRC-64 of all bytes before it, little-endian; zeros if none was computed */
#define RDB_VERSION_CHECKSUM_MIN 5 /* older files have no checksum after EOF */

/* Opcodes: they are where the type of a key could be. */
enum {
    RDB_OP_SLOT_IMPORT = 243,
    RDB_OP_SLOT_INFO = 244, /* written by other servers; a hint for the slots' tables */
    RDB_OP_FUNCTION = 245,
    RDB_OP_FUNCTION_OLD = 246,
    RDB_OP_MODULE_AUX = 247,
    RDB_OP_IDLE = 248,
    RDB_OP_FREQ = 249,
    RDB_OP_AUX = 250,
    RDB_OP_RESIZEDB = 251,
    RDB_OP_EXPIRE_MS = 252,
    RDB_OP_EXPIRE_S = 253, /* written by old servers */
    RDB_OP_SELECTDB = 254,
    RDB_OP_EOF = 255
};

/* Names of AUX fields, compared without case. */
#define RDB_AUX_VALKEY_VERSION "valkey-ver"
#define RDB_AUX_REDIS_VERSION "redis-ver"
#define RDB_AUX_BITS "redis-bits"
#define RDB_AUX_CREATED "ctime"
#define RDB_AUX_USED_MEMORY "used-mem"
#define RDB_AUX_REPL_DB "repl-stream-db"
#define RDB_AUX_REPL_ID "repl-id"
#define RDB_AUX_REPL_OFFSET "repl-offset"
#define RDB_AUX_REPL_NODE "repl-node" /* ours: other servers ignore it */
#define RDB_AUX_AOF_BASE "aof-base"
#define RDB_AUX_AOF_PREAMBLE "aof-preamble" /* the same, written by older servers */
#define RDB_AUX_SLOT_INFO "slot-info"       /* of the slot of the keys that follow */
#define RDB_AUX_SLOT_STATES "cluster-slot-states"
#define RDB_AUX_LUA "lua" /* a script, written by older servers */

#endif
