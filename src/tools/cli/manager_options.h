/* manager_options.h -- what the command line says after --cluster.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MANAGER_OPTIONS_H
#define MANAGER_OPTIONS_H

#include "platform.h"

/* All texts are borrowed; NULL if not given. */
typedef struct managerOptions {
    const char *command; /* the word after --cluster */
    char **words;        /* owns the array: what is neither an option nor the value of one */
    int word_count;
    const char **weights; /* owns the array: ID=WEIGHT */
    int weight_count;
    const char *from, *to, *primary_id, *from_user, *from_password;
    long long replicas, slots, timeout_ms, pipeline;
    double threshold; /* percent */
    bool yes, search_owners, fix_unreachable, replace, copy, use_empty, simulate, as_replica;
    bool only_primaries, only_replicas, atomic, ask_from_password;
} managerOptions;

#endif
