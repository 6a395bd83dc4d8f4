"""valkey_py.py -- what a Python program does with the published client, in both protocols. Started by valkey_py.sh.

SPDX-License-Identifier: BSD-3-Clause
"""

import sys
import threading
import time
import traceback

import valkey

PORT = int(sys.argv[1])
TESTS = []


def test(function):
    TESTS.append(function)
    return function


@test
def strings(c):
    assert c.set("key", "value") is True
    assert c.get("key") == b"value"
    assert c.set("key", "other", nx=True) is None
    assert c.set("key", "other", xx=True, get=True) == b"value"
    assert c.append("key", "!") == 6
    assert c.strlen("key") == 6
    assert c.getrange("key", 0, 2) == b"oth"
    assert c.setrange("key", 0, "O") == 6
    assert c.getset("key", "x") == b"Other!"
    assert c.getdel("key") == b"x"
    assert c.get("key") is None


@test
def many_keys(c):
    assert c.mset({"a": 1, "b": 2})
    assert c.mget("a", "b", "none") == [b"1", b"2", None]
    assert c.msetnx({"b": 5, "c": 5}) is False
    assert sorted(c.keys("*")) == [b"a", b"b"]
    assert c.exists("a", "b", "none") == 2
    assert c.delete("a", "b") == 2


@test
def counters(c):
    assert c.incr("n") == 1
    assert c.incrby("n", 10) == 11
    assert c.decr("n", 3) == 8
    assert c.incrbyfloat("n", 0.5) == 8.5


@test
def expire_times(c):
    c.set("key", "value", ex=100)
    assert 98 <= c.ttl("key") <= 100
    assert c.persist("key")
    assert c.ttl("key") == -1
    assert c.pexpire("key", 50000, nx=True)
    assert c.getex("key", persist=True) == b"value"
    c.set("short", "x", px=20)
    time.sleep(0.1)
    assert c.get("short") is None


@test
def scan(c):
    c.mset({"key:%d" % i: i for i in range(500)})
    assert len(set(c.scan_iter(match="key:*", count=50))) == 500


@test
def pipelines(c):
    with c.pipeline(transaction=False) as pipe:
        for i in range(2000):
            pipe.set("p:%d" % i, i)
            pipe.get("p:%d" % i)
        answers = pipe.execute()
    assert answers[1::2] == [b"%d" % i for i in range(2000)]


@test
def binary_and_large(c):
    value = bytes(range(256)) * 40000
    c.set(b"\x00\xff\r\n", value)
    assert c.get(b"\x00\xff\r\n") == value


@test
def errors(c):
    c.set("key", "text")
    try:
        c.incr("key")
    except valkey.ResponseError as error:
        assert "not an integer" in str(error)
    else:
        raise AssertionError("no error")


@test
def server_commands(c):
    assert c.ping() is True
    assert c.echo("hello") == b"hello"
    assert c.info()["redis_mode" if "redis_mode" in c.info() else "server_mode"] == "standalone"
    assert c.config_get("maxmemory") == {"maxmemory": "0"}
    assert c.config_set("timeout", 0)
    assert c.client_id() > 0
    c.client_setname("python")
    assert c.client_getname() in ("python", b"python")
    assert any(entry["name"] == "python" for entry in c.client_list())
    assert c.dbsize() == 0
    assert c.command_count() > 50
    assert c.object("encoding", "none") is None
    assert isinstance(c.time(), tuple)
    assert c.slowlog_len() >= 0


@test
def lcs(c):
    c.mset({"a": "ohmytext", "b": "mynewtext"})
    assert c.lcs("a", "b") == b"mytext"


@test
def databases(c):
    other = valkey.Valkey(port=PORT, db=3)
    c.set("key", "zero")
    other.set("key", "three")
    assert c.get("key") == b"zero" and other.get("key") == b"three"
    assert c.copy("key", "copied", destination_db=3)
    assert other.get("copied") == b"zero"
    other.close()


@test
def many_threads(c):
    def work():
        mine = valkey.Valkey(port=PORT)
        for _ in range(200):
            mine.incr("shared")
        mine.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert c.get("shared") == b"1600"


def main():
    passed = failed = 0
    for protocol in (2, 3):
        for function in TESTS:
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
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
