// cluster_redis.mjs -- the cluster client of node-redis, in RESP3.
//
// SPDX-License-Identifier: BSD-3-Clause

import assert from "node:assert/strict";
import { createCluster } from "redis";
import { load, runCases, within } from "./cluster_load.mjs";

const [port, log] = process.argv.slice(2);

async function connect(options = {}) {
    const c = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }], RESP: 3, ...options });
    c.on("error", () => {});
    c.on("node-error", () => {});
    await c.connect();
    return c;
}

const c = await connect();
const primaries = (body) => Promise.all(c.masters.map(async (node) => body(await c.nodeClient(node))));
const reader = await connect({ useReplicas: true }); // without it, the library has no replicas
const replicas = (body) => Promise.all(reader.replicas.map(async (node) => body(await reader.nodeClient(node))));

const failed = await runCases({
    async discovery() {
        assert.equal(c.masters.length, 3);
        assert.equal(reader.replicas.length, 3);
        const node = await c.nodeClient(c.masters[0]);
        assert.deepEqual((await node.clusterSlots()).map((row) => row.replicas.length), [1, 1, 1]);
        assert.equal((await node.sendCommand(["CLUSTER", "SHARDS"])).length, 3);
        assert.equal((await node.clusterLinks()).length, 10);
        assert.equal(await node.clusterKeySlot("foo"), 12182);
    },

    async "many slots"() {
        for (let i = 0; i < 500; i++) assert.equal(await c.set("key:" + i, String(i)), "OK");
        for (let i = 0; i < 500; i++) assert.equal(await c.get("key:" + i), String(i));
        const sizes = await primaries((node) => node.dbSize());
        assert.equal(sizes.reduce((a, b) => a + b), 500);
        assert.ok(Math.min(...sizes) > 100);
    },

    async "hash tags"() {
        assert.equal(await c.mSet([["{t}a", "1"], ["{t}b", "2"]]), "OK");
        assert.deepEqual(await c.mGet(["{t}a", "{t}b", "{t}none"]), ["1", "2", null]);
        assert.equal(await c.del(["{t}a", "{t}b"]), 2);
    },

    async "cross-slot errors"() {
        await assert.rejects(c.mGet(["a", "b"]), /CROSSSLOT Keys in request don't hash to the same slot/);
    },

    async "pipelines"() {
        const keys = [...Array(500).keys()];
        await Promise.all(keys.map((i) => c.set("p:" + i, String(i))));
        assert.deepEqual(await Promise.all(keys.map((i) => c.get("p:" + i))), keys.map(String));
    },

    async transactions() {
        assert.deepEqual(await c.multi().set("{t}n", "1").incr("{t}n").exec(), ["OK", 2]);
        assert.deepEqual(await c.multi().set("{t}n", "5").get("{t}n").execAsPipeline(), ["OK", "5"]);
        await assert.rejects(c.multi().set("{t}n", "9").set("other", "1").exec());
        assert.equal(await c.get("{t}n"), "5");
    },

    async scripts() {
        for (let i = 0; i < 10; i++) {
            assert.equal(await c.eval("return redis.call('incrby', KEYS[1], ARGV[1])", { keys: ["n:" + i], arguments: ["5"] }), 5);
        }
    },

    async channels() {
        const got = [];
        await c.subscribe("everywhere", (message) => got.push(message));
        await primaries((node) => node.publish("everywhere", "hello"));
        await within(() => got.length === 3);
        await c.unsubscribe("everywhere");
    },

    async "shard channels"() {
        const got = [];
        for (const channel of ["news", "sport", "weather"]) await c.sSubscribe(channel, (message) => got.push(message));
        for (const channel of ["news", "sport", "weather"]) assert.equal(await c.sPublish(channel, channel + "!"), 1);
        await within(() => got.length === 3);
        assert.deepEqual(got.sort(), ["news!", "sport!", "weather!"]);
        for (const channel of ["news", "sport", "weather"]) await c.sUnsubscribe(channel);
    },

    async "reads from replicas"() {
        for (let i = 0; i < 60; i++) await c.set("r:" + i, String(i));
        await replicas((node) => node.configResetStat());
        for (let round = 0; round < 4; round++) {
            for (let i = 0; i < 60; i++) await within(async () => (await reader.get("r:" + i)) === String(i));
        }
        for (const text of await replicas((node) => node.info("commandstats"))) assert.match(text, /cmdstat_get:calls=/);
    },

    async "scan of all nodes"() {
        for (let i = 0; i < 700; i++) await c.set("scan:" + i, "x");
        const found = [];
        for (const node of c.masters) {
            const one = await c.nodeClient(node);
            for await (const keys of one.scanIterator({ MATCH: "scan:*", COUNT: 50 })) found.push(...keys);
        }
        assert.equal(new Set(found).size, 700);
    },
}, () => primaries((node) => node.flushAll()));

reader.destroy();
const wrong = await load(log, (key, value) => c.set(key, value), (key) => c.get(key));
process.exit(failed + wrong > 0 ? 1 : 0);
