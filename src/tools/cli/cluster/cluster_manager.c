/* cluster_manager.c -- --cluster: the subcommands, their words, their help.
 *
 * Not here    what they do (manager_*.c), what is to be changed (plan_*.c).
 * Tests       tests/tools/cluster_create.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_commands.h"
#include "modes.h"
#include <stdio.h>

static int showHelp(const cliOptions *o, int count, char **words);

typedef struct managerRow {
    const char *name;
    int min, max; /* words */
    int (*run)(const cliOptions *o, int count, char **words);
} managerRow;

static const managerRow manager_rows[] = {
    {"create", 1, INT32_MAX, managerCreate},
    {"check", 1, 2, managerCheckCommand},
    {"info", 1, 2, managerInfo},
    {"add-node", 2, 2, managerAddNode},
    {"del-node", 2, 3, managerDelNode},
    {"call", 2, INT32_MAX, managerCallCommand},
    {"set-timeout", 2, 3, managerSetTimeout},
    {"reshard", 1, 2, managerReshard},
    {"rebalance", 1, 2, managerRebalance},
    {"fix", 1, 2, managerFix},
    {"import", 1, 2, managerImport},
    {"backup", 2, 3, managerBackup},
    {"help", 0, INT32_MAX, showHelp},
};

static int showHelp(const cliOptions *o, int count, char **words) {
    unused(o);
    unused(count);
    unused(words);
    fputs("Usage: valkey-cli [options] --cluster COMMAND ... (NODE is HOST:PORT of any node of the cluster)\n"
          "\n"
          "  create HOST:PORT...       make a cluster of empty nodes\n"
          "      --cluster-replicas N  replicas of each primary (0)\n"
          "  info NODE                 keys, slots and replicas of each primary\n"
          "  check NODE                the same, all nodes, and whether all is well\n"
          "      --cluster-search-multiple-owners  also count which slots have keys at several\n"
          "                            primaries\n"
          "  add-node NEW NODE         add the empty node NEW as a primary without slots\n"
          "      --cluster-replica     as a replica of the primary that has fewest\n"
          "      --cluster-primary-id ID  as a replica of this primary\n"
          "  del-node NODE ID          remove a node without slots; its replicas get other\n"
          "                            primaries\n"
          "  call NODE COMMAND ARG...  run a command on every node\n"
          "      --cluster-only-primaries, --cluster-only-replicas  on these only\n"
          "  set-timeout NODE MS       set cluster-node-timeout everywhere, and save it\n"
          "  reshard NODE              move slots with their keys; asks for what is not given\n"
          "      --cluster-slots N, --cluster-to ID, --cluster-from ID,ID...|all\n"
          "  rebalance NODE            move slots until each primary has its share\n"
          "      --cluster-weight ID=W...  shares other than 1; 0 takes all slots away\n"
          "      --cluster-use-empty-primaries  primaries without slots get a share too\n"
          "      --cluster-threshold PERCENT  move nothing if no primary is off by more (2)\n"
          "      --cluster-simulate    print the moves only\n"
          "  fix NODE                  end or undo moves that were cut off; give slots without\n"
          "                            an owner to a primary, with all their keys\n"
          "      --cluster-search-multiple-owners  also collect keys of slots of others\n"
          "      --cluster-fix-with-unreachable-primaries  even if some may still own slots\n"
          "  import NODE --cluster-from HOST:PORT  move the keys of a server that is no\n"
          "                            cluster node into the cluster\n"
          "      --cluster-copy        leave the keys at the server as well\n"
          "      --cluster-from-user NAME, --cluster-from-pass PASSWORD,\n"
          "      --cluster-from-askpass  login at that server\n"
          "  backup NODE DIR           save the dataset of each primary, and nodes.json\n"
          "  help                      this text\n"
          "\n"
          "Moving keys (reshard, rebalance, fix, import):\n"
          "  --cluster-replace         overwrite keys that the target has with other values\n"
          "  --cluster-timeout MS      limit of each MIGRATE (60000)\n"
          "  --cluster-pipeline N      keys of each MIGRATE (10)\n"
          "\n"
          "  --cluster-yes             answer all questions with yes\n",
          stdout);
    return 1; /* as Valkey's program */
}

int clusterManagerRun(const cliOptions *o) {
    const managerOptions *manager = &o->manager;
    for (size_t i = 0; i < array_len(manager_rows); i++) {
        const managerRow *row = &manager_rows[i];
        if (strcasecmp(row->name, manager->command) != 0) continue;
        if (manager->word_count >= row->min && manager->word_count <= row->max)
            return row->run(o, manager->word_count, manager->words);
        fputs("[ERR] Wrong number of arguments for specified --cluster sub command\n", stderr);
        return 1;
    }
    fputs("Unknown --cluster subcommand\n", stderr);
    return 1;
}
