// cluster_ioredis.mjs -- the cluster client of ioredis.
//
// SPDX-License-Identifier: BSD-3-Clause

import assert from "node:assert/strict";
import Redis from "ioredis";
import { load, runCases, within } from "./cluster_load.mjs";

const [port, log] = process.argv.slice(2);

async function connect(options = {}) {
    const c = new Redis.Cluster([{ host: "127.0.0.1", port: Number(port) }], options);
    c.on("error", () => {});
    await new Promise((ready) => c.once("ready", ready));
    return c;
}

const c = await connect();
const primaries = (body) => Promise.all(c.nodes("master").map(body));

const failed = await runCases({
    async discovery() {
        assert.equal(c.nodes("master").length, 3);
        assert.equal(c.nodes("slave").length, 3);
        const rows = await c.cluster("SLOTS");
        assert.deepEqual(rows.map((row) => row.length), [4, 4, 4]); // a primary and a replica each
        assert.equal((await c.cluster("SHARDS")).length, 3);
        assert.equal(await c.cluster("KEYSLOT", "foo"), 12182);
        assert.match(await c.cluster("INFO"), /cluster_state:ok/);
    },

    async "many slots"() {
        for (let i = 0; i < 500; i++) assert.equal(await c.set("key:" + i, i), "OK");
        for (let i = 0; i < 500; i++) assert.equal(await c.get("key:" + i), String(i));
        const sizes = await primaries((node) => node.dbsize());
        assert.equal(sizes.reduce((a, b) => a + b), 500);
        assert.ok(Math.min(...sizes) > 100);
        assert.equal((await Promise.all([...Array(500).keys()].map((i) => c.get("key:" + i)))).length, 500);
    },

    async "hash tags"() {
        assert.equal(await c.mset("{t}a", 1, "{t}b", 2), "OK");
        assert.deepEqual(await c.mget("{t}a", "{t}b", "{t}none"), ["1", "2", null]);
        assert.equal(await c.rename("{t}a", "{t}c"), "OK");
        assert.equal(await c.del("{t}b", "{t}c"), 2);
    },

    async "cross-slot errors"() {
        await assert.rejects(c.mget("a", "b"), /CROSSSLOT Keys in request don't hash to the same slot/);
        await assert.rejects(c.del("a", "b"), /CROSSSLOT/);
    },

    async pipelines() {
        const pipe = c.pipeline();
        for (let i = 0; i < 500; i++) pipe.set("{p}" + i, i).get("{p}" + i);
        const answers = await pipe.exec();
        assert.deepEqual(answers.map(([error]) => error), Array(1000).fill(null));
        assert.equal(answers[999][1], "499");
        const mixed = c.pipeline().set("a", 1).set("b", 1); // slots of two nodes, which the library refuses
        await assert.rejects(mixed.exec(), /slots/);
        const readers = await connect({ enableAutoPipelining: true });
        await c.set("b", 2);
        await c.set("a", 1);
        assert.deepEqual(await Promise.all([readers.get("a"), readers.get("b")]), ["1", "2"]);
        readers.disconnect();
    },

    async transactions() {
        assert.deepEqual(await c.multi().set("{t}n", 1).incr("{t}n").exec(), [[null, "OK"], [null, 2]]);
        await assert.rejects(c.multi().set("{t}n", 7).call("NOSUCHCOMMAND", "{t}n").exec(), /EXECABORT/);
        assert.equal(await c.get("{t}n"), "2");
    },

    async scripts() {
        c.defineCommand("add", { numberOfKeys: 1, lua: "return redis.call('incrby', KEYS[1], ARGV[1])" });
        for (let i = 0; i < 20; i++) assert.equal(await c.add("n:" + (i % 10), 5), 5 * (1 + Math.floor(i / 10)));
        await assert.rejects(c.eval("return 1", 2, "a", "b"), /CROSSSLOT/);
    },

    async "blocking pops"() {
        const mine = await connect();
        const waits = mine.blpop("{q}a", "{q}b", 20);
        const sum = async () => (await primaries((node) => node.info("clients")))
            .filter((text) => /blocked_clients:1\r/.test(text)).length;
        await within(async () => (await sum()) === 1);
        await c.rpush("{q}b", "x");
        assert.deepEqual(await waits, ["{q}b", "x"]);
        mine.disconnect();
    },

    async channels() {
        const mine = await connect();
        const got = [];
        mine.on("message", (channel, message) => got.push(message));
        await mine.subscribe("everywhere");
        await primaries((node) => node.publish("everywhere", "hello"));
        await within(() => got.length === 3);
        mine.disconnect();
    },

    async "shard channels"() {
        for (const channel of ["news", "sport", "weather"]) {
            const slot = await c.cluster("KEYSLOT", channel);
            const owner = c.slots[slot][0];
            const mine = c.nodes("master").find((node) => `${node.options.host}:${node.options.port}` === owner).duplicate();
            const got = [];
            mine.on("smessage", (name, message) => got.push(message));
            await mine.ssubscribe(channel);
            assert.equal(await c.spublish(channel, channel + "!"), 1);
            await within(() => got.length === 1);
            assert.deepEqual(got, [channel + "!"]);
            mine.disconnect();
        }
    },

    async "reads from replicas"() {
        for (let i = 0; i < 60; i++) await c.set("r:" + i, i);
        await Promise.all(c.nodes("slave").map((node) => node.config("RESETSTAT")));
        const reader = await connect({ scaleReads: "slave" });
        for (let i = 0; i < 60; i++) await within(async () => (await reader.get("r:" + i)) === String(i));
        await assert.rejects(reader.nodes("slave")[0].set("key", 1).then(() =>
            reader.nodes("slave")[1].set("key", 1)), /MOVED/);
        for (const node of c.nodes("slave")) assert.match(await node.info("commandstats"), /cmdstat_get:calls=/);
        reader.disconnect();
    },

    async "scan of all nodes"() {
        for (let i = 0; i < 700; i++) await c.set("scan:" + i, i);
        const found = [];
        for (const node of c.nodes("master")) {
            for await (const keys of node.scanStream({ match: "scan:*", count: 50 })) found.push(...keys);
        }
        assert.equal(new Set(found).size, 700);
    },

    async "WAIT after a write on its connection"() {
        const replies = await primaries(async (node) => {
            for (let i = 0; ; i++) {
                const done = await node.set("w:" + i, i).catch((error) => assert.match(error.message, /MOVED/));
                if (done) return node.wait(1, 10000);
            }
        });
        assert.deepEqual(replies, [1, 1, 1]);
    },
}, () => primaries((node) => node.flushall()));

const wrong = await load(log, (key, value) => c.set(key, value), (key) => c.get(key));
process.exit(failed + wrong > 0 ? 1 : 0);
