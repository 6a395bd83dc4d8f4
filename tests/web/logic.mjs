// logic.mjs -- what the page of the metrics port works out, without a browser: the script of page.html up to where it
// needs a document, in Node. "N passed, N failed" is its last line.
//
// SPDX-License-Identifier: BSD-3-Clause

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import vm from "node:vm";

const html = readFileSync(new URL("../../src/web/page.html", import.meta.url), "utf8");
const script = html.match(/<script>(.*?)<\/script>/s)[1];
const names = "parseScrape makeReading quantile bucketGrowth History rate per threadShare " +
    "count bytes share duration age levels decades pathOf FINE_MS COARSE_MS COMMANDS_MAX";
// Of one realm with the tests, or else deepEqual() tells arrays of the two apart.
const page = vm.runInThisContext(`(() => {${script}\nreturn {${names.split(" ").join(",")}};})()`);

let passed = 0, failed = 0;
function test(name, check) {
    try {
        check();
        passed++;
    } catch (problem) {
        failed++;
        console.log(`FAIL ${name}\n${problem.stack}`);
    }
}

const reading = (at, text) => page.makeReading(page.parseScrape(text), at);
const counters = (at, commands, more = "") => reading(at, `valkey_commands_processed_total ${commands}\n${more}`);

test("a scrape: names, labels, escapes, what is no sample", () => {
    const samples = page.parseScrape([
        "# HELP valkey_a Words.", "# TYPE valkey_a counter", "valkey_a 3",
        "valkey_b{x=\"1\",y=\"a\\\"b\\\\c\\nd, }\"} 4.5",
        "valkey_b{} 5", "valkey_c{le=\"+Inf\"} +Inf 1700000000 # {id=\"7\"} 1", "valkey_d -2e-3", "valkey_e NaN", "",
        "valkey_bad", "valkey_bad{x=\"1\"", "valkey_bad{x=\"1\"} word", "{} 1", "# EOF"].join("\n"));
    assert.deepEqual([...samples.keys()], ["valkey_a", "valkey_b", "valkey_c", "valkey_d", "valkey_e"]);
    assert.deepEqual(samples.get("valkey_b"),
        [{ labels: { x: "1", y: "a\"b\\c\nd, }" }, value: 4.5 }, { labels: {}, value: 5 }]);
    assert.equal(samples.get("valkey_c")[0].value, Infinity);
    assert.equal(samples.get("valkey_d")[0].value, -0.002);
});

test("a scrape that is cut anywhere, or no scrape at all, does not throw", () => {
    const text = "valkey_b{x=\"1\",y=\"a\\\"b\"} 4.5\n" +
        "valkey_command_duration_seconds_bucket{cmd=\"get\",le=\"1e-06\"} 3\n";
    for (let i = 0; i <= text.length; i++) page.makeReading(page.parseScrape(text.slice(0, i)), 0);
    page.makeReading(page.parseScrape("<html>\u0000{{{\"\"\"}}}"), 0);
});

test("a label that has the name of a property of every object is a label", () => {
    const samples = page.parseScrape("valkey_errors_total{err=\"__proto__\"} 3\n" +
        "valkey_errors_total{err=\"constructor\"} 4");
    assert.deepEqual([...page.makeReading(samples, 0).errors], [["__proto__", 3], ["constructor", 4]]);
});

test("commands: kinds, calls, buckets of one command and of all", () => {
    const r = reading(0, ["valkey_command_calls_total{cmd=\"get\"} 10", "valkey_command_calls_total{cmd=\"set\"} 4",
        "valkey_command_calls_total{cmd=\"config|get\"} 1", "valkey_command_seconds_total{cmd=\"get\"} 0.5",
        ...["get", "set"].flatMap(cmd => [["1e-06", 2], ["2e-06", 2], ["4e-06", 7], ["+Inf", 9]].map(([le, n]) =>
            `valkey_command_duration_seconds_bucket{cmd="${cmd}",le="${le}"} ${n}`))].join("\n"));
    assert.deepEqual([r.n.read, r.n.write, r.n.other], [10, 4, 1]);
    assert.deepEqual(r.commands.get("get"),
        { calls: 10, seconds: 0.5, buckets: { "0.000001": 2, "0.000004": 5, Infinity: 2 } });
    assert.deepEqual(r.latency, { "0.000001": 4, "0.000004": 10, Infinity: 4 });
});

test("commands beyond the most that are kept are left out", () => {
    const lines = Array.from({ length: 2 * page.COMMANDS_MAX }, (_, i) => `valkey_command_calls_total{cmd="c${i}"} 1`);
    assert.equal(reading(0, lines.join("\n")).commands.size, page.COMMANDS_MAX);
});

test("quantiles lie in their bucket, on a straight line, but in the first at its edge", () => {
    const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);
    near(page.quantile({ "0.000004": 100 }, 0.5), 3e-6);
    near(page.quantile({ "0.000001": 100 }, 0.5), 1e-6);
    near(page.quantile({ "0.000001": 50, "0.000008": 50 }, 0.75), 6e-6);
    near(page.quantile({ "0.000001": 99, "1.048576": 1 }, 0.99), 1e-6);
    assert.equal(page.quantile({ "0.000001": 1, Infinity: 99 }, 0.5), 1e-6);
    assert.equal(page.quantile({}, 0.5), undefined);
});

test("what came into buckets between two readings, and nothing of what was set back", () => {
    assert.deepEqual(page.bucketGrowth({ 1: 3, 2: 5 }, { 1: 3, 2: 9, 4: 1 }), { 2: 4, 4: 1 });
    assert.deepEqual(page.bucketGrowth(undefined, { 1: 3 }), { 1: 3 });
    assert.deepEqual(page.bucketGrowth({ 1: 3 }, { 1: 2 }), {});
});

test("rates are by the server's clock, however long the answer was under way", () => {
    const history = new page.History();
    history.add(counters(0, 100, "valkey_server_time_usec 5000000"));
    history.add(counters(1700, 300, "valkey_server_time_usec 6000000"));
    assert.equal(page.rate("commands")(history.newest()), 200);
});

test("without the server's clock they are by the page's", () => {
    const history = new page.History();
    history.add(counters(0, 100));
    history.add(counters(2000, 300));
    assert.equal(page.rate("commands")(history.newest()), 100);
});

test("the same figures again are no reading", () => {
    const history = new page.History();
    assert.equal(history.add(counters(0, 100, "valkey_server_time_usec 5000000")), undefined);
    assert.equal(history.add(counters(1000, 100, "valkey_server_time_usec 5000000")), "same");
    assert.equal(history.readings.length, 1);
});

test("a restart and counters that were set back: news, and no rate across them", () => {
    const history = new page.History(), run = id => `valkey_server_info{run_id="${id}"} 1`;
    history.add(counters(0, 100, run("a")));
    assert.equal(history.add(counters(1000, 50, run("a"))), "reset");
    assert.equal(history.add(counters(2000, 60, run("a"))), undefined);
    assert.equal(history.add(counters(3000, 90, run("b"))), "restart");
    const pairs = history.pairs(0, page.FINE_MS);
    assert.deepEqual(pairs.map(page.rate("commands")), [undefined, undefined, 10, undefined]);
    assert.deepEqual(pairs.map(p => p.news), [false, true, false, true]);
    assert.equal(history.span(0).a, undefined);
});

test("a restart is seen by a shorter uptime, too", () => {
    const history = new page.History();
    history.add(counters(0, 100, "valkey_uptime_in_seconds 900"));
    assert.equal(history.add(counters(1000, 200, "valkey_uptime_in_seconds 1")), "restart");
});

test("one counter that was set back has no rate, and the others have", () => {
    const history = new page.History();
    history.add(counters(0, 100, "valkey_keyspace_hits_total 50\nvalkey_keyspace_misses_total 50"));
    history.add(counters(1000, 200, "valkey_keyspace_hits_total 20\nvalkey_keyspace_misses_total 60"));
    assert.equal(page.rate("hits")(history.newest()), undefined);
    assert.equal(page.rate("commands")(history.newest()), 100);
    assert.equal(page.per("hits", "hits", "misses")(history.newest()), undefined);
});

test("a gap has no rate, but the span over it has", () => {
    const history = new page.History();
    [0, 1000, 2000, 60000, 61000].forEach((at, i) => history.add(counters(at, 100 * i)));
    assert.deepEqual(history.pairs(0, page.FINE_MS).map(page.rate("commands")), [undefined, 100, 100, undefined, 100]);
    assert.equal(page.rate("commands")(history.span(0)), 400 / 61);
});

test("an hour and more: bounded, nothing older, 10 seconds apart where it is old, and rates are exact", () => {
    const history = new page.History();
    let most = 0;
    for (let s = 0; s <= 3 * 3600; s++) {
        history.add(counters(s * 1000, s * 7));
        most = Math.max(most, history.readings.length);
    }
    const at = history.readings.map(r => r.at), last = at.at(-1);
    assert.ok(most <= 301 + 332, `${most} readings`);
    assert.ok(at[0] >= last - 3611e3 && at[0] <= last - 3600e3, `the oldest is of ${last - at[0]} ms ago`);
    at.slice(1).forEach((t, i) => assert.equal(t - at[i], t <= last - page.FINE_MS ? 10e3 : 1000));
    for (const [range, pairs] of [[page.FINE_MS, 301], [3600e3, 361]]) {
        const rates = history.pairs(last - range, range).map(page.rate("commands"));
        assert.ok(Math.abs(rates.length - pairs) <= 1, `${rates.length} pairs in ${range} ms`);
        assert.deepEqual(new Set(rates.slice(1)), new Set([7]));
    }
});

test("readings far apart go, too, when they are old; the newest stays", () => {
    const history = new page.History();
    for (const hour of [0, 2, 4]) history.add(counters(hour * 3600e3, hour));
    assert.equal(history.readings.length, 1);
});

test("threads: shares of the time between two readings", () => {
    const history = new page.History(), thread = (busy, acting) =>
        `valkey_thread_busy_seconds_total{thread="io1"} ${busy}\n` +
        `valkey_thread_acting_seconds_total{thread="io1"} ${acting}`;
    history.add(counters(0, 1, thread(10, 4)));
    history.add(counters(2000, 2, thread(11.5, 4.5)));
    assert.equal(page.threadShare("io1", "busy")(history.newest()), 0.75);
    assert.equal(page.threadShare("io1", "acting")(history.newest()), 0.25);
    assert.equal(page.threadShare("io9", "busy")(history.newest()), undefined);
    assert.equal(page.rate("acting")(history.newest()), 0.25);
});

test("numbers as words", () => {
    const plain = text => text.replaceAll("\u202f", " ");
    const words = (of, pairs) => pairs.forEach(([value, text]) =>
        assert.equal(plain(of(value)), text, `${of.name}(${value})`));
    words(page.count, [[0, "0"], [0.25, "0.25"], [7.1, "7.1"], [7, "7"], [99.6, "100"], [812.4, "812"], [9431, "9,431"],
        [12345, "12.3 k"], [999499, "999 k"], [999600, "1.00 M"], [1.04e6, "1.04 M"],
        [undefined, "\u2013"], [NaN, "\u2013"]]);
    words(page.bytes, [[0, "0 B"], [1023, "1,023 B"], [1024, "1.00 KiB"], [1536e3, "1.46 MiB"], [2 ** 31, "2.00 GiB"]]);
    words(page.share, [[0, "0%"], [0.0001, "<0.1%"], [0.004, "0.4%"], [0.34, "34%"], [0.9996, "99.9%"], [1, "100%"]]);
    words(page.duration, [[0, "0"], [6.4e-7, "640 ns"], [4.13e-6, "4.1 \u00b5s"], [0.012, "12 ms"], [1.5, "1.5 s"],
        [180, "3 min"]]);
    words(page.age, [[8, "8 s"], [200, "3 min"], [7500, "2 h 5 min"], [356400, "4 d 3 h"], [-5, "0 s"]]);
});

test("scales: round levels that hold the most there is", () => {
    assert.deepEqual(page.levels(4, false), [0, 2, 4]);
    assert.deepEqual(page.levels(730, false), [0, 250, 500, 750]);
    assert.deepEqual(page.levels(3 * 2 ** 30, true), [0, 1, 2, 3].map(n => n * 2 ** 30));
    for (let max = 1e-3; max < 1e12; max *= 1.7) {
        const list = page.levels(max, false);
        assert.ok(list.at(-1) >= max * (1 - 1e-9) && list.length >= 3 && list.length <= 5, `${max}: ${list}`);
    }
    assert.deepEqual(page.decades(3e-6, 2e-4).map(v => v.toExponential()), ["1e-6", "1e-5", "1e-4", "1e-3"]);
});

test("a path breaks at gaps and at what is not known; a single reading shows", () => {
    const pairs = [[0, 0], [1, 1], [2, 1], [3, 0], [4, 1]].map(([at, joined]) => ({ at, a: joined ? {} : undefined }));
    assert.equal(page.pathOf(pairs, [1, 2, 3, 4, 5], x => x, y => y), "M0.0 1.00L1.0 2.00L2.0 3.00M3.0 4.00L4.0 5.00");
    assert.equal(page.pathOf(pairs, [1, undefined, 3, undefined, undefined], x => x, y => y),
        "M0.0 1.00L1.5 1.00M2.0 3.00L3.5 3.00");
});

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed || !passed ? 1 : 0;
