/* string_limits.h -- the maximal length of a string value.
 *
 * Threads     main. The setting proto-max-bulk-len, which belongs to net, stores it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_STRING_LIMITS_H
#define ENGINE_STRING_LIMITS_H

#include "platform.h"

extern long long string_bytes_max; /* proto-max-bulk-len */

#endif
