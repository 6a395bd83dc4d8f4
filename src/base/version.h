/* version.h -- the versions that clients see.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#include "platform.h"

#define VALKEY_VERSION "9.1.2"
#define VALKEY_RELEASE_STAGE "ga"
/* Reported as redis_version in INFO, for clients that check it. */
#define REDIS_COMPATIBLE_VERSION "7.2.4"
/* The versions as numbers, a byte for each part. */
#define VALKEY_VERSION_NUMBER 0x090102
#define REDIS_COMPATIBLE_VERSION_NUMBER 0x070204

#endif
