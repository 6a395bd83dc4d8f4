#!/usr/bin/env python3
"""planted.py -- verifies that the checks find the faults that they are for.

Faults are planted in a correct server, by disk_shim.c or by a setting that the check does not know of. Each must be
found within a limit of rounds or states; their number is printed. A server without a fault must pass the same checks.

    planted.py --server PATH --shim disk_shim.so [--only WORD] [--seed N]

Exit code 0: each was found.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import contextlib
import io
import os
import random
import shutil
import sys
import tempfile

import kill_rounds
import power_loss

# The check, the planted fault, the persistence of the server, the maximum of rounds or states.
PLANTED = (
    ("kill", "late-write", "always", 100),
    ("kill", "lose-write", "always", 100),
    ("kill", "twice-write", "always", 100),
    ("kill", "swap-writes", "no", 100),
    ("kill", "bare-transactions", "no", 400),
    ("power", "drop-sync", "always", 400),
    ("power", "drop-some-syncs", "always", 400),
    ("power", "sync each second", "always", 400),
    ("power", "never synced", "everysec", 400),
    ("power", "drop-temp-sync", "always", 800),
    ("power", "drop-temp-sync", "snapshots", 400),
    ("power", "drop-folder-sync", "always", 800),
    ("power", "drop-folder-sync", "snapshots", 400),
)
# Settings that the check does not know of.
SETTINGS = {"sync each second": ["--appendfsync", "everysec"], "never synced": ["--appendfsync", "no"]}


def by_kills(options, plant, way, most, seed):
    words = ["--server", options.server, "--port", str(options.port), "--rounds", str(most), "--seed", str(seed),
             "--way", way]
    run = kill_rounds.prepare(kill_rounds.arguments().parse_args(words))
    folder = os.path.realpath(tempfile.gettempdir())
    run.environment = {"LD_PRELOAD": options.shim, "DISK_SHIM_ROOT": folder, "DISK_SHIM_PLANT": plant}
    rounds, found = kill_rounds.play_games(run)
    if not found:
        return rounds, None
    game, text = found
    rounds += game.rounds
    game.remove()
    return rounds, text


def by_power(options, plant, way, most, seed):
    states = 80
    words = ["--server", options.server, "--shim", options.shim, "--port", str(options.port), "--way", way,
             "--seed", str(seed), "--states", str(states), "--recordings", str(most // states),
             "--seconds", "4" if way == "everysec" else "2"]
    run = power_loss.prepare(power_loss.arguments().parse_args(words))
    run.server_arguments = SETTINGS.get(plant)
    run.like_9_1 = True
    run.plant = "" if plant in SETTINGS else plant
    tried, found = power_loss.play_recordings(run)
    if not found:
        return tried, None
    shutil.rmtree(found[0].top)
    return tried, found[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--port", type=int, default=24800)
    parser.add_argument("--only", default="", help="only if this is in what is planted and how data is kept")
    parser.add_argument("--seed", type=int, default=random.randrange(10 ** 6))
    options = parser.parse_args()
    options.server, options.shim = os.path.abspath(options.server), os.path.abspath(options.shim)
    print("seed %d" % options.seed, flush=True)
    bad = 0
    for check, plant, way, most in PLANTED:
        if options.only not in "%s %s" % (plant, way):
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            tried, text = (by_kills if check == "kill" else by_power)(options, plant, way, most, options.seed)
        what = "%s (%s, %s)" % (plant, check, way)
        if text is None:
            bad += 1
            print("MISSED %s in %d" % (what, tried), flush=True)
        else:
            print("found %s in %s %d: %s" % (what, "round" if check == "kill" else "state", tried,
                                            " ".join(text.split())[:150]), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
