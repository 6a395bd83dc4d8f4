"""glide.py -- the cluster client of Valkey GLIDE, for Python without asyncio. run.py starts it as glide.py PORT LOG.

SPDX-License-Identifier: BSD-3-Clause
"""

import sys
import time

import glide_sync as glide

from load import case, load, run_cases

PORT, LOG = int(sys.argv[1]), sys.argv[2]
SHARDED = {"news", "sport", "weather"}  # slots of several nodes
glide.Logger.set_logger_config(glide.LogLevel.OFF)


def connect(**options):
    return glide.GlideClusterClient.create(glide.GlideClusterClientConfiguration(
        [glide.NodeAddress("127.0.0.1", PORT)], request_timeout=5000, **options))


def raises(text, function, *arguments):
    try:
        function(*arguments)
    except glide.RequestError as problem:
        assert text in str(problem), str(problem)
        return
    raise AssertionError("no error: " + text)


def within(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.005)


@case
def discovery(c):
    assert len(c.info([glide.InfoSection.SERVER], glide.AllNodes())) == 6
    assert len(c.custom_command(["CLUSTER", "SLOTS"])) == 3
    assert len(c.custom_command(["CLUSTER", "SHARDS"])) == 3


@case
def many_slots(c):
    for i in range(500):
        assert c.set("key:%d" % i, str(i)) == "OK"
    assert [c.get("key:%d" % i) for i in range(500)] == [b"%d" % i for i in range(500)]
    assert c.dbsize() == 500
    keys = {"m:%d" % i: str(i) for i in range(100)}  # of all nodes: the library divides it
    assert c.mset(keys) == "OK"
    assert c.mget(list(keys)) == [value.encode() for value in keys.values()]
    assert c.delete(list(keys)) == 100


@case
def hash_tags(c):
    assert c.mset({"{t}a": "1", "{t}b": "2"}) == "OK"
    assert c.rename("{t}a", "{t}c") == "OK"
    assert c.exists(["{t}b", "{t}c"]) == 2


@case
def cross_slot(c):
    raises("don't hash to the same slot", c.custom_command, ["SUNION", "a", "b"], glide.RandomNode())


@case
def pipelines(c):
    batch = glide.ClusterBatch(is_atomic=False)
    for i in range(500):
        batch.set("p:%d" % i, str(i))
        batch.get("p:%d" % i)
    assert c.exec(batch, raise_on_error=True)[1::2] == [b"%d" % i for i in range(500)]


@case
def transactions(c):
    batch = glide.ClusterBatch(is_atomic=True)
    batch.set("{t}n", "1")
    batch.incr("{t}n")
    assert c.exec(batch, raise_on_error=True) == ["OK", 2]
    assert c.get("{t}n") == b"2"


@case
def scripts(c):
    script = glide.Script("return redis.call('incrby', KEYS[1], ARGV[1])")
    for i in range(20):
        assert c.invoke_script(script, keys=["n:%d" % (i % 10)], args=["5"]) == 5 * (1 + i // 10)
    lua = "#!lua name=lib\nserver.register_function('put', function(k, a) return server.call('set', k[1], a[1]) end)"
    assert c.function_load(lua, True) == b"lib"  # on all primaries
    for i in range(10):
        assert c.fcall("put", ["f:%d" % i], ["x"]) in ("OK", b"OK")


@case
def channels(c):
    modes = glide.GlideClusterClientConfiguration.PubSubChannelModes
    listener = connect(pubsub_subscriptions=glide.GlideClusterClientConfiguration.PubSubSubscriptions(
        {modes.Sharded: SHARDED, modes.Exact: {"everywhere"}}, None, None))
    got = set()

    def takes_all():
        for name in SHARDED:
            c.publish("text", name, sharded=True)
        c.publish("text", "everywhere")
        for message in iter(listener.try_get_pubsub_message, None):
            got.add(message.channel.decode())
        return got == SHARDED | {"everywhere"}

    within(takes_all)
    listener.close()


@case
def reads_from_replicas(c):
    for i in range(60):
        c.set("r:%d" % i, str(i))
    c.config_resetstat(glide.AllNodes())
    reader = connect(read_from=glide.ReadFrom.PREFER_REPLICA)
    for i in range(60):
        within(lambda key="r:%d" % i, value=b"%d" % i: reader.get(key) == value)
    texts = c.info([glide.InfoSection.COMMAND_STATS], glide.AllNodes())
    assert sum(b"cmdstat_get:calls=" in text for text in texts.values()) == 3
    reader.close()


@case
def scan_of_all_nodes(c):
    for i in range(700):
        c.set("scan:%d" % i, "x")
    cursor, found = glide.ClusterScanCursor(), []
    while not cursor.is_finished():
        cursor, keys = c.scan(cursor, match="scan:*", count=50)
        found += keys
    assert len(set(found)) == 700


client = connect()
bad = run_cases(client, lambda: client.flushall())
bad += load(LOG, client.set, client.get)
sys.exit(1 if bad else 0)
