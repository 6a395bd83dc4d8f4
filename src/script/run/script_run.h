/* script_run.h -- runs a script or function: what it may do, how it is called, how it is killed.
 *
 * Only one runs at a time; a command that would run another one meanwhile is refused.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_RUN_H
#define SCRIPT_SCRIPT_RUN_H

#include "interpreter.h"
#include "script_context.h"
#include "script_flags.h"

/* The arguments of EVAL and FCALL: the script or the name of the function, the number of keys, the keys. */
enum { SCRIPT_ARG = 1, NUMKEYS_ARG, FIRST_KEY_ARG };

/* A script or function to be run. It is a reference in the interpreter's registry (luaL_ref). */
typedef struct scriptCall {
    interpreter *in;
    int function;
    uint32_t flags;   /* SCRIPT_ */
    const char *name; /* of a function, whose parameters are keys and arguments; NULL: a script, which has KEYS, ARGV */
    bool read_only;   /* run by EVAL_RO, EVALSHA_RO or FCALL_RO */
    bool debugged;    /* it runs in the debugger */
    uint32_t keys;    /* c->argv[FIRST_KEY_ARG] is the first of so many keys; the arguments follow them */
} scriptCall;

typedef struct scriptRun {
    scriptContext context;
    const scriptCall *call;
    int resp;    /* protocol version that the script has chosen */
    bool slow;   /* it ran longer than the threshold: other clients are served now and then */
    bool killed; /* it ends at its next step */
    monotime started;
} scriptRun;

/* Returns the running script or function, or NULL. */
scriptRun *scriptRunning(void);

/* Parses the number of keys. Returns false after an error reply, which is `not_number` (NULL: the usual text) if the
 * argument is not a number. */
bool scriptReadKeyCount(client *c, const char *not_number, uint32_t *keys) must_check;
/* Runs it for the command of `c`, and replies with its result. */
void scriptCallRun(client *c, const scriptCall *call);

/* Returns the error that other clients get while a script runs and lets them be served; NULL if none runs. */
const char *scriptBusyError(void);

typedef enum { KILL_DONE, KILL_NOTHING, KILL_HAS_WRITTEN, KILL_OTHER_KIND } killResult;
/* Ends the running script if it has not written: SCRIPT KILL ends a script, FUNCTION KILL a function. */
killResult scriptKill(bool function);

/* Creates an interpreter for runs: opens its sandbox (sandboxOpen() says what `open_api` is), puts what each run needs
 * at the bottom of its stack, and sets the hook by which long runs are noticed and can be killed. Ends the process if
 * there is no memory. */
interpreter *scriptInterpreterCreate(void (*open_api)(lua_State *L));
/* Frees an interpreter; a background thread does it if `async`. */
void scriptInterpreterRelease(interpreter *in, bool async);
/* Creates the client that executes commands for scripts. Call at startup. */
void scriptRunInit(void);

#endif
