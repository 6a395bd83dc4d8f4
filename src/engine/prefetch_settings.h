/* prefetch_settings.h -- how many keys are fetched together: prefetch-batch-max-size.
 *
 * Read by the batch (net) and by commands of many keys; the option's table entry is net's.
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PREFETCH_SETTINGS_H
#define ENGINE_PREFETCH_SETTINGS_H

extern long long prefetch_batch_max_size; /* 0 (no prefetching) to 128 */

#endif
