/* object_types.h -- registers the types other than strings.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_OBJECT_TYPES_H
#define OBJECT_OBJECT_TYPES_H

/* Registers the operations of each type. Call at startup. */
void objectTypesRegister(void);

#endif
