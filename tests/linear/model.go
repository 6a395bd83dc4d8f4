// model.go -- what a pair of string keys must look like to its clients: one command after another, in some order that
// respects real time.
//
// A partition of the history is one pair of keys, because MSET, MGET and DEL span both. The state is the two values,
// and how far each connection has come: commands of one pipeline are concurrent by the clock (all are called by one
// write), but must take effect in the order in which they were sent.
//
// An operation without a reply (its client was killed) may have happened or not: its output says `unknown`, every
// output fits, and it returns at the end of time. "Not happened" is then "happened after everything else", which
// no other operation can tell apart.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

type opKind int

const (
	opGet opKind = iota
	opSet
	opSetNX
	opSetXX
	opSetIfEq
	opSetGet
	opGetSet
	opGetDel
	opAppend
	opIncr
	opSetRange
	opDel
	opStrlen
	opMSet
	opMGet
	opDelBoth
	opKinds
)

var kindNames = [...]string{"GET", "SET", "SET NX", "SET XX", "SET IFEQ", "SET GET", "GETSET", "GETDEL", "APPEND",
	"INCR", "SETRANGE", "DEL", "STRLEN", "MSET", "MGET", "DEL both"}

// input is one command. `side` says which key of the pair a command of one key names.
type input struct {
	pair   int
	kind   opKind
	side   int
	value  string
	other  string // second value of MSET; what SET IFEQ compares with
	offset int
	// Which connection of the round asked, and the how manieth of its commands this is, from 1.
	session, number int
}

// output is what came back; unknown when nothing did.
type output struct {
	unknown bool
	value   reply
}

type cell struct {
	exists bool
	value  string
}

type pairState [2]cell

// history is the state of the model. `last` says which command of each session came last; it follows from which
// operations have been placed, so two states are equal when their pairs are.
type history struct {
	pair pairState
	last []int
}

// advance notes that `in` has been placed; false when a later command of its connection was before it.
func (h history) advance(in input) (history, bool) {
	if in.session < len(h.last) && h.last[in.session] >= in.number {
		return h, false
	}
	size := len(h.last)
	if in.session >= size {
		size = in.session + 1
	}
	last := make([]int, size)
	copy(last, h.last)
	last[in.session] = in.number
	return history{h.pair, last}, true
}

// The state after `in` on `before`, and the reply it must have given. Pure.
func apply(before pairState, in input) (pairState, reply) {
	after := before
	c := &after[in.side]
	had := *c
	var old reply
	if had.exists {
		old = had.value
	}
	switch in.kind {
	case opGet:
		return after, old
	case opSet:
		*c = cell{true, in.value}
		return after, "OK"
	case opSetNX:
		if had.exists {
			return after, nil
		}
		*c = cell{true, in.value}
		return after, "OK"
	case opSetXX:
		if !had.exists {
			return after, nil
		}
		*c = cell{true, in.value}
		return after, "OK"
	case opSetIfEq:
		if !had.exists || had.value != in.other {
			return after, nil
		}
		*c = cell{true, in.value}
		return after, "OK"
	case opSetGet, opGetSet:
		*c = cell{true, in.value}
		return after, old
	case opGetDel:
		*c = cell{}
		return after, old
	case opAppend:
		*c = cell{true, had.value + in.value}
		return after, int64(len(c.value))
	case opIncr:
		n := int64(0)
		if had.exists {
			var ok bool
			if n, ok = integer(had.value); !ok {
				return before, replyError("ERR value is not an integer or out of range")
			}
		}
		*c = cell{true, strconv.FormatInt(n+1, 10)}
		return after, n + 1
	case opSetRange:
		end := in.offset + len(in.value)
		bytes := []byte(had.value)
		if len(bytes) < end {
			bytes = append(bytes, make([]byte, end-len(bytes))...)
		}
		copy(bytes[in.offset:], in.value)
		*c = cell{true, string(bytes)}
		return after, int64(len(c.value))
	case opDel:
		*c = cell{}
		return after, count(had.exists)
	case opStrlen:
		return after, int64(len(had.value))
	case opMSet:
		after = pairState{{true, in.value}, {true, in.other}}
		return after, "OK"
	case opMGet:
		both := make([]reply, 2)
		for i, c := range before {
			if c.exists {
				both[i] = c.value
			}
		}
		return after, both
	case opDelBoth:
		return pairState{}, count(before[0].exists) + count(before[1].exists)
	}
	panic("no such kind")
}

// A command without reply that changes nothing has no place in a history.
func changesState(k opKind) bool {
	return k != opGet && k != opStrlen && k != opMGet
}

func count(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// An integer as INCR takes it: no leading zero, no plus sign, and with room for one more.
func integer(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != s || n+1 < n {
		return 0, false
	}
	return n, true
}

func sameReply(a, b reply) bool {
	x, xs := a.([]reply)
	y, ys := b.([]reply)
	if !xs || !ys {
		return !xs && !ys && a == b
	}
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !sameReply(x[i], y[i]) {
			return false
		}
	}
	return true
}

func (in input) words() []string {
	key := func(side int) string { return fmt.Sprintf("linear:{%d}:%d", in.pair, side) }
	k := key(in.side)
	switch in.kind {
	case opGet:
		return []string{"GET", k}
	case opSet:
		return []string{"SET", k, in.value}
	case opSetNX:
		return []string{"SET", k, in.value, "NX"}
	case opSetXX:
		return []string{"SET", k, in.value, "XX"}
	case opSetIfEq:
		return []string{"SET", k, in.value, "IFEQ", in.other}
	case opSetGet:
		return []string{"SET", k, in.value, "GET"}
	case opGetSet:
		return []string{"GETSET", k, in.value}
	case opGetDel:
		return []string{"GETDEL", k}
	case opAppend:
		return []string{"APPEND", k, in.value}
	case opIncr:
		return []string{"INCR", k}
	case opSetRange:
		return []string{"SETRANGE", k, strconv.Itoa(in.offset), in.value}
	case opDel:
		return []string{"DEL", k}
	case opStrlen:
		return []string{"STRLEN", k}
	case opMSet:
		return []string{"MSET", key(0), in.value, key(1), in.other}
	case opMGet:
		return []string{"MGET", key(0), key(1)}
	case opDelBoth:
		return []string{"DEL", key(0), key(1)}
	}
	panic("no such kind")
}

func short(r reply) string {
	switch v := r.(type) {
	case nil:
		return "nil"
	case string:
		if len(v) > 12 {
			return fmt.Sprintf("%q..(%d)", v[:12], len(v))
		}
		return fmt.Sprintf("%q", v)
	case []reply:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = short(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprint(r)
}

func describe(in, out interface{}) string {
	i, o := in.(input), out.(output)
	text := fmt.Sprintf("%s %d", kindNames[i.kind], i.side)
	if i.value != "" {
		text += " " + short(i.value)
	}
	if i.kind == opMSet || i.kind == opSetIfEq {
		text += " " + short(i.other)
	}
	if o.unknown {
		return text + " -> ?"
	}
	return text + " -> " + short(o.value)
}

var pairModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[int][]porcupine.Operation{}
		for _, op := range history {
			p := op.Input.(input).pair
			parts[p] = append(parts[p], op)
		}
		all := make([][]porcupine.Operation, 0, len(parts))
		for _, p := range parts {
			all = append(all, p)
		}
		return all
	},
	Init: func() interface{} { return history{} },
	Step: func(state, in, out interface{}) (bool, interface{}) {
		h, inOrder := state.(history).advance(in.(input))
		if !inOrder {
			return false, state
		}
		after, want := apply(h.pair, in.(input))
		h.pair = after
		o := out.(output)
		return o.unknown || sameReply(want, o.value), h
	},
	Equal:             func(a, b interface{}) bool { return a.(history).pair == b.(history).pair },
	DescribeOperation: describe,
	DescribeState: func(state interface{}) string {
		s := state.(history).pair
		return fmt.Sprintf("%v %s, %v %s", s[0].exists, short(s[0].value), s[1].exists, short(s[1].value))
	},
}
