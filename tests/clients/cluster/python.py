"""python.py -- the cluster clients of valkey-py and redis-py. run.py starts it as python.py MODULE PORT LOG.

SPDX-License-Identifier: BSD-3-Clause
"""

import importlib
import sys
import time
import warnings

from load import case, load, run_cases

warnings.simplefilter("ignore")  # newer versions have other names for options; the old ones work in both
MODULE, PORT, LOG = sys.argv[1], int(sys.argv[2]), sys.argv[3]
library = importlib.import_module(MODULE)
Client = library.ValkeyCluster if MODULE == "valkey" else library.RedisCluster


def connect(**options):
    return Client(host="127.0.0.1", port=PORT, socket_timeout=5, **options)


def connection(c, node):
    """Returns the client of one node."""
    return (c.get_valkey_connection if MODULE == "valkey" else c.get_redis_connection)(node)


def raises(kind, text, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except kind as problem:
        assert text in str(problem), str(problem)
        return
    raise AssertionError("no error: " + text)


@case
def discovery(c):
    assert len(c.get_primaries()) == 3 and len(c.get_replicas()) == 3
    slots = c.cluster_slots(target_nodes=c.get_random_node())
    assert len(slots) == 3 and sum(last - first + 1 for first, last in slots) == 16384
    shards = c.cluster_shards(target_nodes=c.get_random_node())
    assert len(shards) == 3 and all(len(shard["nodes"]) == 2 for shard in shards)
    assert c.cluster_info(target_nodes=c.get_random_node())["cluster_state"] == "ok"
    assert len(c.cluster_nodes()) == 6
    assert c.cluster_keyslot("foo") == 12182
    links = c.cluster_links(c.get_random_node())
    assert len(links) == 10


@case
def many_slots(c):
    for i in range(500):
        assert c.set("key:%d" % i, i)
    assert [c.get("key:%d" % i) for i in range(500)] == [b"%d" % i for i in range(500)]
    sizes = [c.dbsize(target_nodes=node) for node in c.get_primaries()]
    assert sum(sizes) == 500 and min(sizes) > 100
    assert c.mset_nonatomic({"m:%d" % i: i for i in range(100)})
    assert c.mget_nonatomic(["m:%d" % i for i in range(100)]) == [b"%d" % i for i in range(100)]
    assert c.delete(*["m:%d" % i for i in range(100)]) == 100
    assert c.exists("key:1", "key:2", "none") == 2


@case
def hash_tags(c):
    assert c.mset({"{t}a": 1, "{t}b": 2})
    assert c.mget("{t}a", "{t}b", "{t}none") == [b"1", b"2", None]
    assert c.rename("{t}a", "{t}c")
    c.sadd("{t}s", 1, 2)
    c.sadd("{t}s2", 2, 3)
    assert c.sunionstore("{t}u", "{t}s", "{t}s2") == 3
    slot = c.cluster_keyslot("{t}")
    assert c.cluster_countkeysinslot(slot) == 5
    assert len(c.cluster_get_keys_in_slot(slot, 10)) == 5


@case
def cross_slot(c):
    raises(library.exceptions.ResponseError, "Keys in request don't hash to the same slot", c.execute_command,
           "MGET", "a", "b", target_nodes=c.get_random_node())
    raises(Exception, "slot", c.mset, {"a": 1, "b": 2})
    raises(library.exceptions.ResponseError, "WRONGTYPE", lambda: c.set("a", 1) and c.lpush("a", 1))


@case
def pipelines(c):
    with c.pipeline() as pipe:
        for i in range(500):
            pipe.set("p:%d" % i, i)
            pipe.get("p:%d" % i)
        assert pipe.execute()[1::2] == [b"%d" % i for i in range(500)]
    with c.pipeline() as pipe:
        pipe.set("a", "text").incr("a").set("b", 1)
        answers = pipe.execute(raise_on_error=False)
        assert answers[0] and answers[2] and "not an integer" in str(answers[1])


@case
def transactions(c):
    if MODULE == "valkey":  # has none in a cluster
        raises(Exception, "transaction", c.pipeline, transaction=True)
    else:
        with c.pipeline(transaction=True) as pipe:
            pipe.set("{t}n", 1).incr("{t}n")
            assert pipe.execute() == [b"OK", 2]
        with c.pipeline(transaction=True) as pipe:
            pipe.watch("{t}n")
            c.set("{t}n", 5)
            pipe.multi()
            pipe.set("{t}n", 6)
            raises(library.exceptions.WatchError, "", pipe.execute)
        with c.pipeline(transaction=True) as pipe:
            pipe.set("a", 1).set("b", 1)
            raises(library.exceptions.CrossSlotTransactionError, "", pipe.execute)
    node = connection(c, c.get_node_from_key("{t}a"))
    with node.pipeline(transaction=True) as pipe:
        pipe.set("{t}a", 1).incr("{t}a").lpush("{t}l", 1)
        assert pipe.execute() == [True, 2, 1]
    with node.pipeline(transaction=True) as pipe:  # a key of another slot: MOVED or CROSSSLOT spoils it
        pipe.set("{t}a", 9).set("other", 1)
        raises(library.exceptions.ResponseError, "", pipe.execute)
    assert c.get("{t}a") == b"2"


@case
def scripts(c):
    assert c.eval("return redis.call('incrby', KEYS[1], ARGV[1])", 1, "n", 5) == 5
    sha = c.script_load("return redis.call('mget', KEYS[1], KEYS[2])")
    c.mset({"{t}a": 1, "{t}b": 2})
    assert c.script_exists(sha) == [True]
    assert c.evalsha(sha, 2, "{t}a", "{t}b") == [b"1", b"2"]
    raises(library.exceptions.ResponseError, "", c.eval, "return redis.call('get', 'undeclared')", 1, "{t}a")
    lua = "#!lua name=lib\nserver.register_function('put', function(k, a) return server.call('set', k[1], a[1]) end)"
    for node in c.get_primaries():
        assert c.execute_command("FUNCTION LOAD", "REPLACE", lua, target_nodes=node) == b"lib"
    assert c.fcall("put", 1, "f", "x") == b"OK" and c.get("f") == b"x"


@case
def blocking_pops(c):
    c.rpush("{q}a", 1)
    assert c.blpop(["{q}none", "{q}a"], 1) == (b"{q}a", b"1")
    assert c.blmove("{q}none", "{q}a", 0.05, "LEFT", "RIGHT") is None


@case
def sharded_channels(c):
    listener = c.pubsub()
    listener.ssubscribe("news", "sport", "weather")  # of several nodes
    got = []
    wait_for(lambda: take(listener, got) or len(got) == 3)
    assert sorted(m["type"] for m in got) == ["ssubscribe"] * 3
    del got[:]
    for channel in ("news", "sport", "weather"):
        assert c.spublish(channel, channel + "!") == 1
    wait_for(lambda: take(listener, got) or len(got) == 3)
    assert sorted(m["data"] for m in got) == [b"news!", b"sport!", b"weather!"]
    listener.close()
    plain = c.pubsub()
    plain.subscribe("everywhere")
    assert plain.get_message(timeout=5)["type"] == "subscribe"
    for node in c.get_primaries():  # a message reaches subscribers of all nodes
        connection(c, node).publish("everywhere", node.name)
    texts = set()
    wait_for(lambda: texts.add((plain.get_message(timeout=0.05) or {}).get("data")) or len(texts - {None}) == 3)
    plain.close()


def take(listener, got):
    message = listener.get_sharded_message(timeout=0.05)
    if message:
        got.append(message)


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it does not happen"


@case
def reads_from_replicas(c):
    for node in c.get_replicas():
        c.config_resetstat(target_nodes=node)
    reader = connect(read_from_replicas=True)
    for i in range(60):
        c.set("r:%d" % i, i)
    for node in c.get_primaries():
        c.execute_command("WAIT", 0, 0, target_nodes=node)
    wait_for(lambda: all(reader.get("r:%d" % i) == b"%d" % i for i in range(60)))
    calls = [c.info("commandstats", target_nodes=node)["cmdstat_get"]["calls"] for node in c.get_replicas()]
    assert len(calls) == 3 and min(calls) > 0, calls
    reader.close()
    replica = connection(c, c.get_replicas()[0])
    for i in range(20):
        raises(library.exceptions.MovedError, "", replica.set, "{%d}" % i, 1)


@case
def scan_of_all_nodes(c):
    for i in range(700):
        c.set("scan:%d" % i, i)
    keys = list(c.scan_iter(match="scan:*", count=50))
    assert len(keys) == 700 and len(set(keys)) == 700
    assert len(set(c.keys("scan:1*", target_nodes=Client.ALL_NODES))) == 111
    assert all(c.execute_command("WAIT", 1, 5000, target_nodes=node) == 1 for node in c.get_primaries())


client = connect()
bad = run_cases(client, lambda: client.flushall(target_nodes=Client.PRIMARIES))
bad += load(LOG, client.set, client.get)
sys.exit(1 if bad else 0)
