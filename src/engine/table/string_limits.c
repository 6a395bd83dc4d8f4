/* string_limits.c -- the maximal length of a string value.
 *
 * Not here    the limit of one argument on the wire, which the thread that reads it checks (net).
 * Threads     main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "string_limits.h"

long long string_bytes_max = 512ll * 1024 * 1024;
