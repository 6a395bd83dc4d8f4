// model_test.go -- the checker accepts what is right and refuses what is wrong; else it would prove nothing.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"math/rand"
	"testing"

	"github.com/anishathalye/porcupine"
)

const forever = unansweredReturn

// at makes an operation; its session is `client`, so numbers must rise per client.
func at(client, number int, call, ret int64, in input, out reply) porcupine.Operation {
	in.session, in.number = client, number
	return porcupine.Operation{ClientId: client, Input: in, Call: call, Return: ret, Output: output{value: out}}
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

func TestHistories(t *testing.T) {
	cases := []struct {
		name  string
		right bool
		ops   []porcupine.Operation
	}{
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
	for _, c := range cases {
		if porcupine.CheckOperations(pairModel, c.ops) != c.right {
			t.Errorf("%s: expected right = %v", c.name, c.right)
		}
	}
}

// A long history made by the model itself is right; with one reply exchanged it is wrong.
func TestOneWrongReplyInMany(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for trial := 0; trial < 20; trial++ {
		var state pairState
		var ops []porcupine.Operation
		var reads []int
		for i := 0; i < 300; i++ {
			in := makeInput(r, 0, i%5, i, "")
			in.session, in.number = i%5, i+1
			after, out := apply(state, in)
			state = after
			if in.kind == opGet {
				reads = append(reads, i)
			}
			// Each overlaps its neighbours.
			ops = append(ops, porcupine.Operation{ClientId: i % 5, Input: in, Call: int64(10 * i), Return: int64(10*i + 35),
				Output: output{value: out}})
		}
		if !porcupine.CheckOperations(pairModel, ops) {
			t.Fatal("a right history was refused")
		}
		ops[reads[r.Intn(len(reads))]].Output = output{value: "never written"}
		if porcupine.CheckOperations(pairModel, ops) {
			t.Fatal("a wrong reply was accepted")
		}
	}
}
