"""valkey_py.py -- tests the published client as Python programs use it, in both protocols. Started by valkey_py.sh.

SPDX-License-Identifier: BSD-3-Clause
"""

import sys
import threading
import time

import valkey

import valkey_sessions  # noqa: F401  its tests belong to the same list
from valkey_tests import FILES, PORT, TLS, connect, run_all, test, test_of


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


@test_of("RPUSH", "LMOVE", "LPOS", "LMPOP")
def lists(c):
    assert c.rpush("list", "a", "b", "c") == 3
    assert c.lpush("list", 0) == 4
    assert c.lrange("list", 0, -1) == [b"0", b"a", b"b", b"c"]
    assert c.lindex("list", -1) == b"c"
    assert c.linsert("list", "BEFORE", "b", "x") == 5
    assert c.lpos("list", "x") == 2
    assert c.lrem("list", 0, "x") == 1
    assert c.lset("list", 0, "first") is True
    assert c.lpop("list") == b"first"
    assert c.rpop("list", 2) == [b"c", b"b"]
    assert c.lmove("list", "other", "LEFT", "RIGHT") == b"a"
    assert c.llen("list") == 0
    assert c.lmpop(2, "list", "other", direction="LEFT") == [b"other", [b"a"]]
    assert c.ltrim("list", 0, 1) is True


@test_of("HSET", "HRANDFIELD", "HSCAN")
def hashes(c):
    assert c.hset("hash", mapping={"f": "v", "n": 5}) == 2
    assert c.hget("hash", "f") == b"v"
    assert c.hgetall("hash") == {b"f": b"v", b"n": b"5"}
    assert c.hmget("hash", "n", "none") == [b"5", None]
    assert c.hincrby("hash", "n", 3) == 8
    assert c.hincrbyfloat("hash", "n", 0.5) == 8.5
    assert c.hexists("hash", "f") and c.hlen("hash") == 2 and c.hstrlen("hash", "f") == 1
    assert sorted(c.hkeys("hash")) == [b"f", b"n"] and b"v" in c.hvals("hash")
    assert c.hrandfield("hash") in (b"f", b"n")
    assert c.hsetnx("hash", "f", "w") in (0, False)
    assert c.hset("big", mapping={"field:%d" % i: i for i in range(2000)}) == 2000
    assert len(dict(c.hscan_iter("big", count=100))) == 2000
    assert c.hdel("hash", "f", "n") == 2 and not c.exists("hash")


@test_of("HPEXPIRE", "HTTL", "HPERSIST")
def field_times(c):
    c.hset("hash", mapping={"a": 1, "b": 2, "c": 3})
    assert c.execute_command("HEXPIRE", "hash", 100, "FIELDS", 2, "a", "b") == [1, 1]
    assert c.execute_command("HTTL", "hash", "FIELDS", 2, "a", "c") in ([100, -1], [99, -1])
    assert c.execute_command("HPERSIST", "hash", "FIELDS", 1, "a") == [1]
    assert c.execute_command("HPEXPIRE", "hash", 10, "FIELDS", 1, "b") == [1]
    time.sleep(0.1)
    assert c.hgetall("hash") == {b"a": b"1", b"c": b"3"}


@test_of("SADD", "SINTERCARD", "SSCAN")
def sets(c):
    assert c.sadd("set", 1, 2, 3) == 3 and c.sadd("other", 3, "x") == 2
    assert set(c.smembers("set")) == {b"1", b"2", b"3"}
    assert c.sismember("set", 2) == 1 and c.smismember("set", [1, 9]) == [1, 0]
    assert set(c.sinter("set", "other")) == {b"3"} and set(c.sdiff("set", "other")) == {b"1", b"2"}
    assert c.sunionstore("all", "set", "other") == 4
    assert c.sintercard(2, ["set", "other"]) == 1
    assert c.smove("set", "other", 1) in (1, True)
    assert c.srandmember("set", 10) in ([b"2", b"3"], [b"3", b"2"])
    assert c.spop("set") in (b"2", b"3") and c.scard("set") == 1
    assert c.sadd("big", *range(2000)) == 2000 and len(set(c.sscan_iter("big"))) == 2000
    assert c.srem("other", "x", "none") == 1


@test_of("ZADD", "ZRANGESTORE", "ZMPOP", "ZSCAN")
def sorted_sets(c):
    assert c.zadd("z", {"a": 1, "b": 2.5, "c": -1}) == 3
    assert c.zrange("z", 0, -1) == [b"c", b"a", b"b"]
    assert [tuple(pair) for pair in c.zrange("z", 0, -1, withscores=True)] == [(b"c", -1), (b"a", 1), (b"b", 2.5)]
    assert c.zscore("z", "b") == 2.5 and c.zscore("z", "none") is None
    assert c.zmscore("z", ["a", "none"]) == [1, None]
    assert c.zrank("z", "a") == 1 and c.zrevrank("z", "a") == 1
    assert c.zincrby("z", 10, "c") == 9
    assert c.zadd("z", {"a": 100}, gt=True, ch=True) == 1
    assert c.zcount("z", 0, 10) == 2 and c.zrangebyscore("z", "(2.5", "+inf") == [b"c", b"a"]
    assert c.zrangestore("copy", "z", 0, 1) == 2
    assert c.zunionstore("sum", {"z": 1, "copy": 2}) == 3 and c.zinter(["z", "copy"]) == [b"b", b"c"]
    assert c.zpopmin("z") in ([(b"b", 2.5)], [b"b", 2.5])
    assert c.zremrangebyrank("z", 0, 0) == 1 and c.zcard("z") == 1
    assert c.zadd("lex", {"a": 0, "b": 0, "c": 0}) == 3 and c.zrangebylex("lex", "[b", "+") == [b"b", b"c"]
    assert c.zadd("big", {"m%d" % i: i for i in range(2000)}) == 2000 and len(set(c.zscan_iter("big"))) == 2000


@test_of("XADD", "XREADGROUP", "XAUTOCLAIM", "XINFO")
def streams(c):
    first = c.xadd("stream", {"a": 1}, id="1-1")
    assert first == b"1-1" and c.xadd("stream", {"b": "2", "c": "3"}, id="2-1") == b"2-1"
    assert c.xlen("stream") == 2
    assert c.xrange("stream", count=1) == [(b"1-1", {b"a": b"1"})]
    assert c.xrevrange("stream")[0][0] == b"2-1"
    assert c.xgroup_create("stream", "group", id="0")
    read = c.xreadgroup("group", "me", {"stream": ">"}, count=1)
    assert b"1-1" in repr(read).encode() and b"2-1" not in repr(read).encode()
    assert c.xpending("stream", "group")["pending"] == 1
    assert c.xclaim("stream", "group", "you", 0, ["1-1"])[0][0] == b"1-1"
    assert c.xautoclaim("stream", "group", "me", 0)[1][0][0] == b"1-1"
    assert c.xack("stream", "group", "1-1") == 1
    assert c.xinfo_stream("stream")["length"] == 2 and c.xinfo_groups("stream")[0]["pending"] == 0
    assert c.xtrim("stream", maxlen=1, approximate=False) == 1 and c.xdel("stream", "2-1") == 1


@test_of("PFADD", "PFMERGE")
def hyperloglogs(c):
    assert c.pfadd("hll", *range(1000)) in (1, True)
    assert 900 < c.pfcount("hll") < 1100
    c.pfadd("other", *range(500, 1500))
    assert c.pfmerge("all", "hll", "other") and 1350 < c.pfcount("all") < 1650


@test_of("GEOADD", "GEOSEARCH")
def places(c):
    assert c.geoadd("places", (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")) == 2
    assert 166 < float(c.geodist("places", "Palermo", "Catania", unit="km")) < 167
    assert c.geosearch("places", longitude=15, latitude=37, radius=100, unit="km") == [b"Catania"]
    assert abs(c.geopos("places", "Palermo")[0][0] - 13.361389) < 1e-4
    assert c.geohash("places", "Palermo") in ([b"sqc8b49rny0"], ["sqc8b49rny0"])


@test_of("SETBIT", "BITFIELD", "BITOP", "BITPOS")
def bits(c):
    assert c.setbit("bits", 7, 1) == 0 and c.getbit("bits", 7) == 1
    assert c.bitcount("bits") == 1 and c.bitpos("bits", 1) == 7
    c.set("other", b"\xf0")
    assert c.bitop("OR", "both", "bits", "other") == 1 and c.get("both") == b"\xf1"
    assert c.bitfield("field").set("u8", 0, 255).incrby("u8", 0, 1, "SAT").execute() == [0, 255]


@test_of("SORT", "RPUSH", "HSET")
def sorting(c):
    c.rpush("list", 3, 1, 2)
    assert c.sort("list") == [b"1", b"2", b"3"]
    for i in (1, 2, 3):
        c.hset("h:%d" % i, "name", "n%d" % (9 - i))
    assert c.sort("list", by="h:*->name", get="h:*->name", alpha=True) == [b"n6", b"n7", b"n8"]
    assert c.sort("list", desc=True, store="sorted") == 3 and c.lrange("sorted", 0, 0) == [b"3"]


@test
def databases(c):
    other = connect(db=3)
    c.set("key", "zero")
    other.set("key", "three")
    assert c.get("key") == b"zero" and other.get("key") == b"three"
    assert c.copy("key", "copied", destination_db=3)
    assert other.get("copied") == b"zero"
    other.close()


@test
def many_threads(c):
    def work():
        mine = connect()
        for _ in range(200):
            mine.incr("shared")
        mine.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert c.get("shared") == b"1600"


@test
def without_a_certificate(c):
    """Over TLS the server requires a certificate, and the client rejects a server that it does not trust."""
    if not FILES:
        return
    for wrong in (dict(TLS, ssl_certfile=None, ssl_keyfile=None), dict(TLS, ssl_ca_certs=None)):
        mine = valkey.Valkey(port=PORT, **wrong)
        try:
            mine.ping()
            raise AssertionError("a connection without %s" % ("a certificate" if wrong["ssl_ca_certs"] else "trust"))
        except valkey.ConnectionError:
            pass
        mine.close()


sys.exit(run_all())
