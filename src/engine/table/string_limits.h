/* string_limits.h -- how long a string value may become.
 *
 * Threads     main. Net's setting proto-max-bulk-len stores it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_STRING_LIMITS_H
#define ENGINE_STRING_LIMITS_H

#include "platform.h"

extern long long string_bytes_max; /* proto-max-bulk-len */

#endif
