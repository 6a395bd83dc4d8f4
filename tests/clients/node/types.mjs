// types.mjs -- calls the server as a Node program does, through the published clients redis (RESP2 and RESP3) and
// ioredis. Started by node.sh. It runs the tests of sessions.mjs and frameworks.mjs as well.
//
// SPDX-License-Identifier: BSD-3-Clause

import assert from "node:assert/strict";
import Redis from "ioredis";
import { createClient } from "redis";
import { register as registerFrameworks } from "./frameworks.mjs";
import { register, socket, tls } from "./sessions.mjs";

const tests = [];

/** Registers a test that fails, and is named, if the server lacks one of these commands. */
function testOf(client, commands, name, body) {
    tests.push({ client, commands, name, body });
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const sorted = (list) => [...list].sort();

// ---- redis ----------------------------------------------------------------------------------------------------------

testOf("redis", [], "strings", async (c) => {
    assert.equal(await c.set("key", "value"), "OK");
    assert.equal(await c.get("key"), "value");
    assert.equal(await c.append("key", "!"), 6);
    assert.deepEqual(await c.mGet(["key", "none"]), ["value!", null]);
    assert.equal(await c.incrBy("n", 41), 41);
    await assert.rejects(c.incr("key"), /not an integer/);
    const found = [];
    await c.mSet(Object.fromEntries([...Array(300).keys()].map((i) => ["key:" + i, "x"])));
    for await (const keys of c.scanIterator({ MATCH: "key:*" })) found.push(...[keys].flat());
    assert.equal(new Set(found).size, 300);
});

testOf("redis", ["RPUSH", "LMOVE", "LPOS"], "lists", async (c) => {
    assert.equal(await c.rPush("list", ["a", "b", "c"]), 3);
    assert.equal(await c.lPush("list", "0"), 4);
    assert.deepEqual(await c.lRange("list", 0, -1), ["0", "a", "b", "c"]);
    assert.equal(await c.lIndex("list", -1), "c");
    assert.equal(await c.lPos("list", "b"), 2);
    assert.equal(await c.lMove("list", "other", "LEFT", "RIGHT"), "0");
    assert.deepEqual(await c.lPopCount("list", 2), ["a", "b"]);
    assert.equal(await c.lLen("list"), 1);
});

testOf("redis", ["HSET", "HSCAN"], "hashes", async (c) => {
    assert.equal(await c.hSet("hash", { f: "v", n: "5" }), 2);
    assert.deepEqual({ ...(await c.hGetAll("hash")) }, { f: "v", n: "5" });
    assert.deepEqual(await c.hmGet("hash", ["n", "none"]), ["5", null]);
    assert.equal(await c.hIncrBy("hash", "n", 3), 8);
    assert.ok(["f", "n"].includes(await c.hRandField("hash")));
    await c.hSet("big", Object.fromEntries([...Array(1500).keys()].map((i) => ["f" + i, "x"])));
    let fields = 0;
    for await (const entries of c.hScanIterator("big")) fields += [entries].flat().length;
    assert.equal(fields, 1500);
    assert.equal(await c.hDel("hash", ["f", "n"]), 2);
    assert.equal(await c.exists("hash"), 0);
});

testOf("redis", ["HEXPIRE", "HTTL", "HPEXPIRE"], "times of fields", async (c) => {
    await c.hSet("hash", { a: "1", b: "2" });
    assert.deepEqual(await c.hExpire("hash", ["a"], 100), [1]);
    assert.ok((await c.hTTL("hash", ["a", "b"]))[0] >= 98);
    assert.deepEqual(await c.hpExpire("hash", ["b"], 10), [1]);
    await sleep(100);
    assert.deepEqual(await c.hKeys("hash"), ["a"]);
    assert.deepEqual(await c.hPersist("hash", ["a"]), [1]);
});

testOf("redis", ["SADD", "SINTERCARD"], "sets", async (c) => {
    assert.equal(await c.sAdd("set", ["1", "2", "3"]), 3);
    assert.equal(await c.sAdd("other", ["3", "x"]), 2);
    assert.deepEqual(sorted(await c.sMembers("set")), ["1", "2", "3"]);
    assert.equal(Number(await c.sIsMember("set", "2")), 1);
    assert.deepEqual((await c.smIsMember("set", ["1", "9"])).map(Number), [1, 0]);
    assert.deepEqual(sorted(await c.sUnion(["set", "other"])), ["1", "2", "3", "x"]);
    assert.deepEqual([...(await c.sInter(["set", "other"]))], ["3"]);
    assert.equal(await c.sInterCard(["set", "other"]), 1);
    assert.ok(["1", "2", "3"].includes(await c.sPop("set")));
    assert.equal(await c.sCard("set"), 2);
});

testOf("redis", ["ZADD", "ZUNION", "ZMPOP"], "sorted sets", async (c) => {
    assert.equal(await c.zAdd("z", [{ score: 1, value: "a" }, { score: 2.5, value: "b" }, { score: -1, value: "c" }]), 3);
    assert.deepEqual(await c.zRange("z", 0, -1), ["c", "a", "b"]);
    assert.deepEqual(await c.zRangeWithScores("z", 1, 2), [{ value: "a", score: 1 }, { value: "b", score: 2.5 }]);
    assert.equal(await c.zScore("z", "b"), 2.5);
    assert.equal(await c.zScore("z", "none"), null);
    assert.equal(await c.zRank("z", "b"), 2);
    assert.equal(await c.zIncrBy("z", 10, "c"), 9);
    assert.equal(await c.zCount("z", 0, 5), 2);
    assert.deepEqual(await c.zRangeByScore("z", 2, "+inf"), ["b", "c"]);
    assert.deepEqual(await c.zPopMin("z"), { value: "a", score: 1 });
});

testOf("redis", ["XADD", "XREADGROUP", "XINFO"], "streams", async (c) => {
    assert.equal(await c.xAdd("stream", "1-1", { a: "1" }), "1-1");
    assert.equal(await c.xAdd("stream", "2-1", { b: "2" }), "2-1");
    assert.equal((await c.xRange("stream", "-", "+")).length, 2);
    assert.equal(await c.xGroupCreate("stream", "group", "0"), "OK");
    assert.match(JSON.stringify(await c.xReadGroup("group", "me", { key: "stream", id: ">" }, { COUNT: 1 })), /1-1/);
    assert.equal((await c.xPending("stream", "group")).pending, 1);
    assert.equal(await c.xAck("stream", "group", "1-1"), 1);
    assert.equal((await c.xInfoStream("stream")).length, 2);
    assert.equal(await c.xTrim("stream", "MAXLEN", 1), 1);
});

testOf("redis", ["PFADD", "GEOADD", "SETBIT", "BITFIELD"], "what lies in strings and sorted sets", async (c) => {
    await c.pfAdd("hll", [...Array(500).keys()].map(String));
    const count = await c.pfCount("hll");
    assert.ok(count > 450 && count < 550);
    assert.equal(await c.geoAdd("places", { longitude: 13.361389, latitude: 38.115556, member: "Palermo" }), 1);
    assert.deepEqual(await c.geoSearch("places", { longitude: 13, latitude: 38 }, { radius: 100, unit: "km" }), ["Palermo"]);
    assert.equal(await c.setBit("bits", 7, 1), 0);
    assert.equal(await c.bitCount("bits"), 1);
    assert.deepEqual(await c.bitField("field", [{ operation: "SET", encoding: "u8", offset: 0, value: 255 }]), [0]);
});

testOf("redis", ["SORT", "RPUSH"], "sorting", async (c) => {
    await c.rPush("list", ["3", "1", "2"]);
    assert.deepEqual(await c.sort("list"), ["1", "2", "3"]);
    assert.deepEqual(await c.sort("list", { DIRECTION: "DESC", LIMIT: { offset: 0, count: 1 } }), ["3"]);
});

// ---- ioredis --------------------------------------------------------------------------------------------------------

testOf("ioredis", [], "pipelines", async (c) => {
    const pipe = c.pipeline();
    for (let i = 0; i < 1000; i++) pipe.set("p:" + i, i).get("p:" + i);
    const answers = await pipe.exec();
    assert.equal(answers.length, 2000);
    assert.deepEqual(answers[1999], [null, "999"]);
});

testOf("ioredis", ["RPUSH", "HSET", "SADD", "ZADD", "XADD"], "each type", async (c) => {
    assert.equal(await c.rpush("list", 1, 2, 3), 3);
    assert.deepEqual(await c.lrange("list", 0, -1), ["1", "2", "3"]);
    assert.equal(await c.hset("hash", { f: "v", g: "w" }), 2);
    assert.deepEqual(await c.hgetall("hash"), { f: "v", g: "w" });
    assert.equal(await c.sadd("set", "a", "b"), 2);
    assert.deepEqual(sorted(await c.smembers("set")), ["a", "b"]);
    assert.equal(await c.zadd("z", 1, "a", "inf", "b"), 2);
    assert.deepEqual(await c.zrange("z", 0, -1, "WITHSCORES"), ["a", "1", "b", "inf"]);
    assert.equal(await c.xadd("stream", "1-1", "f", "v"), "1-1");
    assert.deepEqual(await c.xrange("stream", "-", "+"), [["1-1", ["f", "v"]]]);
    for (const [key, type] of Object.entries({ list: "list", hash: "hash", set: "set", z: "zset", stream: "stream" })) {
        assert.equal(await c.type(key), type);
        await c.copy(key, "copy:" + key);
        const payload = await c.dumpBuffer(key);
        assert.equal(await c.restore("restored:" + key, 0, payload), "OK");
        assert.equal(await c.type("restored:" + key), type);
    }
    await assert.rejects(c.lpush("hash", "x"), /WRONGTYPE/);
});

register(testOf);
registerFrameworks(testOf);

// ---- Running --------------------------------------------------------------------------------------------------------

async function connect(kind, protocol) {
    if (kind === "ioredis") return new Redis(socket.port, { maxRetriesPerRequest: 1, tls });
    const client = createClient({ socket, RESP: protocol, unstableResp3: true });
    client.on("error", () => {});
    return client.connect();
}

/** The longest time of a test. The timer does not keep the process from ending. */
const tooLong = () => new Promise((_, reject) => setTimeout(() => reject(new Error("it does not end")), 30000).unref());

let passed = 0, failed = 0;
const asking = await connect("ioredis", 2);
const known = new Set((await asking.command("LIST")).map((name) => name.toUpperCase()));
await asking.quit?.().catch(() => {});
asking.disconnect();
for (const protocol of [2, 3]) {
    for (const { client, commands, name, body } of tests) {
        if (client === "ioredis" && protocol === 3) continue; // ioredis offers RESP2 only
        const title = `${client}: ${name} (RESP${protocol})`;
        const missing = commands.filter((command) => !known.has(command));
        if (missing.length) {
            failed++;
            console.log(`[fail] ${title}: the server has no ${missing.join(" ")}`);
            continue;
        }
        const c = await connect(client, protocol);
        try {
            await (client === "redis" ? c.flushAll() : c.flushall());
            await Promise.race([body(c, protocol), tooLong()]);
            passed++;
        } catch (error) {
            failed++;
            console.log(`[fail] ${title}\n${error.stack}`);
        } finally {
            if (client === "redis") c.destroy();
            else c.disconnect();
        }
    }
}
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed ? 1 : 0);
