/* stream_idmp.h -- producers of a stream: IDMP and IDMPAUTO of XADD.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_STREAM_IDMP_H
#define COMMANDS_STREAM_IDMP_H

#include "stream_args.h"
#include "value_stream_idmp.h"

/* The producer that XADD names, and the entry's name, which is an argument or computed. */
typedef struct streamIdmpArgs {
    uint32_t producer_arg; /* index; 0: neither IDMP nor IDMPAUTO was given */
    uint32_t name_arg;     /* index; 0: IDMPAUTO */
    uint8_t computed[STREAM_IDMP_HASH_BYTES];
} streamIdmpArgs;

#define STREAM_IDMP_BAD UINT32_MAX
/* Parses IDMP or IDMPAUTO at argument `at`. Returns the number of its arguments, 0 if it is something else, and
 * STREAM_IDMP_BAD after an error reply. */
uint32_t streamIdmpParse(client *c, uint32_t at, streamIdmpArgs *idmp) must_check;
/* Returns whether argument `i` is the name of the producer or of the entry. */
static inline bool streamIdmpHasArg(const streamIdmpArgs *idmp, uint32_t i) {
    return idmp->producer_arg && (i == idmp->producer_arg || i == idmp->name_arg);
}

/* Call before an entry is added to the stream (NULL: absent). Returns false, after the reply, if the producer has sent
 * it before, or after an error reply. `auto_id`: the ID is generated; a primary and the log have such an entry only if
 * it had been sent before. */
bool streamIdmpBegin(client *c, stream *s, streamIdmpArgs *idmp, uint32_t fields_arg, bool auto_id) must_check;
/* Returns the bytes that streamIdmpRecord() may allocate. */
size_t streamIdmpNeeds(const client *c, const streamIdmpArgs *idmp);
/* Remembers the entry, which was added with this ID. */
void streamIdmpRecord(const client *c, stream *s, const streamIdmpArgs *idmp, streamId id);
/* Adds the option as arguments of the command that is being propagated; nothing if it was not given. */
void propagateStreamIdmp(const client *c, const streamIdmpArgs *idmp);

#endif
