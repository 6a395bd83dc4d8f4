"""valkey_tests.py -- the list of tests of valkey_py.py and valkey_sessions.py, and their runner.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import sys
import traceback

import valkey

PORT = int(sys.argv[1])
# The folder of the certificates, or plain.
FILES = sys.argv[2] if len(sys.argv) > 2 else None
TLS = dict(ssl=True, ssl_ca_certs=os.path.join(FILES, "ca.crt"), ssl_certfile=os.path.join(FILES, "client.crt"),
           ssl_keyfile=os.path.join(FILES, "client.key")) if FILES else {}
TESTS = []


def connect(**options):
    return valkey.Valkey(port=PORT, **TLS, **options)


def test(function):
    TESTS.append((function, ()))
    return function


def test_of(*commands):
    """Declares a test that fails, by name, if the server lacks one of these commands."""
    def keep(function):
        TESTS.append((function, commands))
        return function
    return keep


def run_all():
    passed = failed = 0
    asking = connect()
    known = {name.decode().upper() for name in asking.execute_command("COMMAND LIST")}
    asking.close()
    for protocol in (2, 3):
        for function, commands in TESTS:
            missing = [name for name in commands if name not in known]
            if missing:
                failed += 1
                print("[fail] %s (RESP%d): the server has no %s" % (function.__name__, protocol, " ".join(missing)))
                continue
            client = connect(protocol=protocol, socket_timeout=20)
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
