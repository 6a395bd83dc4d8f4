// cluster_load.mjs -- the runner of cases and the load of the cluster programs, as in tests/clients/cluster/load.py.
//
// SPDX-License-Identifier: BSD-3-Clause

import { openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const WRITERS = 4;
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Waits until the condition holds. */
export async function within(condition) {
    for (const end = Date.now() + 20000; !(await condition()); await sleep(5)) {
        if (Date.now() > end) throw new Error("it does not happen");
    }
}

/** Runs each case on an empty dataset and returns the number of those that failed. */
export async function runCases(cases, flush) {
    let failed = 0;
    for (const [name, body] of Object.entries(cases)) {
        try {
            await flush();
            await Promise.race([body(), sleep(30000).then(() => { throw new Error("it does not end"); })]);
        } catch (error) {
            failed++;
            console.log(`[fail] ${name}\n${error.stack}`);
        }
    }
    console.log(`${Object.keys(cases).length - failed} passed, ${failed} failed, 0 skipped`);
    return failed;
}

/** Writes until a line comes from standard input, logs each result; returns the number of wrong keys at the end. */
export async function load(path, write, read) {
    const log = openSync(path, "a");
    let ending = false;
    const last = [];
    async function writer(w) {
        let n = 0;
        while (!ending) {
            const key = `load:${w}:${n}`;
            try {
                await write(key, key);
            } catch (error) {
                writeSync(log, `error ${error.name}: ${String(error.message).split("\n")[0]}\n`);
                await sleep(20);
                continue;
            }
            writeSync(log, `ok ${key}\n`);
            n++;
            await sleep(1);
        }
        for (let i = Math.max(0, n - 20); i < n; i++) last.push(`load:${w}:${i}`);
    }
    console.log("load begins");
    const input = createInterface({ input: process.stdin });
    const stop = new Promise((done) => input.once("line", done)).then(() => { ending = true; });
    await Promise.all([stop, ...[...Array(WRITERS).keys()].map(writer)]);
    let wrong = 0;
    for (const key of last) {
        const got = await read(key);
        if (String(got) === key) continue;
        console.log(`[fail] not read back: ${key}: ${got}`);
        wrong++;
    }
    return wrong;
}
