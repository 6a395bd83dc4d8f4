/* manager_text.c -- what the cluster manager prints and asks.
 *
 * Scripts read the lines about nodes, agreement, open slots, coverage and sums: they are those of Valkey's program.
 *
 * Tests       tests/tools/cluster_create.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_text.h"
#include "terminal.h"
#include <stdio.h>

void managerSay(managerTone tone, const char *format, ...) {
    static const struct {
        const char *style, *head;
    } tones[] = {[SAY_STEP] = {"1", ">>> "},
                 [SAY_GOOD] = {"32", "[OK] "},
                 [SAY_WARNING] = {"33", "[WARNING] "},
                 [SAY_ERROR] = {"31", "[ERR] "}};
    va_list args;
    printf("%s%s", terminalStyle(tones[tone].style), tones[tone].head);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("%s\n", terminalStyle("0"));
    fflush(stdout);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

void managerPrintNode(const managerNode *n, const char *indent) {
    bool primary = managerIsPrimary(n);
    sds slots = managerCatSlots(sdsEmpty(), n->slots);
    printf("%s%c: %s %s:%d\n", indent, primary ? 'M' : 'S', n->id, n->host, n->port);
    printf("%s   slots:%s (%d slots) %s\n", indent, slots, n->slot_count, primary ? "master" : "slave");
    if (!primary) printf("%s   replicates %s\n", indent, n->primary_id);
    if (primary && n->replicas) printf("%s   %d additional replica(s)\n", indent, n->replicas);
    sdsFree(slots);
}

void managerPrintInfo(const managerView *v) {
    long long keys = 0;
    int primaries = 0;
    for (size_t i = 0; i < v->count; i++) {
        const managerNode *n = &v->nodes[i];
        if (!managerIsPrimary(n)) continue;
        printf("%s:%d (%.8s...) -> %lld keys | %d slots | %d replicas.\n", n->host, n->port, n->id, n->keys,
               n->slot_count, n->replicas);
        keys += n->keys;
        primaries++;
    }
    managerSay(SAY_GOOD, "%lld keys in %d primaries.", keys, primaries);
    printf("%.2f keys per slot on average.\n", (double)keys / HASH_SLOTS);
}

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

/* Warns of the slots that the node is importing or migrating. */
static void printOpen(const managerNode *n, bool importing) {
    sds list = sdsEmpty();
    for (size_t i = 0; i < n->open_count; i++)
        if (n->open[i].importing == importing)
            list = sdsCatPrintf(list, "%s%d", sdsLen(list) ? "," : "", n->open[i].slot);
    if (sdsLen(list))
        managerSay(SAY_WARNING, "Node %s:%d has slots in %s state %s.", n->host, n->port,
                   importing ? "importing" : "migrating", list);
    sdsFree(list);
}

void managerPrintFaults(const managerView *v, const managerFaults *faults) {
    if (faults->disagree) managerSay(SAY_ERROR, "Nodes don't agree about configuration!");
    else managerSay(SAY_GOOD, "All nodes agree about slots configuration.");
    managerSay(SAY_STEP, "Check for open slots...");
    for (size_t i = 0; i < v->count; i++) {
        printOpen(&v->nodes[i], false);
        printOpen(&v->nodes[i], true);
    }
    if (faults->open_count == 0) return;
    sds list = sdsEmpty();
    for (int slot = -1; (slot = managerSlotNext(faults->open, slot)) >= 0;)
        list = sdsCatPrintf(list, "%s%d", sdsLen(list) ? "," : "", slot);
    managerSay(SAY_WARNING, "The following slots are open: %s.", list);
    sdsFree(list);
}

void managerPrintCoverage(const managerFaults *faults) {
    managerSay(SAY_STEP, "Check slots coverage...");
    if (faults->owned_count == HASH_SLOTS) managerSay(SAY_GOOD, "All %d slots covered.", HASH_SLOTS);
    else managerSay(SAY_ERROR, "Not all %d slots are covered by nodes.", HASH_SLOTS);
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

managerAnswer managerConfirm(const managerOptions *o, const char *question) {
    if (o->yes) return ANSWER_YES;
    printf("%s (type 'yes' to accept): ", question);
    fflush(stdout);
    sds line = terminalReadLine();
    managerAnswer answer = !line ? ANSWER_NONE : strcmp(line, "yes") == 0 ? ANSWER_YES : ANSWER_NO;
    if (!line) putchar('\n');
    sdsFree(line);
    return answer;
}

sds managerAskWord(const char *question) {
    printf("%s ", question);
    fflush(stdout);
    sds line = terminalReadLine();
    if (line) {
        sdsTrim(line, " \t\r");
        return line;
    }
    printf("\n");
    managerSay(SAY_ERROR, "The input has ended before all questions were answered.");
    return NULL;
}
