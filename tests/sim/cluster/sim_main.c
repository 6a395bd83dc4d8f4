/* sim_main.c -- draws seeds, runs them, and explains the first fault.
 *
 *   sim-cluster [--seed N] [--seeds N] [--seconds S] [--steps N]     from seed N on, up to one of these limits
 *               [--nodes N] [--storm S] [--check-every N]
 *               [--valkeys PERCENT]    of the nodes behave as recorded of Valkey 9.1.2; default: drawn
 *               [--only FAULT,...] [--without FAULT,...] [--plant N] [--no-shrink]
 *               [--trace]          all events of one seed
 *               [--keep-going]     a line for each seed that breaks a rule
 *               [--twice]          each seed runs twice, with another key for hash tables, and must do the same
 *               [--plants]         lists the faults of the driver;  --faults lists those of the world
 *   sim-cluster --nodes 1000 --cost                                  what a large cluster costs
 *
 * Exit code: 0 no rule was broken, 1 one was, 2 wrong arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t running_seed;
static const simWorld *running;

static void printSeed(void) {
    panicPrint("seed %" PRIu64 ", at %.4f s\n", running_seed, running ? (double)running->now / 1e6 : 0.0);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void printFaults(uint64_t bits) {
    for (unsigned k = 0; k < FAULT_KINDS; k++)
        if (bits >> k & 1) printf(" %s", sim_fault_names[k]);
    printf("\n");
}

static uint64_t faultsOf(const char *words) {
    uint64_t bits = 0;
    int count;
    sds *list = sdsSplitLen(words, strlen(words), ",", 1, &count);
    for (int i = 0; i < count; i++) {
        unsigned k = 0;
        while (k < FAULT_KINDS && strcmp(list[i], sim_fault_names[k])) k++;
        if (k == FAULT_KINDS && strcmp(list[i], "none")) {
            fprintf(stderr, "no fault is named %s\n", list[i]);
            exit(2);
        }
        if (k < FAULT_KINDS) bits |= UINT64_C(1) << k;
    }
    sdsFreeSplitRes(list, count);
    return bits;
}

/* Runs a seed, and returns the rule that was broken; NULL: none. */
static const char *runOnce(const simOptions *o, uint64_t seed, simWorld *w) {
    running_seed = seed;
    running = w;
    simRun(w, o, seed);
    const char *rule = w->fault_found.found ? w->fault_found.rule : NULL;
    running = NULL;
    return rule;
}

/* Leaves out one kind of fault after the other as long as the same rule is broken. Returns those left out. */
static uint64_t shrink(const simOptions *o, uint64_t seed, const char *rule, uint64_t faults) {
    simOptions less = *o;
    static simWorld w;
    for (unsigned k = 0; k < FAULT_KINDS; k++) {
        if (!(faults >> k & 1)) continue;
        uint64_t before = less.without;
        less.without |= UINT64_C(1) << k;
        const char *again = runOnce(&less, seed, &w);
        if (!again || strcmp(again, rule)) less.without = before;
        simEnd(&w);
    }
    return less.without;
}

static void explain(const simOptions *o, const simWorld *found) {
    static simWorld w;
    simOptions again = *o;
    const char *rule = found->fault_found.rule;
    printf("FAULT seed %" PRIu64 ", %u nodes, %u primaries, node timeout %" PRIu64 " ms, at %.4f s (%s): %s: %s\n",
           found->seed, found->count, found->primaries, found->config.node_timeout_ms,
           (double)found->fault_found.at / 1e6, sim_phase_names[found->phase], rule, found->fault_found.text);
    printf("faults:");
    printFaults(found->faults);
    if (o->keep_going) return;
    if (!o->no_shrink) {
        again.without = shrink(o, found->seed, rule, found->faults);
        runOnce(&again, found->seed, &w);
        printf("needed:");
        printFaults(w.faults);
        printf("again: --seed %" PRIu64 " --seeds 1", found->seed);
        if (o->nodes) printf(" --nodes %u", o->nodes);
        if (o->plant) printf(" --plant %u", o->plant);
        printf(" --only ");
        for (unsigned k = 0, n = 0; k < FAULT_KINDS; k++)
            if (w.faults >> k & 1) printf("%s%s", n++ ? "," : "", sim_fault_names[k]);
        printf("%s\n", w.faults ? "" : "none");
        again.trace_nodes = w.fault_found.nodes;
        again.trace_from = w.fault_found.at > 3 * SECOND ? w.fault_found.at - 3 * SECOND : 1;
        printf("at %.4f s (%s): %s\n", (double)w.fault_found.at / 1e6, sim_phase_names[w.phase], w.fault_found.text);
        simEnd(&w);
    } else {
        again.trace_nodes = found->fault_found.nodes;
        again.trace_from = found->fault_found.at > 3 * SECOND ? found->fault_found.at - 3 * SECOND : 1;
    }
    if (o->quiet) return;
    printf("the last three seconds of the nodes concerned:\n");
    runOnce(&again, found->seed, &w);
    simEnd(&w);
}

static simStats sum;
static uint64_t simulated_us;

static void addStats(const simWorld *w) {
    const uint64_t *from = (const uint64_t *)&w->stats;
    uint64_t *to = (uint64_t *)&sum;
    simTime settle = sum.settle_max, heal = sum.heal_max, drill = sum.drill_max;
    for (size_t i = 0; i < sizeof(sum) / sizeof(uint64_t); i++) to[i] += from[i];
    sum.settle_max = settle > w->stats.settle_max ? settle : w->stats.settle_max;
    sum.heal_max = heal > w->stats.heal_max ? heal : w->stats.heal_max;
    sum.drill_max = drill > w->stats.drill_max ? drill : w->stats.drill_max;
    simulated_us += w->now;
}

static void printStats(uint64_t seeds, double passed) {
    printf("%" PRIu64 " seeds, %" PRIu64 " steps, %.0f simulated s in %.1f s (%.0f steps/s); %" PRIu64
           " frames (%" PRIu64 " damaged), %" PRIu64 " connects, %" PRIu64 " kills, %" PRIu64 " commands, %" PRIu64
           " saves\n",
           seeds, sum.steps, (double)simulated_us / 1e6, passed, (double)sum.steps / passed, sum.frames,
           sum.damaged_frames, sum.connects, sum.kills, sum.commands, sum.saves);
    printf("%" PRIu64 " requests for votes, %" PRIu64 " votes, %" PRIu64 " promotions (%" PRIu64
           " without a dataset); %" PRIu64 " full (%" PRIu64 " deleted a dataset) and %" PRIu64
           " partial syncs; %" PRIu64 " writes (%" PRIu64 " refused, %" PRIu64 " while two nodes took them, %" PRIu64
           " acknowledged by all, %" PRIu64 " by a majority); keys that promotions "
           "lost: %" PRIu64 " (%" PRIu64 " that a majority had)\n",
           sum.elections, sum.votes, sum.promotions, sum.promotions_without_data, sum.syncs, sum.wiped,
           sum.partial_syncs, sum.writes, sum.refused, sum.split_writes, sum.acked_all, sum.acked_majority, sum.lost,
           sum.lost_majority);
    printf("longest until all agreed: made %.1f s, healed %.1f s; longest failover of a drill %.1f s\n",
           (double)sum.settle_max / 1e6, (double)sum.heal_max / 1e6, (double)sum.drill_max / 1e6);
}

static bool runTwice(const simOptions *o, uint64_t seed, uint64_t hash) {
    static simWorld w;
    simOptions other = *o;
    other.hash_key = 77;
    runOnce(&other, seed, &w);
    bool same = w.hash == hash;
    if (!same)
        printf("FAULT seed %" PRIu64 ": a second run did something else: %016" PRIx64 ", %016" PRIx64 "\n", seed, hash,
               w.hash);
    simEnd(&w);
    return same;
}

static int runSeeds(const simOptions *o, bool twice) {
    static simWorld w;
    double start = seconds();
    uint64_t done = 0;
    bool bad = false;
    for (uint64_t seed = o->seed; !bad || o->keep_going; seed++) {
        if (o->seeds && done >= o->seeds) break;
        if (o->seconds && seconds() - start >= o->seconds) break;
        if (o->steps && sum.steps >= o->steps) break;
        const char *rule = runOnce(o, seed, &w);
        addStats(&w);
        done++;
        if (!o->quiet && o->seeds == 1)
            printf("seed %" PRIu64 ": hash %016" PRIx64 ", %u nodes, faults:", seed, w.hash, w.count),
                printFaults(w.faults);
        if (rule && !o->trace) explain(o, &w);
        if (twice && !rule && !runTwice(o, seed, w.hash)) bad = true;
        bad |= rule != NULL;
        simEnd(&w);
    }
    printStats(done, seconds() - start);
    return bad;
}

static void list(const char *const *texts, unsigned count) {
    for (unsigned i = 0; i < count; i++) printf("%2u  %s\n", i, texts[i]);
    exit(0);
}

static uint64_t numberOf(const char *text) {
    char *end;
    uint64_t n = text ? strtoull(text, &end, 10) : 0;
    if (!text || end == text || *end) {
        fprintf(stderr, "not a number: %s\n", text ? text : "");
        exit(2);
    }
    return n;
}

int main(int argc, char **argv) {
    simOptions o = {.seed = 1, .check_every = 64};
    bool twice = false;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(a, "--trace")) o.trace = true, o.no_shrink = true;
        else if (!strcmp(a, "--quiet")) o.quiet = true;
        else if (!strcmp(a, "--no-shrink")) o.no_shrink = true;
        else if (!strcmp(a, "--keep-going")) o.keep_going = o.no_shrink = true;
        else if (!strcmp(a, "--twice")) twice = true;
        else if (!strcmp(a, "--cost")) o.cost = true;
        else if (!strcmp(a, "--plants")) list(sim_plant_texts, PLANT_KINDS);
        else if (!strcmp(a, "--faults")) list(sim_fault_names, FAULT_KINDS);
        else {
            if (!strcmp(a, "--seed")) o.seed = numberOf(value);
            else if (!strcmp(a, "--seeds")) o.seeds = numberOf(value);
            else if (!strcmp(a, "--seconds")) o.seconds = (unsigned)numberOf(value);
            else if (!strcmp(a, "--nodes")) o.nodes = (unsigned)numberOf(value);
            else if (!strcmp(a, "--steps")) o.steps = numberOf(value);
            else if (!strcmp(a, "--storm")) o.storm = (unsigned)numberOf(value);
            else if (!strcmp(a, "--check-every")) o.check_every = (unsigned)numberOf(value);
            else if (!strcmp(a, "--valkeys")) o.valkeys = (unsigned)numberOf(value) + 1;
            else if (!strcmp(a, "--plant")) o.plant = (unsigned)numberOf(value);
            else if (!strcmp(a, "--only") && value) o.only = faultsOf(value), o.without |= o.only ? 0 : UINT64_MAX;
            else if (!strcmp(a, "--without") && value) o.without |= faultsOf(value);
            else {
                fprintf(stderr, "unknown: %s (see the top of tests/sim/cluster/sim_main.c)\n", a);
                return 2;
            }
            i++;
        }
    }
    if (o.nodes == 1 || o.nodes == 2 || (o.nodes > SIM_NODES_MAX && !o.cost) || !o.check_every ||
        o.plant >= PLANT_KINDS) {
        fprintf(stderr, "--nodes 3 to %d, or more with --cost; --check-every from 1 on; --plant below %d\n",
                SIM_NODES_MAX, PLANT_KINDS);
        return 2;
    }
    if (!o.seeds && !o.seconds && !o.steps) o.seeds = o.trace ? 1 : 20;
    panicInstallHandlers();
    panicAddSection("SIMULATION", printSeed);
    setvbuf(stdout, NULL, _IOLBF, 0);
    return o.cost ? simCost(&o) : runSeeds(&o, twice);
}
