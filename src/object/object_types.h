/* object_types.h -- the types that there are besides strings.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_OBJECT_TYPES_H
#define OBJECT_OBJECT_TYPES_H

/* Register the operations of each. Boot only. */
void objectTypesRegister(void);

#endif
