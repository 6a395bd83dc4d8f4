"""valkey_sessions.py -- transactions, blocking pops, channels and the client's cache, as a Python program uses them.

Tests of valkey_py.py.

SPDX-License-Identifier: BSD-3-Clause
"""

import threading
import time

import valkey

from valkey_tests import connect, test, test_of


def another(c, **options):
    protocol = c.connection_pool.connection_kwargs["protocol"]
    return connect(protocol=protocol, socket_timeout=20, **options)


def within(seconds, condition):
    """Waits until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.005)


def waiting(c, n=1):
    within(10, lambda: c.info("clients")["blocked_clients"] == n)


# ---- Transactions ----------------------------------------------------------------------------------------------------


@test
def transactions(c):
    with c.pipeline(transaction=True) as pipe:
        pipe.set("a", 1).incr("a").lpush("list", "x").get("a")
        assert pipe.execute() == [True, 2, 1, b"2"]
    with c.pipeline(transaction=True) as pipe:
        pipe.set("a", "text").incr("a").set("b", 1)
        answers = pipe.execute(raise_on_error=False)
    assert answers[0] is True and isinstance(answers[1], valkey.ResponseError) and c.get("b") == b"1"
    with c.pipeline(transaction=True) as pipe:
        pipe.set("a", 5).execute_command("NOSUCHCOMMAND")
        try:
            pipe.execute()
            raise AssertionError("no error")
        except valkey.ResponseError:
            pass
    assert c.get("a") == b"text"


@test
def watch(c):
    c.set("n", 1)
    with c.pipeline() as pipe:
        pipe.watch("n")
        n = int(pipe.get("n"))
        c.set("n", 10)
        pipe.multi()
        pipe.set("n", n + 1)
        try:
            pipe.execute()
            raise AssertionError("a lost update")
        except valkey.WatchError:
            pass
        pipe.watch("n")
        pipe.unwatch()
        c.set("n", 20)
        pipe.multi()
        pipe.incr("n")
        assert pipe.execute() == [21]


@test
def optimistic_counters(c):
    """The library's helper, which retries, in many threads."""
    def work():
        mine = another(c)
        for _ in range(25):
            def increment(pipe):
                n = int(pipe.get("n") or 0)
                pipe.multi()
                pipe.set("n", n + 1)

            mine.transaction(increment, "n")
        mine.close()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert c.get("n") == b"150"


# ---- Blocking pops ---------------------------------------------------------------------------------------------------


@test
def blocking_at_once(c):
    c.rpush("list", "a", "b", "c", "d")
    assert c.blpop(["none", "list"], timeout=1) in ((b"list", b"a"), [b"list", b"a"])
    assert tuple(c.brpop("list", timeout=1)) == (b"list", b"d")
    assert c.blmove("list", "other", 1) == b"b"
    assert c.brpoplpush("list", "other", 1) == b"c"
    assert c.blmpop(1, 2, "none", "other", direction="LEFT", count=5) == [b"other", [b"c", b"b"]]
    c.zadd("z", {"a": 1, "b": 2, "c": 3})
    assert list(c.bzpopmin("z", timeout=1)) == [b"z", b"a", 1.0]
    assert list(c.bzpopmax("z", timeout=1)) == [b"z", b"c", 3.0]
    start = time.monotonic()
    assert c.blpop("none", timeout=0.2) is None
    assert 0.19 < time.monotonic() - start < 10
    assert c.pipeline(transaction=True).blpop("none").execute() == [None]


@test
def blocking_in_order(c):
    got = []

    def work(i):
        mine = another(c)
        got.append((i, mine.blpop("queue", timeout=15)[1]))
        mine.close()

    threads = []
    for i in range(5):
        threads.append(threading.Thread(target=work, args=(i,)))
        threads[-1].start()
        waiting(c, i + 1)
    for i in range(5):
        c.rpush("queue", i)
        within(10, lambda: len(got) == i + 1)
    for thread in threads:
        thread.join()
    assert got == [(i, b"%d" % i) for i in range(5)]


@test
def blocking_streams(c):
    c.xadd("stream", {"f": 0})
    c.xgroup_create("stream", "group", "$")
    got = []

    def work():
        mine = another(c)
        got.append(mine.xread({"stream": "$"}, block=15000))
        mine.close()

    def member():
        mine = another(c)
        got.append(mine.xreadgroup("group", "me", {"stream": ">"}, block=15000))
        mine.close()

    threads = [threading.Thread(target=work), threading.Thread(target=member)]
    for thread in threads:
        thread.start()
    waiting(c, 2)
    c.xadd("stream", {"f": "new"})
    for thread in threads:
        thread.join()
    assert len(got) == 2 and all(b"new" in repr(answer).encode() for answer in got)


@test
def unblocking(c):
    mine, errors = another(c), []

    def work():
        try:
            mine.blpop("queue", timeout=0)
        except valkey.ResponseError as error:
            errors.append(str(error))

    number = mine.client_id()
    thread = threading.Thread(target=work)
    thread.start()
    waiting(c)
    assert c.client_unblock(number, error=True)
    thread.join()
    assert "UNBLOCKED" in errors[0]
    mine.close()


@test
def queue_of_many(c):
    """Eight threads pop elements that eight others push: exactly one gets each element."""
    got = [[] for _ in range(8)]

    def pop(i):
        mine = another(c)
        while True:
            element = mine.blpop("queue", timeout=15)[1]
            if element == b"end":
                break
            got[i].append(int(element))
        mine.close()

    def push(i):
        mine = another(c)
        for n in range(100):
            mine.rpush("queue", i * 100 + n)
        mine.close()

    poppers = [threading.Thread(target=pop, args=(i,)) for i in range(8)]
    pushers = [threading.Thread(target=push, args=(i,)) for i in range(8)]
    for thread in poppers + pushers:
        thread.start()
    for thread in pushers:
        thread.join()
    c.rpush("queue", *["end"] * 8)
    for thread in poppers:
        thread.join()
    assert sorted(sum(got, [])) == list(range(800))


# ---- Channels --------------------------------------------------------------------------------------------------------


def message(p, kind, timeout=10):
    """Returns the next message of a kind."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        m = p.get_message(timeout=0.5)
        if m and m["type"] == kind:
            return m
    raise AssertionError("no %s" % kind)


@test_of("SUBSCRIBE", "PSUBSCRIBE", "PUBLISH", "PUBSUB")
def channels(c):
    p = c.pubsub()
    p.subscribe("news", "weather")
    p.psubscribe("n*s")
    for kind in ("subscribe", "subscribe", "psubscribe"):
        message(p, kind)
    assert c.publish("news", "hello") == 2
    assert message(p, "message")["data"] == b"hello"
    m = message(p, "pmessage")
    assert (m["pattern"], m["channel"], m["data"]) == (b"n*s", b"news", b"hello")
    assert c.publish("none", "x") == 0
    assert c.pubsub_channels() == [b"news", b"weather"] or set(c.pubsub_channels()) == {b"news", b"weather"}
    assert c.pubsub_numpat() == 1
    assert c.pubsub_numsub("news") == [(b"news", 1)]
    p.ping()
    message(p, "pong")
    p.unsubscribe("news")
    message(p, "unsubscribe")
    p.punsubscribe()
    message(p, "punsubscribe")
    assert c.publish("news", "again") == 0
    p.close()


@test_of("SSUBSCRIBE", "SPUBLISH")
def shard_channels(c):
    p = c.pubsub()
    p.ssubscribe("shard")
    message(p, "ssubscribe")
    assert c.execute_command("SPUBLISH", "shard", "x") == 1
    m = None
    end = time.monotonic() + 10
    while not (m and m["type"] == "smessage") and time.monotonic() < end:
        m = p.get_sharded_message(timeout=0.5) if hasattr(p, "get_sharded_message") else p.get_message(timeout=0.5)
    assert m["data"] == b"x"
    p.close()


@test_of("SUBSCRIBE", "PUBLISH")
def listening_thread(c):
    got = []
    p = c.pubsub(ignore_subscribe_messages=True)
    p.subscribe(news=lambda m: got.append(m["data"]))
    listener = p.run_in_thread(sleep_time=0.05, daemon=True)
    within(10, lambda: c.pubsub_numsub("news")[0][1] == 1)
    for i in range(500):
        c.publish("news", i)
    within(10, lambda: len(got) == 500)
    assert got == [b"%d" % i for i in range(500)]
    listener.stop()
    listener.join()


@test_of("SUBSCRIBE", "PSUBSCRIBE")
def keyspace_events(c):
    before = c.config_get("notify-keyspace-events")["notify-keyspace-events"]
    c.config_set("notify-keyspace-events", "KEA")
    p = c.pubsub()
    p.psubscribe("__keyevent@0__:*")
    message(p, "psubscribe")
    c.set("key", "x")
    c.expire("key", 100)
    c.rpush("list", 1)
    c.lpop("list")
    seen = []
    while len(seen) < 5:
        m = message(p, "pmessage")
        seen.append((m["channel"].decode().split(":")[1], m["data"]))
    assert seen == [("set", b"key"), ("expire", b"key"), ("rpush", b"list"), ("lpop", b"list"), ("del", b"list")], seen
    p.close()
    c.config_set("notify-keyspace-events", before)


@test_of("PUBLISH", "SUBSCRIBE")
def publish_in_a_transaction(c):
    p = c.pubsub(ignore_subscribe_messages=True)
    p.subscribe("news")
    within(10, lambda: c.pubsub_numsub("news")[0][1] == 1)
    assert c.pipeline(transaction=True).set("a", 1).publish("news", "x").get("a").execute() == [True, 1, b"1"]
    assert message(p, "message")["data"] == b"x"
    p.close()


# ---- The client's cache ----------------------------------------------------------------------------------------------


@test_of("CLIENT|TRACKING")
def cache(c):
    """The library caches replies, and the server invalidates them. Only in RESP3."""
    if c.connection_pool.connection_kwargs["protocol"] == 2:
        return
    mine = another(c, cache_enabled=True, single_connection_client=True)
    c.set("key", "one")
    assert mine.get("key") == b"one"
    gets = c.info("commandstats")["cmdstat_get"]["calls"]
    assert mine.get("key") == b"one" and mine.get("key") == b"one"
    assert c.info("commandstats")["cmdstat_get"]["calls"] == gets, "it asked again"
    c.set("key", "two")
    within(10, lambda: mine.get("key") == b"two")
    c.delete("key")
    within(10, lambda: mine.get("key") is None)
    c.mset({"key": "three", "b": "x"})
    within(10, lambda: mine.mget("key", "b") == [b"three", b"x"])
    c.flushall()
    within(10, lambda: mine.mget("key", "b") == [None, None])
    mine.close()


@test_of("CLIENT|TRACKING", "SUBSCRIBE")
def invalidation_through_another_connection(c):
    """As in RESP2: a subscriber of __redis__:invalidate gets the messages."""
    listener = connect(protocol=2, socket_timeout=20)
    p = listener.pubsub()
    p.subscribe("__redis__:invalidate")
    message(p, "subscribe")
    number = [e["id"] for e in c.client_list() if e["sub"] == "1"][0]
    mine = another(c, single_connection_client=True)
    mine.set("key", "x")
    assert mine.execute_command("CLIENT", "TRACKING", "ON", "REDIRECT", number) in (True, b"OK")
    assert mine.execute_command("CLIENT", "GETREDIR") == int(number)
    mine.get("key")
    c.set("key", "y")
    assert message(p, "message")["data"] == [b"key"]
    mine.close()
    p.close()
    listener.close()
