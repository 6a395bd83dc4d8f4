// Sessions.java -- transactions, blocking pops and channels with Jedis. Started by java.sh. (Its cache refuses each
// server whose redis_version is below 7.4, as Valkey's is.)
//
// SPDX-License-Identifier: BSD-3-Clause

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.args.ListDirection;

public final class Sessions {
    interface Body { void run(Jedis c) throws Exception; }

    static HostAndPort server;
    static RedisProtocol protocol;
    static int passed, failed;

    static DefaultJedisClientConfig config() {
        return DefaultJedisClientConfig.builder().protocol(protocol).timeoutMillis(20000).build();
    }

    static Jedis connect() { return new Jedis(server, config()); }

    static void equal(Object got, Object want) {
        if (!Objects.equals(got, want)) throw new AssertionError("got " + got + ", not " + want);
    }

    static void within(BooleanSupplier condition) throws InterruptedException {
        for (long end = System.nanoTime() + 10_000_000_000L; !condition.getAsBoolean(); Thread.sleep(5))
            if (System.nanoTime() > end) throw new AssertionError("it does not happen");
    }

    static void blocked(Jedis c, int n) throws InterruptedException {
        within(() -> c.info("clients").contains("blocked_clients:" + n + "\r\n"));
    }

    static void test(String name, Body body) {
        try (Jedis c = connect()) {
            c.flushAll();
            body.run(c);
            passed++;
        } catch (Throwable problem) {
            failed++;
            System.out.println("[fail] " + name + " (" + protocol + "): " + problem);
        }
    }

    static void transactions(Jedis c) {
        Transaction t = c.multi();
        t.set("a", "1");
        t.incr("a");
        t.get("a");
        equal(t.exec(), List.of("OK", 2L, "2"));
        c.watch("a");
        try (Jedis other = connect()) {
            other.set("a", "changed");
        }
        t = c.multi();
        t.set("a", "lost");
        equal(t.exec(), null);
        equal(c.get("a"), "changed");
        t = c.multi();
        t.set("a", "x");
        equal(t.discard(), "OK");
        equal(c.get("a"), "changed");
    }

    static void blocking(Jedis c) throws Exception {
        c.rpush("list", "a", "b");
        equal(c.blpop(1.0, "none", "list").getValue(), "a");
        equal(c.blmove("list", "other", ListDirection.LEFT, ListDirection.RIGHT, 1.0), "b");
        c.zadd("z", 1, "m");
        equal(c.bzpopmin(1.0, "z").getValue().getElement(), "m");
        equal(c.blpop(0.05, "none"), null);
        List<String> got = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int number = i;
            threads.add(new Thread(() -> {
                try (Jedis mine = connect()) {
                    got.add(number + "=" + mine.blpop(15.0, "queue").getValue());
                }
            }));
            threads.get(i).start();
            blocked(c, i + 1);
        }
        c.rpush("queue", "0", "1", "2", "3");
        for (Thread thread : threads) thread.join();
        Collections.sort(got);
        equal(got, List.of("0=0", "1=1", "2=2", "3=3"));
    }

    static void channels(Jedis c) throws Exception {
        List<String> got = Collections.synchronizedList(new ArrayList<>());
        JedisPubSub listener = new JedisPubSub() {
            @Override public void onMessage(String channel, String message) { got.add(channel + " " + message); }
            @Override public void onPMessage(String pattern, String channel, String message) {
                got.add(pattern + " " + message);
            }
        };
        Thread thread = new Thread(() -> {
            try (Jedis mine = connect()) {
                mine.subscribe(listener, "news");
            }
        });
        thread.start();
        within(() -> Map.of("news", 1L).equals(c.pubsubNumSub("news")));
        listener.psubscribe("n*");
        within(() -> c.pubsubNumPat() == 1);
        equal(c.publish("news", "hello"), 2L);
        within(() -> got.size() == 2);
        equal(got, List.of("news hello", "n* hello"));
        listener.unsubscribe();
        listener.punsubscribe();
        thread.join(10000);
        equal(thread.isAlive(), false);
    }

    public static void main(String[] words) {
        server = new HostAndPort("127.0.0.1", Integer.parseInt(words[0]));
        for (RedisProtocol p : RedisProtocol.values()) {
            protocol = p;
            test("transactions", Sessions::transactions);
            test("blocking pops", Sessions::blocking);
            test("channels", Sessions::channels);
        }
        System.out.println(passed + " passed, " + failed + " failed, 0 skipped");
        System.exit(failed > 0 ? 1 : 0);
    }
}
