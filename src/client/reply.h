/* reply.h -- building replies: addReply*.
 *
 * A reply is appended to the client's chain of reply blocks, as bytes or as a reference to a value whose bytes the
 * owner thread sends from where they are. Main only appends; the chain is handed to the client's I/O half as a whole.
 * Nothing is added for a client that is to be closed or has replies off.
 *
 * Each function below adds a whole protocol element or nothing, so that a reply never ends within one.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_REPLY_H
#define CLIENT_REPLY_H

#include "client.h"
#include "listpack.h"
#include "reply_block.h"

/* Returns the client's chain and leaves it empty (NULL if there is none). Its bytes count in c->output_bytes until
 * clientOutputWritten(). Must not be called while a deferred length is open. */
replyBlock *clientTakeReplies(client *c);
/* Reports that `bytes` of the chains that were taken are on the wire, or were dropped with the connection. Releases the
 * blocks in `done` (NULL: none). Returns true if that cleared CLIENT_OUTPUT_FULL: the client may execute commands
 * again. */
bool clientOutputWritten(client *c, replyBlock *done, size_t bytes);
/* Drops the contents of a fake client's chain. A single small block is kept for the next reply. */
void clientDropReplies(client *c);
/* Output that the I/O half got without being counted (fan_out.h), and that a socket has not accepted.
 * clientOutputKept() counts it from then on, until clientOutputWritten(). */
typedef struct keptOutput {
    size_t bytes, cost; /* on the wire; in memory (replyBlockCost) */
    uint32_t blocks;
} keptOutput;
void clientOutputKept(client *c, const keptOutput *kept);
/* Returns true if the chain has a block. */
bool clientHasReplies(const client *c);
/* Asserts the invariants of the open chain and of the deferred lengths in it. clientCheck() calls it. */
void replyCheck(const client *c);

/* --- raw ----------------------------------------------------------------------------------------- */
void addReplyProto(client *c, const char *p, size_t len); /* appends bytes that are RESP already */
/* Returns a string value of bytes that go to many clients, so that their replies can refer to it; the caller owns one
 * count. Returns NULL if the bytes are too few for that or there is no memory: addReplyShared() then copies. */
robj *replyShare(slice bytes) must_check;
/* Appends bytes that are RESP already, or part of it. `shared` is the result of replyShare() for them. */
void addReplyShared(client *c, slice bytes, robj *shared);
/* Appends a part of a RAW string as a counted reference, whatever its size. Its memory does not count in output_memory:
 * instead the caller, which keeps the string, counts it in client.external_output as long as the client may be sent
 * it. */
void addReplyExternal(client *c, robj *o, slice part);
void addReplySds(client *c, sds s); /* as addReplyProto(); frees s */
/* Appends "<prefix><text>\r\n"; each CR and LF in the text becomes a blank. It is one piece, so that neither a limit
 * nor lack of memory cuts it in two. */
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

/* --- errors -------------------------------------------------------------------------------------- */
/* A text that begins with '-' is sent as it is (its first word is the code), any other one after "-ERR ". CR and LF
 * become blanks. Every error counts in errorstats, even if the client gets no reply. Functions that are bool return
 * false, so that a function that returns false after an error reply can end with them. */
bool addReplyError(client *c, const char *text);
bool addReplyErrorFormat(client *c, const char *fmt, ...) printf_like(2, 3);
bool addReplyErrorSlice(client *c, slice text);
/* Same as addReplyErrorSlice() for a text that comes from a script: INFO errorstats counts a limited number of such
 * codes. */
void addReplyErrorOfScript(client *c, slice text);
/* Sends an error that was counted when it arose, under another client's name or another code: it counts only as a
 * failure of this client's command. */
void addReplyErrorCounted(client *c, slice text);
/* Registers the function that is called for an error to a primary, to a replica, or while the append-only file is
 * loaded. Call at startup. */
void replyErrorOnUnexpected(void (*fn)(client *c, slice text));
void clientCountError(slice code);   /* counts an error of that code in errorstats */
bool addReplyErrorArity(client *c);  /* wrong number of arguments for '%s' command */
bool addReplyErrorExpire(client *c); /* invalid expire time in '%s' command */
bool addReplySyntaxError(client *c);
void addReplyWrongType(client *c);       /* WRONGTYPE Operation against a key ... */
void addReplyNoKeyError(client *c);      /* ERR no such key */
bool addReplyNotIntegerError(client *c); /* ERR value is not an integer or out of range */
bool addReplyNotFloatError(client *c);
bool addReplyNoMemory(client *c);          /* -OOM: not enough memory for the command */
void addReplyUnknownSubcommand(client *c); /* unknown subcommand '%.128s'. Try %s HELP. */
/* unknown subcommand or wrong number of arguments for '%.128s'. Try %s HELP. */
bool addReplySubcommandSyntaxError(client *c);
/* Sends WRONGTYPE and returns true if `o` has another type; it may be NULL. */
bool checkType(client *c, const robj *o, objectTypeId type);

/* --- push messages (push.c): published messages, invalidations of a client's cache ------------------- */
/* A message may arrive at any time, but never between the parts of a reply: while a command of the client runs the
 * message is held, and it follows the reply of that command (within a transaction, the reply of EXEC). Messages are
 * sent even if replies are off. */
/* Enclose the addition of one or more complete messages. In between no deferred length may be opened and no push for
 * another client begun; pairs do not nest. */
void pushBegin(client *c);
void pushEnd(client *c);
/* Appends the held messages to the replies. Call when a command has ended, if CLIENT_PUSHES_HELD is set (upper layers
 * also set it for messages that they have not made yet). */
void pushesRelease(client *c);

/* --- values --------------------------------------------------------------------------------------- */
void addReplyLongLong(client *c, long long n);
void addReplyBulk(client *c, slice bytes);
void addReplyBulkCString(client *c, const char *s); /* s NULL: a null */
void addReplyBulkSds(client *c, sds s);             /* frees s */
void addReplyBulkLongLong(client *c, long long n);
void addReplyBulkFormat(client *c, const char *fmt, ...) printf_like(2, 3);
/* Adds `n` entries of a listpack as bulk strings: that at `at` and the following ones or, if `backward`, the previous
 * ones. */
void addReplyListpack(client *c, const uint8_t *lp, const uint8_t *at, size_t n, bool backward);
/* Tells whether the thread that builds replies from now on also writes them. If another thread writes them, all but the
 * smallest values are sent by reference, so that main never touches their bytes. If the same thread does both, up to
 * REPLY_COPIED_HERE bytes a copy costs less than the kernel's work for one more piece. */
#define REPLY_COPIED_ELSEWHERE 64
#define REPLY_COPIED_HERE 1536
void replyWrittenHere(bool here);
/* While a child process shares the pages of the values (store/shared_pages.h), a reference copies a page, because it
 * changes the count beside the value. So only values of at least this size are referred to while replyCopyShared(true)
 * is in force. */
#define REPLY_COPIED_SHARED (256 * 1024)
void replyCopyShared(bool shared);
bool replyCopiesShared(void); /* returns the last `shared` */
/* Adds a string value as a bulk string: by reference if offload is enabled and it is large enough, else as a copy. The
 * reference is counted. */
void addReplyBulkObject(client *c, robj *o);
/* Adds a part of a string value (GETRANGE) by the same rule; less than half of the value is always copied. */
void addReplyBulkObjectRange(client *c, robj *o, size_t from, size_t len);
void addReplyDouble(client *c, double d);                        /* RESP2: bulk */
void addReplyHumanLongDouble(client *c, long double d);          /* without an exponent; RESP2: bulk */
void addReplyBool(client *c, bool b);                            /* RESP2: 0 or 1 */
void addReplyBigNum(client *c, slice digits);                    /* RESP2: bulk */
void addReplyVerbatim(client *c, slice text, const char ext[3]); /* RESP2: bulk */
void addReplyArrayLen(client *c, long long n);
void addReplyMapLen(client *c, long long pairs);       /* RESP2: array of 2n */
void addReplySetLen(client *c, long long n);           /* RESP2: array */
void addReplyPushLen(client *c, long long n);          /* RESP2: array */
void addReplyAttributeLen(client *c, long long pairs); /* RESP3 only */
/* Returns true if the client is about to be closed because it reached its output limit: nothing that is added is sent.
 * A loop that only adds elements to a reply should end then. */
static inline bool replyIsDropped(const client *c) { return c->flags & CLIENT_CLOSE_ASAP; }
/* Begins an aggregate whose length is set after its elements were added (setDeferred...Len()). May nest: the length of
 * the innermost one is set first. */
void *addReplyDeferredLen(client *c); /* NULL if the client gets no replies */
void setDeferredArrayLen(client *c, void *gap, long long n);
void setDeferredMapLen(client *c, void *gap, long long pairs);
void setDeferredSetLen(client *c, void *gap, long long n);
void setDeferredPushLen(client *c, void *gap, long long n);
/* Abandons a reply that cannot be completed: if lengths were deferred since `outer` was the innermost one
 * (c->deferred), they stay unset, the connection is closed, and the result is true. Returns false if there are none: a
 * reply can still be sent. */
bool addReplyGiveUp(client *c, const void *outer) must_check;
/* Adds the line "<CMD> <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", `lines` up to a NULL, and HELP. */
void addReplyHelp(client *c, const char *const *lines);

/* --- argument parsing that replies ----------------------------------------------------------------- */
/* Return false if the argument is invalid: an error was sent (`msg`, or the usual text if that is NULL). */
bool getLongLongFromArg(client *c, uint32_t index, long long *out, const char *msg) must_check;
bool getRangeLongFromArg(client *c, uint32_t index, long long min, long long max, long long *out,
                         const char *msg) must_check;
bool getPositiveLongFromArg(client *c, uint32_t index, long long *out, const char *msg) must_check;
bool getDoubleFromArg(client *c, uint32_t index, double *out, const char *msg) must_check;
bool getLongDoubleFromArg(client *c, uint32_t index, long double *out, const char *msg) must_check;
bool getIntFromArg(client *c, uint32_t index, int *out, const char *msg) must_check;

/* --- statistics ------------------------------------------------------------------------------------ */
/* Calls `fn` with each error code and the number of times that it was sent (INFO errorstats). */
void clientErrorStatsEach(void (*fn)(void *arg, slice code, long long count), void *arg);
void clientErrorStatsReset(void);

#endif
