/* object_types.c -- which operations belong to which type.
 *
 * Not here    what a type does (value_NAME.c, which knows object.c, so that object.c cannot know it).
 * Threads     main, at boot.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "object_types.h"

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
