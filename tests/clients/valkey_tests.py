"""valkey_tests.py -- the list of the tests of valkey_py.py and valkey_sessions.py, and how they are run.

SPDX-License-Identifier: BSD-3-Clause
"""

import sys
import traceback

import valkey

PORT = int(sys.argv[1])
TESTS = []


def test(function):
    TESTS.append((function, ()))
    return function


def test_of(*commands):
    """A test that fails, by name, where the server has not got one of these commands."""
    def keep(function):
        TESTS.append((function, commands))
        return function
    return keep


def run_all():
    passed = failed = 0
    asking = valkey.Valkey(port=PORT)
    known = {name.decode().upper() for name in asking.execute_command("COMMAND LIST")}
    asking.close()
    for protocol in (2, 3):
        for function, commands in TESTS:
            missing = [name for name in commands if name not in known]
            if missing:
                failed += 1
                print("[fail] %s (RESP%d): the server has no %s" % (function.__name__, protocol, " ".join(missing)))
                continue
            client = valkey.Valkey(port=PORT, protocol=protocol, socket_timeout=20)
            try:
                client.flushall()
                function(client)
                passed += 1
            except Exception:
                failed += 1
                print("[fail] %s (RESP%d)" % (function.__name__, protocol))
                traceback.print_exc(file=sys.stdout)
            finally:
                client.close()
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed else 0
