/* manager_text.h -- what the cluster manager prints and asks.
 *
 * Results and refusals go to stdout, as scripts expect of this mode; errors of connections and of the command line to
 * stderr. Lines have colors at a terminal only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MANAGER_TEXT_H
#define MANAGER_TEXT_H

#include "manager_check.h"
#include "manager_options.h"

typedef enum { SAY_STEP, SAY_GOOD, SAY_WARNING, SAY_ERROR } managerTone;

/* Prints a line, which begins with ">>> ", "[OK] ", "[WARNING] " or "[ERR] ". */
void managerSay(managerTone tone, const char *format, ...) printf_like(2, 3);

/* Prints a node: role, id, address, slots, replicas or primary, each line after `indent`. */
void managerPrintNode(const managerNode *n, const char *indent);
/* Prints each primary with its keys, slots and replicas, and the sums. */
void managerPrintInfo(const managerView *v);
/* Prints what the check has found about agreement and open slots. managerPrintCoverage() prints the rest. */
void managerPrintFaults(const managerView *v, const managerFaults *faults);
void managerPrintCoverage(const managerFaults *faults);

typedef enum { ANSWER_YES, ANSWER_NO, ANSWER_NONE } managerAnswer;
/* Asks a question, to which only "yes" agrees. With --cluster-yes the answer is yes. None: input has ended. */
managerAnswer managerConfirm(const managerOptions *o, const char *question);
/* Asks for a word; the caller frees it. Returns NULL after a message at the end of input. */
sds managerAskWord(const char *question);

#endif
