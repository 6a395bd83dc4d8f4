"""load.py -- the runner of cases and the load of the Python programs in this folder.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import sys
import threading
import time
import traceback

WRITERS = 4
CASES = []


def case(function):
    CASES.append(function)
    return function


def run_cases(client, flush):
    """Runs every case on an empty dataset; returns the number of those that failed."""
    failed = 0
    for function in CASES:
        try:
            flush()
            function(client)
        except Exception:
            failed += 1
            print("[fail] %s" % function.__name__)
            traceback.print_exc(file=sys.stdout)
    print("%d passed, %d failed, 0 skipped" % (len(CASES) - failed, failed), flush=True)
    return failed


def load(log, write, read):
    """Calls write(key, value) in several threads until a line comes from standard input. Logs "ok KEY" after each
    reply, and "error TEXT" after each exception, and tries the key again. Then reads the last keys back by read(key).
    Returns the number of those that are wrong."""
    out = os.open(log, os.O_WRONLY | os.O_APPEND)
    ending = threading.Event()
    last = []

    def writer(w):
        n = 0
        while not ending.is_set():
            key = "load:%d:%d" % (w, n)
            try:
                write(key, key)
            except Exception as problem:
                text = "%s: %s" % (type(problem).__name__, str(problem).split("\n")[0])
                os.write(out, b"error " + text.encode() + b"\n")
                time.sleep(0.02)
                continue
            os.write(out, b"ok " + key.encode() + b"\n")
            n += 1
            time.sleep(0.001)
        last.extend("load:%d:%d" % (w, i) for i in range(max(0, n - 20), n))

    threads = [threading.Thread(target=writer, args=(w,)) for w in range(WRITERS)]
    print("load begins", flush=True)
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    ending.set()
    for thread in threads:
        thread.join()
    wrong = [key for key in last if read(key) != key.encode()]
    if wrong:
        print("[fail] not read back: %s" % wrong[:5])
    return len(wrong)
