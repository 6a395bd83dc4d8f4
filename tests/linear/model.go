// model.go -- the state of a group of keys as clients see it: one command after another, in some order that respects
// real time.
//
// A partition of the history is one group of keys: two strings, two lists, a hash, a sorted set and a stream, because
// commands and transactions span several of them. The state is their contents, the clients that watch them
// (transaction.go) or are blocked on them (waiting.go), and the progress of each connection: commands of one pipeline
// are concurrent by the clock (all are sent by one write), but must take effect in the order of sending.
//
// An operation without a reply (its client was killed) may have happened or not: its output is `unknown`, any output
// fits, and it returns at the end of time. "Not happened" is then "happened after everything else", which no other
// operation can distinguish. Blocking pops are different: see waiting.go.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"sort"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// The keys of a group, in the order of their numbers.
const (
	stringKey = iota // and the next
	_
	listKey // and the next
	_
	hashKey
	zsetKey
	streamKey
	keysPerGroup
)

const hashFields = 4

// input is one operation: a command, or a transaction from MULTI to EXEC or DISCARD. `side` selects one of the two
// strings or lists for a command of one key.
type input struct {
	group int
	kind  opKind
	side  int
	value string
	other string // second value of MSET and HSET; the value that SET IFEQ compares with
	// Offset of SETRANGE, first field of a hash, score, index of LSET, mask of the keys of WATCH, session of CLIENT KILL
	// and CLIENT UNBLOCK, number of an entry of a stream, COUNT of XREADGROUP; 1: XGROUP CREATE with "$".
	number int
	// Ends of lists: where to push or pop, and where LMOVE pushes. CLIENT UNBLOCK: by ERROR.
	right, toRight bool
	queued         []input // of a transaction
	wait           waitKind
	seen           bool  // of a wait: the client has been seen blocked
	early          bool  // of the end of a wait: null before the timeout
	called         int64 // of the end of a wait: when it was requested
	// The connection of the round, and the index of this command on it, from 1.
	session, turn int
}

// output is the reply; unknown if there was none.
type output struct {
	unknown bool
	value   reply
}

type cell struct {
	exists bool
	value  string
}

// groupState can be compared, and copied by assignment: lists are their elements, each followed by a newline.
type groupState struct {
	text [2]cell
	list [2]string
	hash [hashFields]cell
	zset string // "SCORE MEMBER\n" in order; scores have one digit
	// stream.go
	stream streamState
	// transaction.go and waiting.go
	watches string
	waiting string
}

// history is the state of the model. `last` has the last command of each session; it follows from the operations placed
// so far, so two states are equal if their groups are.
type history struct {
	group groupState
	last  []int
}

// advance notes that `in` has been placed; false if a later command of its connection was placed before it.
func (h history) advance(in input) (history, bool) {
	if in.session < len(h.last) && h.last[in.session] >= in.turn {
		return h, false
	}
	size := len(h.last)
	if in.session >= size {
		size = in.session + 1
	}
	last := make([]int, size)
	copy(last, h.last)
	last[in.session] = in.turn
	return history{h.group, last}, true
}

// change is a state while one command, or one transaction, is applied to it.
type change struct {
	groupState
	ready []int // keys that have got elements, in order
	wrong bool  // a client got a reply that is not possible
}

// Returns the state after `in` on `before`, and the reply of `in`; not possible if `got` cannot be its reply. Pure.
func apply(before groupState, in input, got output) (after groupState, want reply, possible bool) {
	c := change{groupState: before}
	replied := got
	switch in.kind {
	case opWatch:
		want = c.watch(in)
	case opUnwatch, opDiscard:
		want = c.unwatch(in)
	case opExec:
		want = c.exec(in)
	case opWait:
		c.arrive(in, got)
		replied.unknown = true
	case opWaitEnd:
		c.leave(in, got)
		replied.unknown = true
	case opKill:
		c.stopWaiting(in.number)
		want = int64(1)
	default:
		want = c.command(in)
	}
	if !replied.unknown && !sameReply(want, ordered(in, got.value)) {
		return before, want, false
	}
	c.serve()
	return c.groupState, want, !c.wrong
}

// Applies one command of any kind, also within a transaction, without its consequences for blocked clients.
func (c *change) command(in input) reply {
	switch {
	case in.kind < opPush:
		return c.stringCommand(in)
	case in.kind < opHSet:
		return c.listCommand(in)
	case in.kind < opZAdd:
		return c.hashCommand(in)
	case in.kind < opXAdd:
		return c.zsetCommand(in)
	case in.kind == opUnblock:
		return c.unblock(in)
	}
	return c.streamCommand(in)
}

func (c *change) setText(side int, now cell) reply {
	if now.exists || c.text[side].exists {
		c.touch(stringKey + side)
	}
	c.text[side] = now
	return "OK"
}

func (c *change) stringCommand(in input) reply {
	had := c.text[in.side]
	var old reply
	if had.exists {
		old = had.value
	}
	switch in.kind {
	case opGet:
		return old
	case opStrlen:
		return int64(len(had.value))
	case opMGet:
		return []reply{c.text[0].reply(), c.text[1].reply()}
	case opSet:
		return c.setText(in.side, cell{true, in.value})
	case opSetNX, opSetXX, opSetIfEq:
		if had.exists == (in.kind == opSetNX) || in.kind == opSetIfEq && had.value != in.other {
			return nil
		}
		return c.setText(in.side, cell{true, in.value})
	case opSetGet, opGetSet:
		c.setText(in.side, cell{true, in.value})
		return old
	case opGetDel:
		c.setText(in.side, cell{})
		return old
	case opAppend:
		c.setText(in.side, cell{true, had.value + in.value})
		return int64(len(had.value) + len(in.value))
	case opIncr:
		now, result := increment(had)
		if _, refused := result.(replyError); !refused {
			c.setText(in.side, now)
		}
		return result
	case opSetRange:
		bytes := []byte(had.value)
		if end := in.number + len(in.value); len(bytes) < end {
			bytes = append(bytes, make([]byte, end-len(bytes))...)
		}
		copy(bytes[in.number:], in.value)
		c.setText(in.side, cell{true, string(bytes)})
		return int64(len(bytes))
	case opDel:
		c.setText(in.side, cell{})
		return count(had.exists)
	case opMSet:
		c.setText(0, cell{true, in.value})
		return c.setText(1, cell{true, in.other})
	case opDelBoth:
		n := count(c.text[0].exists) + count(c.text[1].exists)
		c.setText(0, cell{})
		c.setText(1, cell{})
		return n
	}
	panic("no such kind")
}

func (c *change) listCommand(in input) reply {
	key := listKey + in.side
	switch in.kind {
	case opPush:
		for _, element := range strings.Fields(in.value) {
			c.push(in.side, in.right, element)
		}
		return int64(strings.Count(c.list[in.side], "\n"))
	case opPop:
		return c.pop(in.side, in.right).reply()
	case opLen:
		return int64(strings.Count(c.list[in.side], "\n"))
	case opRange:
		return elements(c.list[in.side])
	case opMove:
		moved := c.pop(in.side, in.right)
		if moved.exists {
			c.push(1-in.side, in.toRight, moved.value)
		}
		return moved.reply()
	case opListSet:
		all := elements(c.list[in.side])
		if len(all) == 0 {
			return replyError("ERR no such key")
		}
		if in.number >= len(all) {
			return replyError("ERR index out of range")
		}
		all[in.number] = in.value
		c.list[in.side] = ""
		for _, element := range all {
			c.list[in.side] += element.(string) + "\n"
		}
		c.touch(key)
		return "OK"
	case opListDel:
		had := c.list[in.side] != ""
		if had {
			c.touch(key)
		}
		c.list[in.side] = ""
		return count(had)
	}
	panic("no such kind")
}

func (c *change) push(side int, right bool, element string) {
	if right {
		c.list[side] += element + "\n"
	} else {
		c.list[side] = element + "\n" + c.list[side]
	}
	c.touch(listKey + side)
	c.becameReady(listKey + side)
}

func (c *change) pop(side int, right bool) cell {
	list := c.list[side]
	if list == "" {
		return cell{}
	}
	c.touch(listKey + side)
	if right {
		at := strings.LastIndexByte(list[:len(list)-1], '\n') + 1
		c.list[side] = list[:at]
		return cell{true, list[at : len(list)-1]}
	}
	at := strings.IndexByte(list, '\n')
	c.list[side] = list[at+1:]
	return cell{true, list[:at]}
}

func (c *change) hashCommand(in input) reply {
	field := &c.hash[in.number]
	had := *field
	switch in.kind {
	case opHSet: // two fields, or one when they are the same
		next := &c.hash[(in.number+1)%hashFields]
		added := count(!field.exists) + count(!next.exists)
		*field, *next = cell{true, in.value}, cell{true, in.other}
		c.touch(hashKey)
		return added
	case opHSetNX:
		if had.exists {
			return int64(0)
		}
		*field = cell{true, in.value}
		c.touch(hashKey)
		return int64(1)
	case opHGet:
		return had.reply()
	case opHDel:
		if had.exists {
			*field = cell{}
			c.touch(hashKey)
		}
		return count(had.exists)
	case opHIncr:
		now, result := increment(had)
		if _, refused := result.(replyError); refused {
			return replyError("ERR hash value is not an integer")
		}
		*field = now
		c.touch(hashKey)
		return result
	case opHGetAll:
		all := []reply{}
		for i, f := range c.hash {
			if f.exists {
				all = append(all, fieldName(i), f.value)
			}
		}
		return all
	case opHLen:
		n := int64(0)
		for _, f := range c.hash {
			n += count(f.exists)
		}
		return n
	}
	panic("no such kind")
}

func (c *change) zsetCommand(in input) reply {
	switch in.kind {
	case opZAdd: // members are never added twice
		all := append(elements(c.zset), strconv.Itoa(in.number)+" "+in.value)
		sort.Slice(all, func(i, j int) bool { return all[i].(string) < all[j].(string) })
		c.zset = ""
		for _, entry := range all {
			c.zset += entry.(string) + "\n"
		}
		c.touch(zsetKey)
		c.becameReady(zsetKey)
		return int64(1)
	case opZPop:
		return c.popMin()
	case opZRange:
		all := elements(c.zset)
		for i := range all {
			all[i] = all[i].(string)[2:]
		}
		return all
	}
	panic("no such kind")
}

// popMin returns member and score, or nothing.
func (c *change) popMin() []reply {
	at := strings.IndexByte(c.zset, '\n')
	if at < 0 {
		return []reply{}
	}
	entry := c.zset[:at]
	c.zset = c.zset[at+1:]
	c.touch(zsetKey)
	return []reply{entry[2:], entry[:1]}
}

func (c cell) reply() reply {
	if c.exists {
		return c.value
	}
	return nil
}

func elements(list string) []reply {
	all := []reply{}
	for list != "" {
		at := strings.IndexByte(list, '\n')
		all = append(all, list[:at])
		list = list[at+1:]
	}
	return all
}

func count(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func increment(had cell) (cell, reply) {
	n := int64(0)
	if had.exists {
		var ok bool
		if n, ok = integer(had.value); !ok {
			return had, replyError("ERR value is not an integer or out of range")
		}
	}
	return cell{true, strconv.FormatInt(n+1, 10)}, n + 1
}

// Returns an integer that INCR accepts: no leading zero, no plus sign, and space for one more digit.
func integer(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != s || n+1 < n {
		return 0, false
	}
	return n, true
}

// ordered brings the fields of HGETALL into the order of the model.
func ordered(in input, r reply) reply {
	all, isArray := r.([]reply)
	switch {
	case !isArray:
	case in.kind == opHGetAll:
		sorted := make([]reply, 0, len(all))
		for i := 0; i < hashFields; i++ {
			for at := 0; at+1 < len(all); at += 2 {
				if all[at] == fieldName(i) {
					sorted = append(sorted, all[at], all[at+1])
				}
			}
		}
		if len(sorted) == len(all) { // otherwise a field is duplicate or invalid
			return sorted
		}
	case in.kind == opExec && len(all) == len(in.queued):
		each := make([]reply, len(all))
		for i := range all {
			each[i] = ordered(in.queued[i], all[i])
		}
		return each
	}
	return r
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

func step(state, in, out interface{}) (bool, interface{}) {
	h, inOrder := state.(history).advance(in.(input))
	if !inOrder {
		return false, state
	}
	after, _, possible := apply(h.group, in.(input), out.(output))
	h.group = after
	return possible, h
}

var groupModel = porcupine.Model{
	Init:              func() interface{} { return history{} },
	Step:              step,
	Equal:             func(a, b interface{}) bool { return a.(history).group == b.(history).group },
	DescribeOperation: describe,
	DescribeState:     func(state interface{}) string { return describeState(state.(history).group) },
}
