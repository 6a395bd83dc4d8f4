// sessions.mjs -- transactions, blocking pops, channels and the client's cache with the published clients. types.mjs
// runs these tests.
//
// SPDX-License-Identifier: BSD-3-Clause

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import Redis from "ioredis";
import { BasicClientSideCache, createClient, WatchError } from "redis";

const port = Number(process.argv[2]);
// The folder of the certificates; connections are plain if it is not given.
const folder = process.argv[3];
const file = (name) => readFileSync(`${folder}/${name}`);
export const tls = folder ? { ca: file("ca.crt"), cert: file("client.crt"), key: file("client.key") } : undefined;
/** Returns the options by which the client redis finds the server. */
export const socket = { port, host: "localhost", tls: tls !== undefined, ...tls };
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Waits until the condition holds. */
async function within(ms, condition) {
    for (const end = Date.now() + ms; !(await condition());) {
        assert.ok(Date.now() < end, "it does not happen");
        await sleep(5);
    }
}

async function another(c) {
    const mine = c.duplicate();
    mine.on("error", () => {});
    if (mine.connect && !(mine instanceof Redis)) await mine.connect();
    return mine;
}

const blocked = async (c) => Number(/blocked_clients:(\d+)/.exec(await c.info("clients"))[1]);

export function register(testOf) {
    // ---- redis ------------------------------------------------------------------------------------------------------

    testOf("redis", ["MULTI", "WATCH"], "transactions", async (c) => {
        assert.deepEqual(await c.multi().set("a", "1").incr("a").lPush("list", "x").get("a").exec(), ["OK", 2, 1, "2"]);
        await assert.rejects(c.multi().set("a", "text").incr("a").exec());
        assert.equal(await c.get("a"), "text");
        const mine = await another(c);
        await mine.watch("a");
        await c.set("a", "changed");
        await assert.rejects(mine.multi().set("a", "lost").exec(), WatchError);
        await mine.watch("a");
        assert.deepEqual(await mine.multi().set("a", "mine").exec(), ["OK"]);
        assert.equal(await c.get("a"), "mine");
        mine.destroy();
    });

    testOf("redis", ["BLPOP", "BZPOPMIN", "BLMOVE"], "blocking pops", async (c) => {
        await c.rPush("list", ["a", "b", "c"]);
        assert.deepEqual({ ...(await c.blPop("list", 1)) }, { key: "list", element: "a" });
        assert.equal(await c.blMove("list", "other", "LEFT", "RIGHT", 1), "b");
        await c.zAdd("z", { score: 1, value: "m" });
        assert.deepEqual({ ...(await c.bzPopMin("z", 1)) }, { key: "z", value: "m", score: 1 });
        assert.equal(await c.blPop("none", 0.05), null);
        const waiting = [];
        const got = [];
        for (let i = 0; i < 4; i++) {
            const mine = await another(c);
            waiting.push(mine.blPop("queue", 15).then((popped) => { got.push([i, popped.element]); mine.destroy(); }));
            await within(10000, async () => (await blocked(c)) === i + 1);
        }
        await c.rPush("queue", ["0", "1", "2", "3"]);
        await Promise.all(waiting);
        assert.deepEqual(got.sort(), [[0, "0"], [1, "1"], [2, "2"], [3, "3"]]);
    });

    testOf("redis", ["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "PUBLISH"], "channels", async (c) => {
        const mine = await another(c);
        const got = [];
        await mine.subscribe("news", (message, channel) => got.push([channel, message]));
        await mine.pSubscribe("n*", (message, channel) => got.push(["pattern", channel, message]));
        await mine.sSubscribe("shard", (message, channel) => got.push(["shard", channel, message]));
        assert.equal(await c.publish("news", "hello"), 2);
        assert.equal(await c.sPublish("shard", "x"), 1);
        await within(10000, () => got.length === 3);
        assert.deepEqual(got, [["news", "hello"], ["pattern", "news", "hello"], ["shard", "shard", "x"]]);
        assert.deepEqual(await c.pubSubChannels(), ["news"]);
        assert.equal(Number((await c.pubSubNumSub("news"))["news"]), 1);
        await mine.unsubscribe("news");
        await mine.pUnsubscribe();
        await mine.sUnsubscribe();
        assert.equal(await c.publish("news", "again"), 0);
        assert.equal(String(await mine.ping()), "PONG");
        mine.destroy();
    });

    testOf("redis", ["SUBSCRIBE", "PUBLISH"], "many messages in order", async (c) => {
        const mine = await another(c);
        const got = [];
        await mine.subscribe("news", (message) => got.push(Number(message)));
        await Promise.all([...Array(2000).keys()].map((i) => c.publish("news", String(i))));
        await within(10000, () => got.length === 2000);
        assert.deepEqual(got, [...Array(2000).keys()]);
        mine.destroy();
    });

    testOf("redis", ["CLIENT|TRACKING"], "the client's cache", async (c, protocol) => {
        if (protocol === 2) return; // the client offers its cache in RESP3 only
        const cache = new BasicClientSideCache({ ttl: 0, maxEntries: 100 });
        const mine = createClient({ socket, RESP: 3, clientSideCache: cache });
        await mine.on("error", () => {}).connect();
        await c.set("key", "one");
        assert.equal(await mine.get("key"), "one");
        assert.equal(await mine.get("key"), "one");
        assert.equal(await mine.get("key"), "one");
        assert.equal(cache.stats().hitCount, 2);
        await c.set("key", "two");
        await within(10000, async () => (await mine.get("key")) === "two");
        await c.del("key");
        await within(10000, async () => (await mine.get("key")) === null);
        await c.flushAll();
        mine.destroy();
    });

    // ---- ioredis ----------------------------------------------------------------------------------------------------

    testOf("ioredis", ["MULTI", "WATCH"], "transactions", async (c) => {
        assert.deepEqual(await c.multi().set("a", 1).incr("a").get("a").exec(), [[null, "OK"], [null, 2], [null, "2"]]);
        const answers = await c.multi().set("a", "text").incr("a").set("b", 1).exec();
        assert.match(String(answers[1][0]), /not an integer/);
        assert.deepEqual(answers[2], [null, "OK"]);
        await c.multi({ pipeline: false });
        assert.equal(await c.set("a", "2"), "QUEUED");
        assert.deepEqual(await c.exec(), [[null, "OK"]]);
        await c.watch("a");
        const other = await another(c);
        await other.set("a", "changed");
        assert.equal(await c.multi().set("a", "lost").exec(), null);
        await c.multi({ pipeline: false });
        assert.equal(await c.discard(), "OK");
        await assert.rejects(c.multi().call("NOSUCHCOMMAND").exec(), /EXECABORT/);
        other.disconnect();
    });

    testOf("ioredis", ["BLPOP", "BRPOP", "BLMOVE"], "blocking pops", async (c) => {
        const mine = await another(c);
        const waits = mine.blpop("queue", 15);
        await within(10000, async () => (await blocked(c)) === 1);
        const behind = mine.get("key"); // on the same connection, after the command that waits
        await c.multi().set("key", "x").rpush("queue", "a", "b").exec();
        assert.deepEqual(await waits, ["queue", "a"]);
        assert.equal(await behind, "x");
        assert.deepEqual(await mine.brpop("none", "queue", 1), ["queue", "b"]);
        assert.equal(await mine.blmove("none", "queue", "LEFT", "RIGHT", 0.05), null);
        const killed = mine.blpop("queue", 15).catch((error) => error);
        await within(10000, async () => (await blocked(c)) === 1);
        mine.disconnect();
        assert.ok((await killed) instanceof Error);
        await within(10000, async () => (await blocked(c)) === 0);
        await c.rpush("queue", "kept");
        assert.deepEqual(await c.lrange("queue", 0, -1), ["kept"]);
    });

    testOf("ioredis", ["SUBSCRIBE", "PSUBSCRIBE", "PUBLISH"], "channels, and events of keys", async (c) => {
        const mine = await another(c);
        const got = [];
        mine.on("message", (channel, message) => got.push([channel, message]));
        mine.on("pmessage", (pattern, channel, message) => got.push([channel.split(":").pop(), message]));
        assert.equal(await mine.subscribe("news", "weather"), 2);
        assert.equal(await mine.psubscribe("__keyevent@0__:*"), 3);
        await assert.rejects(mine.get("key"), /subscriber mode/);
        await c.config("SET", "notify-keyspace-events", "KEA");
        await c.publish("news", "hello");
        await c.set("key", "x");
        await c.expire("key", 100);
        await c.del("key");
        await within(10000, () => got.length === 4);
        await c.config("SET", "notify-keyspace-events", "");
        assert.deepEqual(got, [["news", "hello"], ["set", "key"], ["expire", "key"], ["del", "key"]]);
        await mine.unsubscribe("news", "weather"); // unnamed, the library takes the reply for null
        await mine.punsubscribe("__keyevent@0__:*");
        assert.equal(await mine.get("key"), null);
        mine.disconnect();
    });

    testOf("ioredis", ["SSUBSCRIBE", "SPUBLISH"], "shard channels", async (c) => {
        const mine = await another(c);
        const got = [];
        mine.on("smessage", (channel, message) => got.push([channel, message]));
        await mine.ssubscribe("shard");
        assert.equal(await c.spublish("shard", "x"), 1);
        await within(10000, () => got.length === 1);
        assert.deepEqual(got, [["shard", "x"]]);
        await mine.sunsubscribe();
        mine.disconnect();
    });
}
