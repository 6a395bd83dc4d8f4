// frameworks.mjs -- libraries whose work is done by Lua scripts: BullMQ's queues, Redlock's locks, and the limits of
// rate-limiter-flexible. types.mjs runs these tests.
//
// SPDX-License-Identifier: BSD-3-Clause

import assert from "node:assert/strict";
import { FlowProducer, Queue, QueueEvents, Worker } from "bullmq";
import { RateLimiterRedis, RLWrapperBlackAndWhite } from "rate-limiter-flexible";
import Redlock, { ResourceLockedError } from "redlock";
import { tls } from "./sessions.mjs";

const port = Number(process.argv[2]);
const connection = { port, host: "localhost", tls, maxRetriesPerRequest: null };
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Waits until the condition holds. */
async function within(ms, condition) {
    for (const end = Date.now() + ms; !(await condition());) {
        assert.ok(Date.now() < end, "it does not happen");
        await sleep(5);
    }
}

/** Runs the body with a queue and a worker that calls `work` for each job. */
async function working(name, work, options, body) {
    const queue = new Queue(name, { connection });
    queue.setMaxListeners(200); // each awaited job adds a listener
    const events = new QueueEvents(name, { connection });
    const worker = new Worker(name, work, { connection, ...options });
    for (const one of [queue, events, worker]) one.on("error", (e) => assert.fail(e));
    await events.waitUntilReady();
    try {
        await body(queue, events, worker);
    } finally {
        await worker.close();
        await events.close();
        await queue.close();
    }
}

export function register(testOf) {
    const bull = ["EVAL", "XADD", "BZPOPMIN"];

    testOf("ioredis", bull, "BullMQ: many jobs, their results, in order of priority", async () => {
        await working("sums", async (job) => job.data.a + job.data.b, { concurrency: 4 }, async (queue, events) => {
            const sums = [...Array(100).keys()].map((i) => ({ name: "add", data: { a: i, b: 1000 } }));
            const jobs = await queue.addBulk(sums);
            const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 60000)));
            assert.deepEqual(results, [...Array(100).keys()].map((i) => i + 1000));
            assert.equal((await queue.getJobCounts("completed")).completed, 100);
            assert.equal((await queue.getCompleted()).length, 100);
        });
        const order = [];
        const queue = new Queue("ranks", { connection });
        for (const priority of [5, 1, 3]) await queue.add("job", { priority }, { priority });
        await working("ranks", async (job) => order.push(job.data.priority), {}, async () => {
            await within(30000, () => order.length === 3);
        });
        assert.deepEqual(order, [1, 3, 5]);
        await queue.obliterate({ force: true });
        assert.equal(await queue.count(), 0);
        await queue.close();
    });

    testOf("ioredis", bull, "BullMQ: delays, failures, retries, the same job once", async () => {
        let tries = 0;
        const work = async (job) => {
            if (job.name === "fails" || (job.name === "third time" && ++tries < 3)) throw new Error("not now");
            return job.name;
        };
        await working("fates", work, {}, async (queue, events) => {
            const retried = await queue.add("third time", {}, { attempts: 3, backoff: { type: "fixed", delay: 10 } });
            assert.equal(await retried.waitUntilFinished(events, 60000), "third time");
            assert.equal(tries, 3);
            const failing = await queue.add("fails", {});
            await assert.rejects(failing.waitUntilFinished(events, 60000), /not now/);
            assert.equal(await failing.getState(), "failed");
            assert.equal((await queue.getFailed())[0].failedReason, "not now");
            const later = await queue.add("later", {}, { delay: 100 });
            assert.equal(await later.waitUntilFinished(events, 60000), "later");
            await queue.pause();
            const one = await queue.add("x", {}, { jobId: "mine" });
            const same = await queue.add("x", {}, { jobId: "mine" });
            assert.equal(one.id, same.id);
            assert.equal(await queue.count(), 1);
            await queue.resume();
            assert.equal(await one.waitUntilFinished(events, 60000), "x");
            assert.equal(await queue.clean(0, 100, "completed").then((gone) => gone.length), 3);
        });
    });

    testOf("ioredis", bull, "BullMQ: a parent waits for its children; a limit of jobs", async () => {
        const flow = new FlowProducer({ connection });
        const work = async (job) =>
            job.name === "parent" ? Object.values(await job.getChildrenValues()).sort() : job.data;
        await working("family", work, {}, async (queue, events) => {
            const tree = await flow.add({
                name: "parent",
                queueName: "family",
                children: [1, 2, 3].map((data) => ({ name: "child", data, queueName: "family" })),
            });
            assert.deepEqual(await tree.job.waitUntilFinished(events, 60000), [1, 2, 3]);
        });
        await flow.close();
        const ended = [];
        await working("slow", async () => ended.push(0), { limiter: { max: 2, duration: 300 } }, async (queue) => {
            const begin = Date.now();
            await queue.addBulk([...Array(5).keys()].map((data) => ({ name: "job", data })));
            await within(60000, () => ended.length === 5);
            assert.ok(Date.now() - begin >= 500);
        });
    });

    testOf("ioredis", ["EVALSHA"], "Redlock: one holder, extended, released, lost", async (c) => {
        const locks = new Redlock([c], { retryCount: 0 });
        locks.on("error", (e) => assert.ok(e instanceof ResourceLockedError, e));
        const lock = await locks.acquire(["thing", "other"], 60000);
        await assert.rejects(locks.acquire(["other"], 1000));
        const longer = await lock.extend(90000);
        assert.ok((await c.pttl("thing")) > 60000);
        await longer.release();
        assert.equal(await c.exists("thing", "other"), 0);
        const short = await locks.acquire(["thing"], 20);
        await within(10000, async () => (await c.exists("thing")) === 0);
        const next = await locks.acquire(["thing"], 60000);
        await assert.rejects(short.extend(1000));
        assert.equal(await locks.using(["free"], 5000, async (signal) => !signal.aborted), true);
        await next.release();
    });

    testOf("ioredis", ["EVAL"], "rate-limiter-flexible: so many points, blocks, what is given back", async (c) => {
        const limiter = new RateLimiterRedis({ storeClient: c, points: 5, duration: 1000, keyPrefix: "limit" });
        for (let left = 4; left >= 0; left--) assert.equal((await limiter.consume("me")).remainingPoints, left);
        const refused = await limiter.consume("me").catch((rejected) => rejected);
        assert.equal(refused.remainingPoints, 0);
        assert.ok(refused.msBeforeNext > 900000 && refused.msBeforeNext <= 1000000);
        assert.equal((await limiter.reward("me", 3)).consumedPoints, 3);
        assert.equal((await limiter.get("me")).consumedPoints, 3);
        await limiter.block("me", 100);
        await assert.rejects(limiter.consume("me"), (rejected) => rejected.msBeforeNext > 90000);
        assert.equal(await limiter.delete("me"), true);
        assert.equal((await limiter.consume("me", 2)).remainingPoints, 3);
        const listed = new RLWrapperBlackAndWhite({ limiter, blackList: ["bad"], runActionAnyway: false });
        await assert.rejects(listed.consume("bad"));
        const many = await Promise.allSettled([...Array(20).keys()].map(() => limiter.consume("crowd")));
        assert.equal(many.filter((one) => one.status === "fulfilled").length, 5);
    });
}
