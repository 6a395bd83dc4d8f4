/* script_run.h -- one script or function that runs: what it may do, how it is called, how it is ended.
 *
 * One runs at a time: what would run another is refused meanwhile.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_RUN_H
#define SCRIPT_SCRIPT_RUN_H

#include "interpreter.h"
#include "program.h"
#include "script_flags.h"

/* What is to run. The function is a reference in the interpreter's registry (luaL_ref). */
typedef struct scriptCall {
    interpreter *in;
    int function;
    uint32_t flags;       /* SCRIPT_ */
    const char *name;     /* of a function; NULL for a script */
    bool as_arguments;    /* keys and arguments go to the function, in place of the globals KEYS and ARGV */
    bool read_only;       /* EVAL_RO and the like */
    bool debugged;        /* it runs at the word of its client */
    uint32_t first, keys; /* c->argv[first] is the first of so many keys; arguments stand behind them */
} scriptCall;

typedef struct scriptRun {
    program program;
    const scriptCall *call;
    int resp;    /* that the script has asked for */
    bool slow;   /* past the threshold: others are served now and then */
    bool killed; /* it ends at its next step */
    monotime started;
} scriptRun;

/* What runs now; NULL: nothing. */
scriptRun *scriptRunning(void);

/* Run it for the command of `c`, and reply with its result. */
void scriptCallRun(client *c, const scriptCall *call);

/* What others are told while a script runs and lets them in. NULL: none runs. */
const char *scriptBusyError(void);

typedef enum { KILL_DONE, KILL_NOTHING, KILL_HAS_WRITTEN, KILL_OTHER_KIND } killResult;
/* End what runs if it has not written: SCRIPT KILL a script, FUNCTION KILL a function. */
killResult scriptKill(bool function);

/* Make a sandbox ready for runs: what each needs stays at the bottom of its stack, and what runs in it is looked at now
 * and then and can be ended. */
void scriptRunPrepare(interpreter *in);
/* Boot: the client of programs. */
void scriptRunInit(void);

#endif
