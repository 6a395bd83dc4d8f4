/* prefetch_settings.c -- how many keys are fetched together: prefetch-batch-max-size.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "prefetch_settings.h"

long long prefetch_batch_max_size = 16;
