// waiting.go -- BLPOP, BRPOP, BLMOVE, BZPOPMIN, XREAD and XREADGROUP with BLOCK, and CLIENT UNBLOCK in the model.
//
// A blocking pop is two operations. `opWait` is its arrival: it takes a present element, or queues after all blocked
// clients. Elements pushed later are given to blocked clients in the order of their arrival, as part of the command (or
// transaction) that pushed. `opWaitEnd` is its reply: null, which a client gets only while it is still blocked, or the
// element that it was given before.
//
// CLIENT UNBLOCK removes a client from the blocked ones and replies 1; from then on its opWaitEnd can be null, or
// UNBLOCKED. For a client that was served it replies 0: so a client that is unblocked and served at the same time gets
// one of the two, and the element is left for others otherwise.
//
// A wait that ends with null by timeout has lasted until the timeout: its opWaitEnd begins at the earliest possible
// time. Arrival is between the call and the time when the client was seen blocked (or its reply), so the order of
// service is checked as far as it can be observed. A killed client ends in an opWaitEnd that fits any element it was
// given, but not later than the time when its connection is known to be closed: it may be given nothing after that.
// Whether a killed client that was not seen blocked had arrived is not known: checkGroup() tries both.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

// waitKind is the command and its keys.
type waitKind struct {
	verb waitVerb
	side int  // which list; the first of two
	both bool // BLPOP and BRPOP: for both lists
	// XREAD: number of the entry after which it reads; XREAD and XREADGROUP: COUNT, or 0.
	after, most int
}

type waitVerb int

const (
	waitLeft waitVerb = iota
	waitRight
	waitMove // from the left of a list to the right of the other one
	waitMin
	waitRead // XREAD
	waitNew  // XREADGROUP
)

func (w waitKind) String() string {
	name := [...]string{"BLPOP", "BRPOP", "BLMOVE", "BZPOPMIN", "XREAD", "XREADGROUP"}[w.verb]
	if w.verb >= waitRead {
		return fmt.Sprintf("%s behind %d, %d", name, w.after, w.most)
	}
	if w.both {
		return fmt.Sprintf("%s %d %d", name, w.side, 1-w.side)
	}
	return fmt.Sprintf("%s %d", name, w.side)
}

func (w waitKind) wants(key int) bool {
	switch w.verb {
	case waitMin:
		return key == zsetKey
	case waitRead, waitNew:
		return key == streamKey
	}
	return key == listKey+w.side || w.both && key == listKey+1-w.side
}

// keyReply stands for the name of a key in a reply: names differ between groups.
type keyReply int

// take pops or reads now; nil if there is nothing.
func (c *change) take(w waitKind) reply {
	switch w.verb {
	case waitRead:
		if w.after == newest {
			return nil
		}
		return ofStream(c.stream.behind(w.after, w.most))
	case waitNew:
		return c.readNew(w.most)
	case waitMin:
		if pair := c.popMin(); len(pair) == 2 {
			return []reply{keyReply(zsetKey), pair[0], pair[1]}
		}
		return nil
	case waitMove:
		moved := c.pop(w.side, false)
		if moved.exists {
			c.push(1-w.side, true, moved.value)
		}
		return moved.reply()
	}
	sides := []int{w.side}
	if w.both {
		sides = append(sides, 1-w.side)
	}
	for _, side := range sides {
		if popped := c.pop(side, w.verb == waitRight); popped.exists {
			return []reply{keyReply(listKey + side), popped.value}
		}
	}
	return nil
}

// waiter is a blocked client, and the reply it is known to get in the end ("?" if its reply was lost). Knowing that in
// advance keeps the search short: an order in which it gets another client's element is abandoned at once.
type waiter struct {
	session   int
	wait      waitKind
	unblocked bool // no longer blocked, but without its reply yet
	expects   string
}

const unblockedError = replyError("UNBLOCKED")

// summary distinguishes replies; long ones by a hash, as a state stores it.
func summary(v reply) string {
	text := fmt.Sprint(v)
	if len(text) > 40 {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(text))
		return text[:16] + strconv.FormatUint(hash.Sum64(), 16)
	}
	return text
}

func expectation(o output) string {
	if o.unknown {
		return "?"
	}
	return summary(o.value)
}

const waiterHead = 8

// The state has blocked clients as bytes, in the order of arrival.
func (w waiter) bytes() string {
	after := w.wait.after + 1
	return string([]byte{byte(w.session), byte(w.session >> 8), byte(w.wait.verb),
		byte(w.wait.side)*4 + byte(count(w.wait.both))*2 + byte(count(w.unblocked)), byte(after), byte(after >> 8),
		byte(w.wait.most), byte(len(w.expects))}) + w.expects
}

// waiterAt also returns where the next one begins.
func waiterAt(waiting string, at int) (w waiter, next int) {
	b := waiting[at : at+waiterHead]
	next = at + waiterHead + int(b[7])
	wait := waitKind{waitVerb(b[2]), int(b[3] / 4), b[3]&2 != 0, int(b[4]) + int(b[5])<<8 - 1, int(b[6])}
	return waiter{int(b[0]) | int(b[1])<<8, wait, b[3]&1 != 0, waiting[at+waiterHead : next]}, next
}

func (c *change) becameReady(key int) {
	if c.waiting == "" {
		return
	}
	for _, k := range c.ready {
		if k == key {
			return
		}
	}
	c.ready = append(c.ready, key)
}

func (c *change) arrive(in input, got output) {
	w := waiter{in.session, in.wait, false, expectation(got)}
	if in.wait.verb == waitRead && in.wait.after == newest {
		w.wait.after = c.stream.added
	}
	if taken := c.take(w.wait); taken != nil {
		c.give(w, taken)
	} else {
		c.waiting += w.bytes()
	}
}

func (c *change) give(w waiter, taken reply) {
	if w.expects != "?" && w.expects != summary(taken) {
		c.wrong = true
	}
}

// has returns whether a client may be served; a stream may have entries for one client and none for another.
func (c *change) has(key int) bool {
	switch key {
	case zsetKey:
		return c.zset != ""
	case streamKey:
		return true
	}
	return c.list[key-listKey] != ""
}

// serve gives the elements after a command to blocked clients: key by key as they became ready, client by client as
// they arrived.
func (c *change) serve() {
	for len(c.ready) > 0 {
		key := c.ready[0]
		c.ready = c.ready[1:]
		for at := 0; at < len(c.waiting) && c.has(key) && !c.wrong; {
			w, next := waiterAt(c.waiting, at)
			var taken reply
			if w.wait.wants(key) && !w.unblocked {
				taken = c.take(w.wait)
			}
			if taken == nil {
				at = next
				continue
			}
			c.give(w, taken)
			c.waiting = c.waiting[:at] + c.waiting[next:]
		}
	}
}

// stopWaiting also returns whether the session was blocked.
func (c *change) stopWaiting(session int) (was waiter, found bool) {
	for at := 0; at < len(c.waiting); {
		w, next := waiterAt(c.waiting, at)
		if w.session == session {
			c.waiting = c.waiting[:at] + c.waiting[next:]
			return w, true
		}
		at = next
	}
	return waiter{}, false
}

// leave is the end of a wait: a client that got null was blocked until now, or was unblocked; one that got an element
// had been given it.
func (c *change) leave(in input, got output) {
	was, waited := c.stopWaiting(in.session)
	switch {
	case got.unknown:
	case got.value == nil:
		c.wrong = !waited || in.early && !was.unblocked
	case got.value == unblockedError:
		c.wrong = !was.unblocked
	default:
		c.wrong = waited
	}
}

// unblock is CLIENT UNBLOCK: its client stays in the list of blocked clients, but is given nothing any more.
func (c *change) unblock(in input) reply {
	was, waited := c.stopWaiting(in.number)
	if !waited {
		return int64(0)
	}
	told := summary(nil)
	if in.right {
		told = summary(unblockedError)
	}
	done := !was.unblocked
	if done && was.expects != "?" && was.expects != told {
		c.wrong = true
	}
	was.unblocked = true
	c.waiting += was.bytes()
	return count(done)
}

// unblocks are the sessions that an operation may have unblocked.
func unblocks(op porcupine.Operation) (sessions []int) {
	in, out := op.Input.(input), op.Output.(output)
	for i, q := range append([]input{in}, in.queued...) {
		answer := out.value
		if all, isArray := answer.([]reply); isArray && i > 0 && i <= len(all) {
			answer = all[i-1]
		}
		if q.kind == opUnblock && (out.unknown || answer == int64(1)) {
			sessions = append(sessions, q.number)
		}
	}
	return sessions
}

// endSooner lets waits that may have been unblocked end at any time, although they got null only after their timeout:
// later commands of their clients run when they are unblocked, not when the reply arrives.
func endSooner(history []porcupine.Operation) {
	by := map[int][]porcupine.Operation{}
	for _, op := range history {
		for _, session := range unblocks(op) {
			by[session] = append(by[session], op)
		}
	}
	for i := range history {
		in := history[i].Input.(input)
		if in.kind != opWaitEnd {
			continue
		}
		for _, op := range by[in.session] {
			if op.Call <= history[i].Return && op.Return >= in.called {
				history[i].Call = in.called
			}
		}
	}
}

// Maximum number of waits with an unknown outcome that are tried both ways.
const doubtsMax = 5

// checkGroup searches for an order of a group's operations, for each possible outcome of killed clients. If there are
// more than doubtsMax of them, the others count as arrived; when no order is found then, nothing is proved.
func checkGroup(ops []porcupine.Operation, limit time.Duration) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	var doubtful []turnOf
	for _, op := range ops {
		in := op.Input.(input)
		if in.kind == opWait && !in.seen && op.Output.(output).unknown {
			doubtful = append(doubtful, turnOf{in.session, in.turn})
		}
	}
	tooMany := len(doubtful) > doubtsMax
	doubtful = doubtful[:min(len(doubtful), doubtsMax)]
	info := porcupine.LinearizationInfo{}
	deadline := time.Now().Add(limit)
	for fates := 0; fates < 1<<len(doubtful); fates++ {
		absent := map[turnOf]bool{}
		for i, t := range doubtful {
			absent[t] = fates&(1<<i) == 0
		}
		var kept []porcupine.Operation
		for _, op := range ops {
			in := op.Input.(input)
			end := in.kind == opWaitEnd
			if !absent[turnOf{in.session, in.turn - int(count(end))}] || !end && in.kind != opWait {
				kept = append(kept, op)
			}
		}
		one, oneInfo := porcupine.CheckOperationsVerbose(groupModel, kept, max(time.Until(deadline), time.Millisecond))
		if one == porcupine.Ok {
			return one, oneInfo
		}
		if one == porcupine.Unknown {
			return one, oneInfo
		}
		if fates == 0 {
			info = oneInfo
		}
	}
	if tooMany {
		return porcupine.Unknown, info
	}
	return porcupine.Illegal, info
}

// turnOf names a command within a round.
type turnOf struct{ session, turn int }
