/* object_types.c -- the operations of each type.
 *
 * Not here    the operations themselves (value_NAME.c; these use object.c, so object.c cannot name them).
 * Threads     main, at startup.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_hash.h"
#include "value_list.h"
#include "value_set.h"
#include "value_zset.h"
#include "value_stream.h"

void objectTypesRegister(void) {
    objectRegisterType(OBJ_HASH, &hash_type_ops);
    objectRegisterType(OBJ_LIST, &list_type_ops);
    objectRegisterType(OBJ_SET, &set_type_ops);
    objectRegisterType(OBJ_ZSET, &zset_type_ops);
    objectRegisterType(OBJ_STREAM, &stream_type_ops);
}
