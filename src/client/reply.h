/* reply.h -- building replies: addReply*.
 *
 * A reply goes into the client's chain of reply blocks as bytes, or as a reference to a value that the
 * stream half will send from where it lies. Main only appends; the chain is handed to the stream as a whole.
 * Nothing is added for a client that is to be closed or has replies off.
 *
 * Places where a reply ends or may be refused are few: each function below adds a whole protocol element or nothing.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_REPLY_H
#define CLIENT_REPLY_H

#include "client.h"
#include "listpack.h"
#include "reply_block.h"

/* Take the client's chain for the stream (NULL if none); its bytes stay counted in c->output_bytes until
 * clientOutputWritten(). Not while a deferred length is open. */
replyBlock *clientTakeReplies(client *c);
/* `bytes` of what was taken are on the wire, or were thrown away with the connection; the blocks in `done` (NULL: none)
 * are not needed any more: takes them. True when that ended CLIENT_OUTPUT_FULL: its commands may go on. */
bool clientOutputWritten(client *c, replyBlock *done, size_t bytes);
/* Throw away what the chain has, for a client without a stream: its first block stays for what comes. */
void clientDropReplies(client *c);
/* Output that came to the stream without being counted (fan_out.h), and that a socket has not taken: it is counted from
 * now on, until clientOutputWritten(). */
typedef struct keptOutput {
    size_t bytes, cost; /* on the wire; in memory (replyBlockCost) */
    uint32_t blocks;
} keptOutput;
void clientOutputKept(client *c, const keptOutput *kept);
/* Bytes waiting in the chain. */
bool clientHasReplies(const client *c);
/* Assert that the open chain, and the places of deferred lengths in it, are sound (clientCheck() does). */
void replyCheck(const client *c);

/* --- raw ----------------------------------------------------------------------------------------- */
void addReplyProto(client *c, const char *p, size_t len); /* bytes that are RESP already */
/* Bytes that go to many clients: made a value once (counted for the caller), to which the replies refer. NULL: too few
 * to be worth it, or no memory; then addReplyShared() copies. */
robj *replyShare(slice bytes) must_check;
/* Bytes that are RESP already, or part of it; `shared` is what replyShare() made of them. */
void addReplyShared(client *c, slice bytes, robj *shared);
/* A part of a RAW string by reference, whatever its size, which costs the client nothing: whoever gives it keeps the
 * string, and counts it, as long as the client may be sent it (client.external_output). */
void addReplyExternal(client *c, robj *o, slice part);
void addReplySds(client *c, sds s); /* the same as addReplyProto(), frees s */
/* "<prefix><text>\r\n", whose text is anybody's: CR and LF in it become blanks. As one piece, so that neither a limit
 * nor a lack of memory cuts it in two. */
void addReplyLine(client *c, const char *prefix, slice text);

/* --- shared -------------------------------------------------------------------------------------- */
void addReplyOk(client *c);
void addReplyNull(client *c);      /* RESP3 _ ; RESP2 $-1 */
void addReplyNullArray(client *c); /* RESP3 _ ; RESP2 *-1 */
void addReplyEmptyArray(client *c);
void addReplyZero(client *c);
void addReplyOne(client *c);
void addReplyStatus(client *c, const char *text); /* +text */
void addReplyStatusFormat(client *c, const char *fmt, ...) printf_like(2, 3);
#define addReplyQueued(c) addReplyStatus(c, "QUEUED")
#define addReplyPong(c) addReplyStatus(c, "PONG")

/* --- errors: text that begins with '-' is sent as it is (its code is the first word), else "-ERR " goes before it. CR
 * and LF become blanks. Every error counts in errorstats, also when the client hears nothing of it.
 * --------------------------------- */
void addReplyError(client *c, const char *text);
void addReplyErrorFormat(client *c, const char *fmt, ...) printf_like(2, 3);
void addReplyErrorSlice(client *c, slice text);
/* As addReplyErrorSlice(), for a text that a script has made: INFO errorstats keeps only so many of such codes. */
void addReplyErrorOfScript(client *c, slice text);
/* An error that was counted when it arose, under another client's name or another code: here the command has failed,
 * no more. clientCountError() counts one of this code. */
void addReplyErrorCounted(client *c, slice text);
/* Who hears of errors that go to a primary, to a replica, or to nobody as the log is loaded. Boot only. */
void replyErrorOnUnexpected(void (*fn)(client *c, slice text));
void clientCountError(slice code);
void addReplyErrorArity(client *c);  /* wrong number of arguments for '%s' command */
void addReplyErrorExpire(client *c); /* invalid expire time in '%s' command */
void addReplySyntaxError(client *c);
void addReplyWrongType(client *c);
void addReplyNoKeyError(client *c);      /* ERR no such key */
void addReplyNotIntegerError(client *c); /* ERR value is not an integer or out of range */
void addReplyNotFloatError(client *c);
void addReplyNoMemory(client *c);          /* OOM: what this takes cannot be had */
void addReplyUnknownSubcommand(client *c); /* unknown subcommand '%.128s'. Try %s HELP. */
void addReplySubcommandSyntaxError(
    client *c); /* unknown subcommand or wrong number of arguments for '%.128s'. Try %s HELP. */
bool checkType(client *c, const robj *o,
               objectTypeId type); /* true and WRONGTYPE sent when o is another type; NULL is fine */

/* --- values --------------------------------------------------------------------------------------- */
void addReplyLongLong(client *c, long long n);
void addReplyBulk(client *c, slice bytes);
void addReplyBulkCString(client *c, const char *s); /* NULL: null */
void addReplyBulkSds(client *c, sds s);             /* frees s */
void addReplyBulkLongLong(client *c, long long n);
void addReplyBulkFormat(client *c, const char *fmt, ...) printf_like(2, 3);
/* `n` entries of a listpack as bulks, that at `at` and those behind it, or, backward, before it. */
void addReplyListpack(client *c, const uint8_t *lp, const uint8_t *at, size_t n, bool backward);
/* Whether replies made from now on will be written by the thread that makes them. Another one is sent references to all
 * but the smallest values, so that main never touches their bytes; where the same thread does both, a copy costs less
 * than a piece of its own does the kernel, up to REPLY_COPIED_HERE. */
#define REPLY_COPIED_ELSEWHERE 64
#define REPLY_COPIED_HERE 1536
void replyWrittenHere(bool here);
/* While a child process shares the pages of the values (store/shared_pages.h) a reference, which raises a count beside
 * the value, copies a page: only values beside which that is nothing are referred to. */
#define REPLY_COPIED_SHARED (256 * 1024)
void replyCopyShared(bool shared);
bool replyCopiesShared(void);
/* A string value as bulk: by reference when offload is on and it is so large at least, else copied. The object's own
 * count is raised. */
void addReplyBulkObject(client *c, robj *o);
/* A part of a string value (GETRANGE), same rule, but less than half of the value is always copied. */
void addReplyBulkObjectRange(client *c, robj *o, size_t from, size_t len);
void addReplyDouble(client *c, double d);
void addReplyHumanLongDouble(client *c, long double d);
void addReplyBool(client *c, bool b);
void addReplyBigNum(client *c, slice digits);
void addReplyVerbatim(client *c, slice text, const char ext[3]); /* RESP2: bulk */
void addReplyArrayLen(client *c, long long n);
void addReplyMapLen(client *c, long long pairs);       /* RESP2: array of 2n */
void addReplySetLen(client *c, long long n);           /* RESP2: array */
void addReplyPushLen(client *c, long long n);          /* RESP2: array */
void addReplyAttributeLen(client *c, long long pairs); /* RESP3 only */
/* Returns true once the client is to be closed, as its output limit has been reached: nothing that is added is sent. A
 * loop that does no more than add elements to a reply ends then. */
static inline bool replyIsOver(const client *c) {
    return c->flags & CLIENT_CLOSE_ASAP;
}
/* A length that is known only later: what is added between goes behind it. May nest. */
void *addReplyDeferredLen(client *c); /* NULL when the client gets no replies; the innermost place is set first */
void setDeferredArrayLen(client *c, void *place, long long n);
void setDeferredMapLen(client *c, void *place, long long pairs);
void setDeferredSetLen(client *c, void *place, long long n);
void setDeferredPushLen(client *c, void *place, long long n);
/* A reply was begun that cannot be brought to its end: lengths which were deferred since `outer` was the innermost
 * place (c->deferred) stay unknown, and the connection is closed. False: there are none, a reply can still be given. */
bool addReplyGiveUp(client *c, const void *outer) must_check;
/* "<CMD> <subcommand> [<arg> [value] [opt] ...]. Subcommands are:" and the lines, NULL-ended, then HELP. */
void addReplyHelp(client *c, const char *const *lines);

/* --- argument parsing that answers ----------------------------------------------------------------- */
/* False when the argument is bad: then an error was sent (`msg` or the usual text). */
bool getLongLongFromArg(client *c, uint32_t index, long long *out, const char *msg) must_check;
bool getRangeLongFromArg(client *c, uint32_t index, long long min, long long max, long long *out,
                         const char *msg) must_check;
bool getPositiveLongFromArg(client *c, uint32_t index, long long *out, const char *msg) must_check;
bool getDoubleFromArg(client *c, uint32_t index, double *out, const char *msg) must_check;
bool getLongDoubleFromArg(client *c, uint32_t index, long double *out, const char *msg) must_check;
bool getIntFromArg(client *c, uint32_t index, int *out, const char *msg) must_check;

/* --- statistics ------------------------------------------------------------------------------------ */
/* Error codes and how often each was sent (INFO errorstats). */
void clientErrorStatsEach(void (*fn)(void *arg, slice code, long long count), void *arg);
void clientErrorStatsReset(void);

#endif
