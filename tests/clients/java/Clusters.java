// Clusters.java -- the cluster clients of Jedis and Lettuce. run.py starts it as: java Clusters LIBRARY PORT LOG.
//
// SPDX-License-Identifier: BSD-3-Clause

import io.lettuce.core.ClientOptions;
import io.lettuce.core.KeyValue;
import io.lettuce.core.ReadFrom;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanIterator;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.sync.RedisAdvancedClusterCommands;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.cluster.pubsub.RedisClusterPubSubAdapter;
import io.lettuce.core.cluster.pubsub.StatefulRedisClusterPubSubConnection;
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import redis.clients.jedis.ClusterPipeline;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisShardedPubSub;
import redis.clients.jedis.Response;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.resps.ScanResult;

@SuppressWarnings("deprecation")
public final class Clusters {
    interface Body { void run() throws Exception; }
    interface Write { void to(String key, String value) throws Exception; }
    interface Read { String from(String key) throws Exception; }

    static final int WRITERS = 4;
    static final String INCREASE = "return redis.call('incrby', KEYS[1], ARGV[1])";
    static final List<String> CHANNELS = List.of("news", "sport", "weather"); // slots of several nodes

    static void equal(Object got, Object want) {
        if (!Objects.equals(got, want)) throw new AssertionError("got " + got + ", not " + want);
    }

    static void fails(String text, Body body) {
        try {
            body.run();
        } catch (Exception problem) {
            if (problem.toString().contains(text)) return;
            throw new AssertionError("not " + text, problem);
        }
        throw new AssertionError("no error with " + text);
    }

    static void within(Callable<Boolean> condition) throws Exception {
        for (long end = System.nanoTime() + 20_000_000_000L; !condition.call(); Thread.sleep(5))
            if (System.nanoTime() > end) throw new AssertionError("it does not happen");
    }

    /** Runs each case on an empty dataset and returns the number of those that failed. */
    static int runCases(Map<String, Body> cases, Body flush) {
        int failed = 0;
        for (Map.Entry<String, Body> one : cases.entrySet()) {
            try {
                flush.run();
                one.getValue().run();
            } catch (Throwable problem) {
                failed++;
                System.out.println("[fail] " + one.getKey());
                problem.printStackTrace(System.out);
            }
        }
        System.out.println((cases.size() - failed) + " passed, " + failed + " failed, 0 skipped");
        return failed;
    }

    /** Writes until a line comes from standard input; as load() of tests/clients/cluster/load.py. */
    static int load(String path, Write write, Read read) throws Exception {
        FileOutputStream log = new FileOutputStream(path, true);
        boolean[] ending = {false};
        int[] counts = new int[WRITERS];
        List<Thread> threads = new ArrayList<>();
        System.out.println("load begins");
        for (int number = 0; number < WRITERS; number++) {
            int w = number;
            threads.add(new Thread(() -> {
                try {
                    for (;;) {
                        synchronized (ending) {
                            if (ending[0]) return;
                        }
                        String key = "load:" + w + ":" + counts[w], line = "ok " + key;
                        try {
                            write.to(key, key);
                            counts[w]++;
                        } catch (Exception problem) {
                            line = "error " + problem.toString().split("\n")[0];
                        }
                        log.write((line + "\n").getBytes(StandardCharsets.UTF_8));
                        Thread.sleep(line.startsWith("ok") ? 1 : 20);
                    }
                } catch (Exception problem) {
                    problem.printStackTrace(System.out);
                }
            }));
            threads.get(w).start();
        }
        new BufferedReader(new InputStreamReader(System.in)).readLine();
        synchronized (ending) {
            ending[0] = true;
        }
        int wrong = 0;
        for (int w = 0; w < WRITERS; w++) {
            threads.get(w).join();
            for (int n = Math.max(0, counts[w] - 20); n < counts[w]; n++) {
                String key = "load:" + w + ":" + n;
                if (key.equals(read.from(key))) continue;
                System.out.println("[fail] not read back: " + key);
                wrong++;
            }
        }
        return wrong;
    }

    // ---- Jedis ------------------------------------------------------------------------------------------------------

    /** Returns a connection to each node of the role, "master" or "slave". */
    static List<Jedis> nodesOf(JedisCluster c, String role) {
        List<Jedis> nodes = new ArrayList<>();
        for (ConnectionPool pool : c.getClusterNodes().values()) {
            Jedis node = new Jedis(pool.getResource());
            if (node.role().get(0).equals(role)) nodes.add(node);
            else node.close();
        }
        equal(nodes.size(), 3);
        return nodes;
    }

    static int jedis(int port, String log) throws Exception {
        HostAndPort address = new HostAndPort("127.0.0.1", port);
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder().timeoutMillis(5000).build();
        JedisCluster c = new JedisCluster(Set.of(address), config, 20, Duration.ofSeconds(20),
            new org.apache.commons.pool2.impl.GenericObjectPoolConfig<>());
        Map<String, Body> cases = new LinkedHashMap<>();
        cases.put("discovery", () -> {
            equal(c.getClusterNodes().size(), 6);
            try (Jedis node = nodesOf(c, "slave").get(0)) {
                equal(node.clusterSlots().size(), 3);
                equal(node.clusterLinks().size(), 10);
                equal(node.clusterKeySlot("foo"), 12182L);
                equal(node.clusterInfo().contains("cluster_state:ok"), true);
            }
        });
        cases.put("many slots", () -> {
            for (int i = 0; i < 500; i++) equal(c.set("key:" + i, "" + i), "OK");
            for (int i = 0; i < 500; i++) equal(c.get("key:" + i), "" + i);
            for (Jedis node : nodesOf(c, "master")) {
                equal(node.dbSize() > 100, true);
                node.close();
            }
        });
        cases.put("hash tags", () -> {
            equal(c.mset("{t}a", "1", "{t}b", "2"), "OK");
            equal(c.mget("{t}a", "{t}b"), List.of("1", "2"));
            equal(c.rename("{t}a", "{t}c"), "OK");
        });
        cases.put("cross-slot errors", () -> {
            fails("slot", () -> c.mget("a", "b")); // the library's own
            Jedis node = nodesOf(c, "master").get(0);
            fails("CROSSSLOT Keys in request don't hash to the same slot", () -> node.mget("a", "b"));
            node.close();
        });
        cases.put("pipelines", () -> {
            List<Response<String>> answers = new ArrayList<>();
            try (ClusterPipeline pipe = c.pipelined()) {
                for (int i = 0; i < 500; i++) {
                    pipe.set("p:" + i, "" + i);
                    answers.add(pipe.get("p:" + i));
                }
                pipe.sync();
            }
            for (int i = 0; i < 500; i++) equal(answers.get(i).get(), "" + i);
        });
        cases.put("transactions of a node", () -> { // the library has none of a cluster
            for (Jedis node : nodesOf(c, "master")) {
                for (int i = 0;; i++) {
                    String key = "{" + i + "}n";
                    try {
                        node.get(key);
                    } catch (redis.clients.jedis.exceptions.JedisMovedDataException moved) {
                        continue;
                    }
                    redis.clients.jedis.Transaction t = node.multi();
                    t.set(key, "1");
                    t.incr(key);
                    equal(t.exec(), List.of("OK", 2L));
                    equal(node.waitReplicas(1, 10000), 1L);
                    break;
                }
                node.close();
            }
        });
        cases.put("scripts", () -> {
            for (int i = 0; i < 10; i++) equal(c.eval(INCREASE, List.of("n:" + i), List.of("5")), 5L);
            String sha = c.scriptLoad(INCREASE, "n:1");
            equal(c.evalsha(sha, List.of("n:1"), List.of("5")), 10L);
        });
        cases.put("shard channels", () -> {
            for (String channel : CHANNELS) {
                List<String> got = Collections.synchronizedList(new ArrayList<>());
                JedisShardedPubSub listener = new JedisShardedPubSub() {
                    @Override public void onSMessage(String name, String message) { got.add(message); }
                };
                Thread thread = new Thread(() -> c.ssubscribe(listener, channel));
                thread.start();
                within(() -> c.spublish(channel, channel + "!") == 1 && !got.isEmpty());
                equal(got.get(0), channel + "!");
                listener.sunsubscribe();
                thread.join(10000);
                equal(thread.isAlive(), false);
            }
        });
        cases.put("reads from replicas", () -> {
            Map<String, String> wanted = new LinkedHashMap<>();
            for (int i = 0; i < 60; i++) wanted.put("r:" + i, "" + i);
            wanted.forEach(c::set);
            Set<String> found = Collections.synchronizedSet(new HashSet<>());
            for (Jedis node : nodesOf(c, "slave")) {
                fails("MOVED", () -> {
                    for (String key : wanted.keySet()) node.get(key);
                });
                equal(node.readonly(), "OK");
                for (String key : wanted.keySet()) {
                    try {
                        within(() -> wanted.get(key).equals(node.get(key)));
                        found.add(key);
                    } catch (redis.clients.jedis.exceptions.JedisMovedDataException moved) {
                        continue;
                    }
                }
                equal(node.readwrite(), "OK");
                node.close();
            }
            equal(found.size(), 60);
        });
        cases.put("scan of all nodes", () -> {
            for (int i = 0; i < 700; i++) c.set("scan:" + i, "x");
            Set<String> found = new HashSet<>();
            for (Jedis node : nodesOf(c, "master")) {
                ScanResult<String> part = new ScanResult<>("0", List.of());
                do {
                    part = node.scan(part.getCursor(), new ScanParams().match("scan:*").count(50));
                    found.addAll(part.getResult());
                } while (!part.isCompleteIteration());
                node.close();
            }
            equal(found.size(), 700);
        });
        int failed = runCases(cases, () -> {
            for (Jedis node : nodesOf(c, "master")) {
                node.flushAll();
                node.close();
            }
        });
        return failed + load(log, c::set, c::get);
    }

    // ---- Lettuce ----------------------------------------------------------------------------------------------------

    static int lettuce(int port, String log) throws Exception {
        RedisClusterClient client = RedisClusterClient.create(
            RedisURI.builder().withHost("127.0.0.1").withPort(port).withTimeout(Duration.ofSeconds(5)).build());
        // Commands to a node that is down fail, and the next try goes where the new view of the cluster says.
        client.setOptions(ClusterClientOptions.builder()
            .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS).topologyRefreshOptions(
            ClusterTopologyRefreshOptions.builder().enableAllAdaptiveRefreshTriggers()
                .adaptiveRefreshTriggersTimeout(Duration.ofMillis(500)).enablePeriodicRefresh(Duration.ofSeconds(1))
                .build()).build());
        StatefulRedisClusterConnection<String, String> connection = client.connect();
        RedisAdvancedClusterCommands<String, String> c = connection.sync();
        Map<String, Body> cases = new LinkedHashMap<>();
        cases.put("discovery", () -> {
            int replicas = 0;
            for (RedisClusterNode node : connection.getPartitions()) if (node.getRole().isReplica()) replicas++;
            equal(List.of(connection.getPartitions().size(), replicas), List.of(6, 3));
            equal(c.clusterSlots().size(), 3);
            equal(c.clusterShards().size(), 3);
            equal(c.clusterKeyslot("foo"), 12182L);
        });
        cases.put("many slots", () -> {
            for (int i = 0; i < 500; i++) equal(c.set("key:" + i, "" + i), "OK");
            for (int i = 0; i < 500; i++) equal(c.get("key:" + i), "" + i);
            equal(c.dbsize(), 500L);
            Map<String, String> many = new LinkedHashMap<>(); // of all nodes: the library divides it
            for (int i = 0; i < 100; i++) many.put("m:" + i, "" + i);
            equal(c.mset(many), "OK");
            List<KeyValue<String, String>> got = c.mget(many.keySet().toArray(new String[0]));
            for (KeyValue<String, String> one : got) equal(one.getValue(), many.get(one.getKey()));
            equal(c.del(many.keySet().toArray(new String[0])), 100L);
            equal(c.keys("key:1*").size(), 111);
        });
        cases.put("hash tags", () -> {
            equal(c.mset(Map.of("{t}a", "1", "{t}b", "2")), "OK");
            equal(c.rename("{t}a", "{t}c"), "OK");
            equal(c.exists("{t}b", "{t}c"), 2L);
        });
        cases.put("cross-slot errors", () -> fails("CROSSSLOT Keys in request don't hash to the same slot",
            () -> c.sunion("a", "b")));
        cases.put("pipelines", () -> {
            List<RedisFuture<String>> answers = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                connection.async().set("p:" + i, "" + i);
                answers.add(connection.async().get("p:" + i));
            }
            for (int i = 0; i < 500; i++) equal(answers.get(i).get(), "" + i);
        });
        cases.put("transactions of a node", () -> { // the library has none of a cluster
            int slot = io.lettuce.core.cluster.SlotHash.getSlot("{t}");
            var node = connection.getConnection(connection.getPartitions().getPartitionBySlot(slot).getNodeId()).sync();
            node.multi();
            node.set("{t}n", "1");
            node.incr("{t}n");
            var answers = node.exec();
            equal(List.of(answers.get(0), answers.get(1)), List.of("OK", 2L));
            equal(node.waitForReplication(1, 10000), 1L);
        });
        cases.put("scripts", () -> {
            for (int i = 0; i < 10; i++)
                equal(c.<Long>eval(INCREASE, ScriptOutputType.INTEGER, new String[] {"n:" + i}, "5"), 5L);
            String sha = c.scriptLoad(INCREASE); // on all nodes
            for (int i = 0; i < 10; i++)
                equal(c.<Long>evalsha(sha, ScriptOutputType.INTEGER, new String[] {"n:" + i}, "5"), 10L);
        });
        cases.put("channels", () -> {
            List<String> got = Collections.synchronizedList(new ArrayList<>());
            StatefulRedisClusterPubSubConnection<String, String> listener = client.connectPubSub();
            listener.addListener(new RedisClusterPubSubAdapter<String, String>() {
                @Override public void message(RedisClusterNode node, String channel, String message) { got.add(message); }
                @Override public void smessage(RedisClusterNode node, String channel, String message) { got.add(message); }
            });
            listener.sync().subscribe("everywhere");
            c.upstream().commands().publish("everywhere", "hello");
            within(() -> got.size() == 3);
            got.clear();
            for (String channel : CHANNELS) listener.sync().ssubscribe(channel);
            for (String channel : CHANNELS) equal(c.spublish(channel, channel + "!"), 1L);
            within(() -> got.size() == 3);
            listener.close();
        });
        cases.put("reads from replicas", () -> {
            for (int i = 0; i < 60; i++) c.set("r:" + i, "" + i);
            c.replicas().commands().configResetstat();
            StatefulRedisClusterConnection<String, String> reader = client.connect();
            reader.setReadFrom(ReadFrom.REPLICA);
            for (int i = 0; i < 60; i++) {
                String key = "r:" + i, value = "" + i;
                within(() -> value.equals(reader.sync().get(key)));
            }
            reader.close();
            for (String text : c.replicas().commands().info("commandstats"))
                equal(text.contains("cmdstat_get:calls="), true);
        });
        cases.put("scan of all nodes", () -> {
            for (int i = 0; i < 700; i++) c.set("scan:" + i, "x");
            Set<String> found = new HashSet<>();
            ScanIterator<String> keys = ScanIterator.scan(c, ScanArgs.Builder.matches("scan:*").limit(50));
            while (keys.hasNext()) found.add(keys.next());
            equal(found.size(), 700);
        });
        int failed = runCases(cases, c::flushall);
        return failed + load(log, c::set, c::get);
    }

    public static void main(String[] words) throws Exception {
        java.util.logging.LogManager.getLogManager().reset(); // Lettuce logs each failed connection
        int port = Integer.parseInt(words[1]);
        int bad = words[0].equals("jedis") ? jedis(port, words[2]) : lettuce(port, words[2]);
        System.exit(bad > 0 ? 1 : 0);
    }
}
