/* client_filter.h -- which clients CLIENT LIST shows and CLIENT KILL ends.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_CLIENT_FILTER_H
#define COMMANDS_CLIENT_FILTER_H

#include "client.h"

/* The criteria. Each also has a NOT- form. */
enum {
    FILTER_ADDR,
    FILTER_CAPA,
    FILTER_DB,
    FILTER_FLAGS,
    FILTER_ID,
    FILTER_IP,
    FILTER_LADDR,
    FILTER_LIB_NAME,
    FILTER_LIB_VER,
    FILTER_NAME,
    FILTER_TYPE,
    FILTER_USER,
    FILTER_CRITERIA
};

typedef struct filterValue {
    bool given;
    slice text;       /* borrowed from the arguments */
    long long number; /* DB, TYPE */
    long long *ids;   /* owns: for ID, any of these */
    size_t nids;
} filterValue;

typedef struct clientFilter {
    filterValue is[FILTER_CRITERIA], is_not[FILTER_CRITERIA];
    bool skip_me;
    long long age_s_min, idle_s_min; /* 0: no limit */
    const client *me;
} clientFilter;

/* Parses the options in c's arguments from `index` on. Returns false after an error reply. Call clientFilterFree() in
 * either case. */
bool clientFilterParse(clientFilter *f, client *c, uint32_t index, bool skip_me) must_check;
void clientFilterFree(clientFilter *f); /* frees the lists of IDs */
/* Returns whether the client meets all criteria that were given; false for a client that is about to be freed. */
bool clientFilterMatches(const clientFilter *f, const client *c);

#endif
