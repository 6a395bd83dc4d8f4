// model_test.go -- the checker accepts valid histories and rejects invalid ones; otherwise it would prove nothing.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

const forever = unansweredReturn

// at makes an operation; its session is `client`, so numbers must rise per client.
func at(client, number int, call, ret int64, in input, out reply) porcupine.Operation {
	in.session, in.turn = client, number
	return porcupine.Operation{ClientId: client, Input: in, Call: call, Return: ret, Output: output{value: out}}
}

// right returns whether there is a valid order.
func right(ops []porcupine.Operation) bool {
	result, _ := checkGroup(ops, time.Minute)
	return result == porcupine.Ok
}

func unanswered(op porcupine.Operation) porcupine.Operation {
	op.Output, op.Return = output{unknown: true}, forever
	return op
}

func get() input              { return input{kind: opGet} }
func set(v string) input      { return input{kind: opSet, value: v} }
func appendTo(v string) input { return input{kind: opAppend, value: v} }
func both(kind opKind) input  { return input{kind: kind, value: "x", other: "y"} }
func incr() input             { return input{kind: opIncr} }

type testCase struct {
	name  string
	right bool
	ops   []porcupine.Operation
}

func checkCases(t *testing.T, cases []testCase) {
	for _, c := range cases {
		if right(c.ops) != c.right {
			t.Errorf("%s: expected right = %v", c.name, c.right)
		}
	}
}

func TestStrings(t *testing.T) {
	cases := []testCase{
		{"a read after a write", true, []porcupine.Operation{
			at(0, 1, 0, 1, set("a"), "OK"), at(1, 1, 2, 3, get(), "a")}},
		{"a stale read", false, []porcupine.Operation{
			at(0, 1, 0, 1, set("a"), "OK"), at(0, 2, 2, 3, set("b"), "OK"), at(1, 1, 4, 5, get(), "a")}},
		{"a read beside a write sees either", true, []porcupine.Operation{
			at(0, 1, 0, 1, set("a"), "OK"), at(0, 2, 2, 9, set("b"), "OK"), at(1, 1, 3, 4, get(), "a"),
			at(1, 2, 5, 6, get(), "b")}},
		{"a value goes back", false, []porcupine.Operation{
			at(0, 1, 0, 1, set("a"), "OK"), at(0, 2, 2, 9, set("b"), "OK"), at(1, 1, 3, 4, get(), "b"),
			at(1, 2, 5, 6, get(), "a")}},
		{"a lost update", false, []porcupine.Operation{
			at(0, 1, 0, 9, incr(), int64(1)), at(1, 1, 0, 9, incr(), int64(1))}},
		{"an append that is seen half", false, []porcupine.Operation{
			at(0, 1, 0, 1, set("ab"), "OK"), at(0, 2, 2, 9, appendTo("cd"), int64(4)), at(1, 1, 2, 9, get(), "abc")}},
		{"the bytes of a later value in an earlier reply", false, []porcupine.Operation{
			at(0, 1, 0, 1, set("old"), "OK"), at(1, 1, 2, 3, get(), "new"), at(0, 2, 4, 5, set("new"), "OK")}},
		{"a pipeline that was run in another order", false, []porcupine.Operation{
			at(0, 1, 0, 5, set("a"), "OK"), at(0, 2, 0, 6, set("b"), "OK"), at(1, 1, 7, 8, get(), "a")}},
		{"a pipeline in its order, another client between", true, []porcupine.Operation{
			at(0, 1, 0, 5, set("a"), "OK"), at(0, 2, 0, 6, appendTo("c"), int64(3)), at(1, 1, 0, 6, appendTo("b"), int64(2)),
			at(1, 2, 7, 8, get(), "abc")}},
		{"MSET that is seen half", false, []porcupine.Operation{
			at(0, 1, 0, 9, both(opMSet), "OK"), at(1, 1, 1, 2, both(opMGet), []reply{"x", nil})}},
		{"MSET that is seen whole", true, []porcupine.Operation{
			at(0, 1, 0, 9, both(opMSet), "OK"), at(1, 1, 1, 2, both(opMGet), []reply{"x", "y"})}},
		{"a killed client's write that happened", true, []porcupine.Operation{
			unanswered(at(0, 1, 0, 0, set("a"), nil)), at(1, 1, 5, 6, get(), "a")}},
		{"a killed client's write that did not", true, []porcupine.Operation{
			unanswered(at(0, 1, 0, 0, set("a"), nil)), at(1, 1, 5, 6, get(), nil)}},
		{"a killed client's write that happened twice", false, []porcupine.Operation{
			unanswered(at(0, 1, 0, 0, appendTo("a"), nil)), at(1, 1, 5, 6, get(), "a"), at(1, 2, 7, 8, get(), "aa")}},
		{"a killed client's second write without its first", false, []porcupine.Operation{
			unanswered(at(0, 1, 0, 0, appendTo("a"), nil)), unanswered(at(0, 2, 0, 0, appendTo("b"), nil)),
			at(1, 1, 5, 6, get(), "b")}},
		{"a deleted key that comes back", false, []porcupine.Operation{
			at(0, 1, 0, 1, set("a"), "OK"), at(0, 2, 2, 3, input{kind: opDel}, int64(1)), at(1, 1, 4, 5, get(), "a")}},
		{"two SET NX that both win", false, []porcupine.Operation{
			at(0, 1, 0, 9, input{kind: opSetNX, value: "a"}, "OK"), at(1, 1, 0, 9, input{kind: opSetNX, value: "b"}, "OK")}},
	}
	checkCases(t, cases)
}

func push(element string) input { return input{kind: opPush, right: true, value: element} }
func pop() input                { return input{kind: opPop} }
func list() input               { return input{kind: opRange} }
func hset(v string) input       { return input{kind: opHSet, value: v, other: v} }

func TestListsAndHashes(t *testing.T) {
	checkCases(t, []testCase{
		{"an element that is popped twice", false, []porcupine.Operation{
			at(0, 1, 0, 1, push("a"), int64(1)), at(1, 1, 2, 9, pop(), "a"), at(2, 1, 2, 9, pop(), "a")}},
		{"an element that is lost", false, []porcupine.Operation{
			at(0, 1, 0, 1, push("a b"), int64(2)), at(1, 1, 2, 3, pop(), "a"), at(1, 2, 4, 5, list(), []reply{})}},
		{"elements out of order", false, []porcupine.Operation{
			at(0, 1, 0, 1, push("a b"), int64(2)), at(1, 1, 2, 3, pop(), "b")}},
		{"LMOVE that is seen half", false, []porcupine.Operation{
			at(0, 1, 0, 1, push("a"), int64(1)), at(0, 2, 2, 9, input{kind: opMove}, "a"),
			at(1, 1, 3, 4, list(), []reply{}), at(1, 2, 5, 6, input{kind: opRange, side: 1}, []reply{})}},
		{"LMOVE", true, []porcupine.Operation{
			at(0, 1, 0, 1, push("a"), int64(1)), at(0, 2, 2, 9, input{kind: opMove}, "a"),
			at(1, 1, 3, 4, list(), []reply{}), at(1, 2, 5, 6, input{kind: opRange, side: 1}, []reply{"a"})}},
		{"LSET behind the end", true, []porcupine.Operation{
			at(0, 1, 0, 1, push("a"), int64(1)),
			at(0, 2, 2, 3, input{kind: opListSet, number: 1, value: "x"}, replyError("ERR index out of range"))}},
		{"HSET of two fields that is seen half", false, []porcupine.Operation{
			at(0, 1, 0, 1, hset("a"), int64(2)), at(0, 2, 2, 9, hset("b"), int64(0)),
			at(1, 1, 3, 4, input{kind: opHGetAll}, []reply{"f0", "b", "f1", "a"})}},
		{"HGETALL in another order of fields", true, []porcupine.Operation{
			at(0, 1, 0, 1, hset("a"), int64(2)), at(1, 1, 3, 4, input{kind: opHGetAll}, []reply{"f1", "a", "f0", "a"})}},
		{"HGETALL with a field twice", false, []porcupine.Operation{
			at(0, 1, 0, 1, hset("a"), int64(2)),
			at(1, 1, 3, 4, input{kind: opHGetAll}, []reply{"f1", "a", "f0", "a", "f0", "a"})}},
		{"two HINCRBY of which one is lost", false, []porcupine.Operation{
			at(0, 1, 0, 9, input{kind: opHIncr}, int64(1)), at(1, 1, 0, 9, input{kind: opHIncr}, int64(1))}},
		{"a sorted set that is not in order", false, []porcupine.Operation{
			at(0, 1, 0, 1, input{kind: opZAdd, number: 5, value: "a"}, int64(1)),
			at(0, 2, 2, 3, input{kind: opZAdd, number: 4, value: "b"}, int64(1)),
			at(0, 3, 4, 5, input{kind: opZPop}, []reply{"a", "5"})}},
	})
}

// Key 0 is the string that get() and set() are about, key 1 another one.
func watch(mask int) input          { return input{kind: opWatch, number: mask} }
func exec(queued ...input) input    { return input{kind: opExec, queued: queued} }
func replies(each ...reply) []reply { return each }

func TestTransactions(t *testing.T) {
	checkCases(t, []testCase{
		{"a transaction", true, []porcupine.Operation{
			at(0, 1, 0, 1, exec(set("a"), get()), replies("OK", "a")), at(1, 1, 2, 3, get(), "a")}},
		{"a transaction that is seen half", false, []porcupine.Operation{
			at(0, 1, 0, 9, exec(set("a"), push("x")), replies("OK", int64(1))), at(1, 1, 1, 2, get(), "a"),
			at(1, 2, 3, 4, list(), []reply{})}},
		{"another client's write within a transaction", false, []porcupine.Operation{
			at(0, 1, 0, 9, exec(set("a"), get()), replies("OK", "b")), at(1, 1, 0, 9, set("b"), "OK")}},
		{"DISCARD that was carried out", false, []porcupine.Operation{
			at(0, 1, 0, 1, input{kind: opDiscard, queued: []input{set("a")}}, "OK"), at(1, 1, 2, 3, get(), "a")}},
		{"WATCH, and nobody writes", true, []porcupine.Operation{
			at(0, 1, 0, 1, watch(1), "OK"), at(0, 2, 2, 3, get(), nil), at(0, 3, 4, 5, exec(set("a")), replies("OK"))}},
		{"a lost update", false, []porcupine.Operation{
			at(0, 1, 0, 1, watch(1), "OK"), at(0, 2, 2, 3, get(), nil), at(1, 1, 4, 5, set("b"), "OK"),
			at(0, 3, 6, 7, exec(set("a")), replies("OK"))}},
		{"two lost updates of each other", false, []porcupine.Operation{
			at(0, 1, 0, 1, watch(1), "OK"), at(1, 1, 0, 1, watch(1), "OK"), at(0, 2, 2, 3, get(), nil),
			at(1, 2, 2, 3, get(), nil), at(0, 3, 4, 9, exec(set("a")), replies("OK")),
			at(1, 3, 4, 9, exec(set("b")), replies("OK"))}},
		{"one of two aborts", true, []porcupine.Operation{
			at(0, 1, 0, 1, watch(1), "OK"), at(1, 1, 0, 1, watch(1), "OK"), at(0, 2, 2, 3, get(), nil),
			at(1, 2, 2, 3, get(), nil), at(0, 3, 4, 9, exec(set("a")), replies("OK")), at(1, 3, 4, 9, exec(set("b")), nil)}},
		{"both abort", false, []porcupine.Operation{
			at(0, 1, 0, 1, watch(1), "OK"), at(1, 1, 0, 1, watch(1), "OK"), at(0, 3, 4, 9, exec(set("a")), nil),
			at(1, 3, 4, 9, exec(set("b")), nil)}},
		{"an abort without reason", false, []porcupine.Operation{
			at(0, 1, 0, 1, watch(1), "OK"), at(0, 2, 2, 3, exec(set("a")), nil)}},
		{"an abort for another key", false, []porcupine.Operation{
			at(0, 1, 0, 1, watch(2), "OK"), at(1, 1, 2, 3, set("b"), "OK"), at(0, 2, 4, 5, exec(set("a")), nil)}},
		{"an abort for a write before WATCH", false, []porcupine.Operation{
			at(1, 1, 0, 1, set("b"), "OK"), at(0, 1, 2, 3, watch(1), "OK"), at(0, 2, 4, 5, exec(set("a")), nil)}},
		{"an abort for a write that may have been between", true, []porcupine.Operation{
			unanswered(at(1, 1, 0, 1, set("b"), nil)), at(0, 1, 2, 3, watch(1), "OK"), at(0, 2, 4, 5, exec(set("a")), nil)}},
		{"the same, but it is never seen", false, []porcupine.Operation{
			unanswered(at(1, 1, 0, 1, set("b"), nil)), at(0, 1, 2, 3, watch(1), "OK"), at(0, 2, 4, 5, exec(set("a")), nil),
			at(0, 3, 6, 7, get(), nil)}},
		{"UNWATCH", true, []porcupine.Operation{
			at(0, 1, 0, 1, watch(1), "OK"), at(1, 1, 2, 3, set("b"), "OK"), at(0, 2, 4, 5, input{kind: opUnwatch}, "OK"),
			at(0, 3, 6, 7, exec(set("a")), replies("OK"))}},
		{"a WATCH that outlives EXEC", false, []porcupine.Operation{
			at(0, 1, 0, 1, watch(1), "OK"), at(0, 2, 2, 3, exec(set("a")), replies("OK")), at(0, 3, 4, 5, exec(set("b")), nil)}},
		{"DEL of nothing is no write", false, []porcupine.Operation{
			at(0, 1, 0, 1, watch(1), "OK"), at(1, 1, 2, 3, input{kind: opDel}, int64(0)), at(0, 2, 4, 5, exec(set("a")), nil)}},
	})
}

// waits is a BLPOP of the first list from `call` to `ret`, seen blocked at `seen` unless that is 0.
func waits(client, number int, call, seen, ret int64, w waitKind, out output) []porcupine.Operation {
	in := input{kind: opWait, wait: w, seen: seen != 0, session: client, turn: number}
	first := porcupine.Operation{ClientId: client, Input: in, Call: call, Return: ret, Output: out}
	if in.seen {
		first.Return = seen
	}
	in.kind, in.turn, in.called = opWaitEnd, number+1, call
	return []porcupine.Operation{first, {ClientId: client, Input: in, Call: call, Return: ret, Output: out}}
}

// lasting marks that the wait has not ended before.
func lasting(until int64, w []porcupine.Operation) []porcupine.Operation {
	w[1].Call = until
	return w
}

func gets(element string) output { return output{value: []reply{keyReply(listKey), element}} }

var (
	blpop  = waitKind{}
	blmove = waitKind{verb: waitMove}
	nobody = output{}
	lost   = output{unknown: true}
)

func join(parts ...[]porcupine.Operation) (all []porcupine.Operation) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestWaiting(t *testing.T) {
	one := func(ops ...porcupine.Operation) []porcupine.Operation { return ops }
	minimum := output{value: []reply{keyReply(zsetKey), "m", "3"}}
	checkCases(t, []testCase{
		{"an element that is waited for", true, join(
			waits(0, 1, 0, 2, 9, blpop, gets("a")),
			one(at(1, 1, 4, 5, push("a"), int64(1)), at(1, 2, 6, 7, list(), []reply{})))},
		{"an element that is there", true, join(
			one(at(1, 1, 0, 1, push("a"), int64(1))), waits(0, 1, 2, 0, 3, blpop, gets("a")))},
		{"an element for two", false, join(
			waits(0, 1, 0, 1, 9, blpop, gets("a")), waits(2, 1, 0, 1, 9, blpop, gets("a")),
			one(at(1, 1, 4, 5, push("a"), int64(1))))},
		{"served in the order of arrival", true, join(
			waits(0, 1, 0, 1, 9, blpop, gets("a")), waits(2, 1, 2, 3, 9, blpop, gets("b")),
			one(at(1, 1, 4, 5, push("a b"), int64(2))))},
		{"served against the order of arrival", false, join(
			waits(0, 1, 0, 1, 9, blpop, gets("b")), waits(2, 1, 2, 3, 9, blpop, gets("a")),
			one(at(1, 1, 4, 5, push("a b"), int64(2))))},
		{"of two whose order is not known the other one", true, join(
			waits(0, 1, 0, 2, 9, blpop, gets("b")), waits(2, 1, 1, 3, 9, blpop, gets("a")),
			one(at(1, 1, 4, 5, push("a b"), int64(2))))},
		{"who came later is served alone", false, join(
			lasting(8, waits(0, 1, 0, 1, 9, blpop, nobody)), waits(2, 1, 2, 3, 9, blpop, gets("a")),
			one(at(1, 1, 4, 5, push("a"), int64(1))))},
		{"nothing, and the list was empty", true, join(
			waits(0, 1, 0, 0, 3, blpop, nobody), one(at(1, 1, 2, 5, push("a"), int64(1))))},
		{"nothing, and the list was never empty", false, join(
			one(at(1, 1, 0, 1, push("a"), int64(1))), waits(0, 1, 2, 0, 9, blpop, nobody))},
		{"nothing, though something came while it waited", false, join(
			lasting(8, waits(0, 1, 0, 1, 9, blpop, nobody)),
			one(at(1, 1, 3, 4, push("a"), int64(1)), at(1, 2, 5, 6, list(), []reply{"a"})))},
		{"a client that is killed while it waits", true, join(
			waits(0, 1, 0, 1, 3, blpop, lost), one(at(1, 1, 4, 5, push("a"), int64(1)), at(1, 2, 6, 7, list(), []reply{"a"})))},
		{"a client that takes an element after its death", false, join(
			waits(0, 1, 0, 1, 3, blpop, lost), one(at(1, 1, 4, 5, push("a"), int64(1)), at(1, 2, 6, 7, list(), []reply{})))},
		{"the same, not seen", false, join(
			waits(0, 1, 0, 0, 3, blpop, lost), one(at(1, 1, 4, 5, push("a"), int64(1)), at(1, 2, 6, 7, list(), []reply{})))},
		{"a client that is killed just before something is pushed", true, join(
			waits(0, 1, 0, 1, 9, blpop, lost), one(at(1, 1, 3, 8, input{kind: opKill, number: 0}, int64(1)),
				at(1, 2, 3, 8, push("a"), int64(1)), at(1, 3, 9, 10, list(), []reply{"a"})))},
		{"and is given it all the same", false, join(
			waits(0, 1, 0, 1, 9, blpop, lost), one(at(1, 1, 3, 8, input{kind: opKill, number: 0}, int64(1)),
				at(1, 2, 3, 8, push("a"), int64(1)), at(1, 3, 9, 10, list(), []reply{})))},
		{"a client that was given something before", true, join(
			waits(0, 1, 0, 1, 6, blpop, lost), one(at(1, 1, 4, 5, push("a"), int64(1)), at(1, 2, 7, 8, list(), []reply{})))},
		{"a client that was killed before it arrived", true, join(
			one(at(1, 1, 0, 1, push("a"), int64(1))), waits(0, 1, 2, 0, 3, blpop, lost),
			one(at(1, 2, 7, 8, list(), []reply{"a"})))},
		{"a client that was killed when it had arrived", false, join(
			one(at(1, 1, 0, 1, push("a"), int64(1))), waits(0, 1, 2, 3, 4, blpop, lost),
			one(at(1, 2, 7, 8, list(), []reply{"a"})))},
		{"what a transaction has left", true, join(
			waits(0, 1, 0, 1, 9, blpop, gets("b")),
			one(at(1, 1, 3, 4, exec(push("a b"), pop()), replies(int64(2), "a"))))},
		{"an element out of the middle of a transaction", false, join(
			waits(0, 1, 0, 1, 9, blpop, gets("a")),
			one(at(1, 1, 3, 4, exec(push("a b"), pop()), replies(int64(2), "b"))))},
		{"BLMOVE, for whom somebody waits in turn", true, join(
			waits(0, 1, 0, 1, 9, waitKind{side: 1}, output{value: []reply{keyReply(listKey + 1), "a"}}),
			waits(2, 1, 2, 3, 9, blmove, output{value: "a"}), one(at(1, 1, 4, 5, push("a"), int64(1))))},
		{"BLMOVE that drops it", false, join(
			waits(2, 1, 2, 3, 9, blmove, output{value: "a"}), one(at(1, 1, 4, 5, push("a"), int64(1)),
				at(1, 2, 10, 11, input{kind: opRange, side: 1}, []reply{})))},
		{"BZPOPMIN", true, join(waits(0, 1, 0, 1, 9, waitKind{verb: waitMin}, minimum),
			one(at(1, 1, 3, 4, exec(input{kind: opZAdd, number: 4, value: "n"}, input{kind: opZAdd, number: 3, value: "m"}),
				replies(int64(1), int64(1)))))},
		{"BZPOPMIN of what is not the least", false, join(waits(0, 1, 0, 1, 9, waitKind{verb: waitMin}, minimum),
			one(at(1, 1, 3, 4, exec(input{kind: opZAdd, number: 2, value: "n"}, input{kind: opZAdd, number: 3, value: "m"}),
				replies(int64(1), int64(1)))))},
		{"who watches sees that somebody was served", false, join(waits(0, 1, 0, 1, 9, blmove, output{value: "a"}),
			one(at(2, 1, 2, 3, watch(2<<listKey), "OK"), at(1, 1, 4, 5, push("a"), int64(1)),
				at(2, 2, 6, 7, exec(set("x")), replies("OK"))))},
	})
}

// Of more clients than are tried both ways none has arrived: that is not proved to be wrong.
func TestManyDoubts(t *testing.T) {
	ops := []porcupine.Operation{at(1, 1, 0, 1, push("a"), int64(1))}
	for i := 0; i <= doubtsMax; i++ {
		ops = append(ops, waits(2+i, 1, 2, 0, 3, blpop, lost)...)
	}
	ops = append(ops, at(1, 2, 7, 8, list(), []reply{"a"}))
	if result, _ := checkGroup(ops, time.Minute); result == porcupine.Illegal {
		t.Error("clients that were killed before they arrived are taken for a fault")
	}
}

// unblock is CLIENT UNBLOCK of a blocked client.
func unblock(session int, byError bool) input {
	return input{kind: opUnblock, number: session, right: byError}
}

// early marks that null came before the timeout.
func early(w []porcupine.Operation) []porcupine.Operation {
	in := w[1].Input.(input)
	in.early = true
	w[1].Input = in
	return w
}

func soonerEnded(ops []porcupine.Operation) []porcupine.Operation {
	endSooner(ops)
	return ops
}

func TestUnblock(t *testing.T) {
	one := func(ops ...porcupine.Operation) []porcupine.Operation { return ops }
	refused := output{value: unblockedError}
	checkCases(t, []testCase{
		{"unblocked by TIMEOUT", true, join(early(waits(0, 1, 0, 1, 9, blpop, nobody)),
			one(at(1, 1, 3, 4, unblock(0, false), int64(1))))},
		{"unblocked by ERROR", true, join(waits(0, 1, 0, 1, 9, blpop, refused),
			one(at(1, 1, 3, 4, unblock(0, true), int64(1))))},
		{"unblocked by TIMEOUT, told of an error", false, join(waits(0, 1, 0, 1, 9, blpop, refused),
			one(at(1, 1, 3, 4, unblock(0, false), int64(1))))},
		{"nothing too early, and nobody has unblocked", false, early(waits(0, 1, 0, 1, 9, blpop, nobody))},
		{"nothing too early, but it was not waiting", false, join(early(waits(0, 1, 0, 1, 9, blpop, nobody)),
			one(at(1, 1, 3, 4, unblock(0, false), int64(0))))},
		{"an error, and nobody has unblocked", false, waits(0, 1, 0, 1, 9, blpop, refused)},
		{"who is unblocked takes nothing that comes later", true, join(waits(0, 1, 0, 1, 9, blpop, refused),
			one(at(1, 1, 3, 4, unblock(0, true), int64(1)), at(1, 2, 5, 6, push("a"), int64(1)),
				at(1, 3, 7, 8, list(), []reply{"a"})))},
		{"but it has", false, join(waits(0, 1, 0, 1, 9, blpop, gets("a")),
			one(at(1, 1, 3, 4, unblock(0, true), int64(1)), at(1, 2, 5, 6, push("a"), int64(1))))},
		{"who is served is not unblocked", true, join(waits(0, 1, 0, 1, 9, blpop, gets("a")),
			one(at(1, 1, 3, 4, push("a"), int64(1)), at(1, 2, 5, 6, unblock(0, false), int64(0))))},
		{"an element that is lost between both", false, join(early(waits(0, 1, 0, 1, 9, blpop, nobody)),
			one(at(1, 1, 3, 6, push("a"), int64(1)), at(1, 2, 3, 6, unblock(0, false), int64(1)),
				at(1, 3, 7, 8, list(), []reply{})))},
		{"unblocked twice", false, join(early(waits(0, 1, 0, 1, 9, blpop, nobody)),
			one(at(1, 1, 3, 4, unblock(0, false), int64(1)), at(1, 2, 5, 6, unblock(0, false), int64(1))))},
		{"unblocked in a transaction that has pushed", true, join(early(waits(0, 1, 0, 1, 9, blpop, nobody)),
			one(at(1, 1, 3, 4, exec(push("a"), unblock(0, false)), replies(int64(1), int64(1))),
				at(1, 2, 5, 6, list(), []reply{"a"})))},
		{"who is unblocked before its time but hears of it late goes on meanwhile", true, soonerEnded(join(
			lasting(7, waits(0, 1, 0, 1, 9, blpop, nobody)), one(at(0, 3, 0, 9, list(), []reply{}),
				at(1, 1, 2, 3, unblock(0, false), int64(1)), at(1, 2, 4, 5, push("a"), int64(1)))))},
		{"who is not goes on when its time is over", false, soonerEnded(join(
			lasting(7, waits(0, 1, 0, 1, 9, blpop, nobody)), one(at(0, 3, 0, 9, list(), []reply{}),
				at(1, 1, 2, 3, unblock(5, false), int64(0)), at(1, 2, 4, 5, push("a"), int64(1)))))},
		{"an unblocking without a reply", true, join(early(waits(0, 1, 0, 1, 9, blpop, nobody)),
			one(unanswered(at(1, 1, 3, 4, unblock(0, false), nil))))},
	})
}

func xadd(value string) input { return input{kind: opXAdd, value: value} }
func xrange() input           { return input{kind: opXRange} }

// some are entries of a stream in a reply: of XRANGE, and of a read with the name of the key.
func some(first int, values ...string) (all []reply) {
	for i, v := range values {
		all = append(all, []reply{entryID(first + i), []reply{"f", v}})
	}
	return all
}

func read(first int, values ...string) output { return output{value: ofStream(some(first, values...))} }

func TestStreams(t *testing.T) {
	one := func(ops ...porcupine.Operation) []porcupine.Operation { return ops }
	dollar, group := waitKind{verb: waitRead, after: newest}, waitKind{verb: waitNew}
	behind := func(after int) waitKind { return waitKind{verb: waitRead, after: after} }
	checkCases(t, []testCase{
		{"entries in order", true, one(at(0, 1, 0, 1, xadd("a"), "0-1"), at(0, 2, 0, 1, xadd("b"), "0-2"),
			at(1, 1, 2, 3, xrange(), some(1, "a", "b")))},
		{"an ID that is given twice", false, one(at(0, 1, 0, 1, xadd("a"), "0-1"), at(1, 1, 0, 1, xadd("b"), "0-1"))},
		{"an entry for two consumers", false, one(at(0, 1, 0, 1, xadd("a"), "0-1"),
			at(0, 2, 2, 9, input{kind: opXReadNew, number: 1}, read(1, "a").value),
			at(1, 1, 2, 9, input{kind: opXReadNew, number: 1}, read(1, "a").value))},
		{"XREAD that waits", true, join(waits(0, 1, 0, 1, 9, dollar, read(1, "a")),
			waits(2, 1, 0, 1, 9, behind(0), read(1, "a")), one(at(1, 1, 3, 4, xadd("a"), "0-1")))},
		{"XREAD of what is there", true, join(one(at(1, 1, 0, 1, xadd("a"), "0-1"), at(1, 2, 2, 3, xadd("b"), "0-2")),
			waits(0, 1, 4, 0, 9, behind(0), read(1, "a", "b")), waits(2, 1, 4, 0, 9, behind(1), read(2, "b")))},
		{"$ is what is there at the beginning", false, join(one(at(1, 1, 0, 1, xadd("a"), "0-1")),
			waits(0, 1, 2, 3, 9, dollar, read(1, "a", "b")), one(at(1, 2, 5, 6, xadd("b"), "0-2")))},
		{"XREAD that misses an entry of a transaction", false, join(waits(0, 1, 0, 1, 9, dollar, read(1, "a")),
			one(at(1, 1, 3, 4, exec(xadd("a"), xadd("b")), replies("0-1", "0-2"))))},
		{"XREAD that skips an entry", false, join(waits(0, 1, 0, 1, 9, dollar, read(2, "b")),
			one(at(1, 1, 3, 4, xadd("a"), "0-1"), at(1, 2, 5, 6, xadd("b"), "0-2")))},
		{"XREAD that is not served", false, join(lasting(8, waits(0, 1, 0, 1, 9, dollar, nobody)),
			one(at(1, 1, 3, 4, xadd("a"), "0-1")))},
		{"XREAD behind what is not there yet", true, join(waits(0, 1, 0, 1, 9, behind(1), read(2, "b")),
			one(at(1, 1, 3, 4, xadd("a"), "0-1"), at(1, 2, 5, 6, xadd("b"), "0-2")))},
		{"each entry to one consumer, in the order of arrival", true, join(waits(0, 1, 0, 1, 9, group, read(1, "a")),
			waits(2, 1, 2, 3, 9, group, read(2, "b")),
			one(at(1, 1, 4, 5, xadd("a"), "0-1"), at(1, 2, 6, 7, xadd("b"), "0-2")))},
		{"against the order of arrival", false, join(waits(0, 1, 0, 1, 9, group, read(2, "b")),
			waits(2, 1, 2, 3, 9, group, read(1, "a")),
			one(at(1, 1, 4, 5, xadd("a"), "0-1"), at(1, 2, 6, 7, xadd("b"), "0-2")))},
		{"an entry for two consumers that wait", false, join(waits(0, 1, 0, 1, 9, group, read(1, "a")),
			waits(2, 1, 0, 1, 9, group, read(1, "a")), one(at(1, 1, 4, 5, xadd("a"), "0-1")))},
		{"COUNT leaves the rest to the next", true, join(
			waits(0, 1, 0, 1, 9, waitKind{verb: waitNew, most: 1}, read(1, "a")), waits(2, 1, 2, 3, 9, group, read(2, "b")),
			one(at(1, 1, 4, 5, exec(xadd("a"), xadd("b")), replies("0-1", "0-2"))))},
		{"a group that goes while somebody waits", true, join(waits(0, 1, 0, 1, 9, group, output{value: noGroup}),
			lasting(8, waits(2, 1, 0, 1, 9, dollar, nobody)), one(at(1, 1, 4, 5, input{kind: opXDestroy}, int64(1))))},
		{"an entry that a consumer was to get is lost to an unblocking", false, join(
			early(waits(0, 1, 0, 1, 9, group, nobody)), one(at(1, 1, 3, 6, xadd("a"), "0-1"),
				at(1, 2, 3, 6, unblock(0, false), int64(1)), at(1, 3, 7, 8, input{kind: opXReadNew, number: 1}, nil)))},
	})
}

// A long history made by the model itself is valid; with one reply changed it is invalid.
func TestOneWrongReplyInMany(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for trial := 0; trial < 10*int(flavours); trial++ {
		group := trial
		var state groupState
		var ops []porcupine.Operation
		var reads []int
		for i := 0; i < 200; i++ {
			in := makeInput(r, group, i%5, i, "")
			switch i % 20 {
			case 5, 10:
				in = input{group: group, kind: opWatch, number: someKeys(r, flavourOf(group))}
			case 15, 0:
				in = exec(in, makeInput(r, group, i%5, i, "x"))
			}
			in.group, in.session, in.turn = group, i%5, i+1
			after, out, _ := apply(state, in, output{unknown: true})
			state = after
			if !changesState(in.kind) {
				reads = append(reads, i)
			}
			// Each overlaps its neighbors.
			ops = append(ops, porcupine.Operation{ClientId: i % 5, Input: in, Call: int64(10 * i), Return: int64(10*i + 35),
				Output: output{value: out}})
		}
		if !right(ops) {
			t.Fatal("a right history was refused: ", flavourOf(group))
		}
		ops[reads[r.Intn(len(reads))]].Output = output{value: fmt.Sprint("never written")}
		if right(ops) {
			t.Fatal("a wrong reply was accepted: ", flavourOf(group))
		}
	}
}
