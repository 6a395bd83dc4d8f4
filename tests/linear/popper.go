// popper.go -- a client that blocks on elements.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// sighting is a command in progress: its client, and when it was seen blocked (0: not yet).
type sighting struct {
	client         string
	group, session int
	at             atomic.Int64
}

type popper struct {
	recorder
	client string // the connection's id
	group  int    // of the round
	last   int    // number of the last entry of the stream that it has seen
	under  atomic.Pointer[sighting]
}

// popping are all poppers.
var popping []*popper

// In a round a popper blocks in one group: so the history of that group has all of its results.
func (p *popper) choose(firstGroup int) {
	p.group = firstGroup + int(flavourQueues) + p.rnd.Intn(int(flavours-flavourQueues))
	p.last = 0
}

// act is one blocking pop, sometimes followed by a command in the same pipeline; false at the end.
func (p *popper) act() bool {
	if p.conn == nil {
		if !p.connect() {
			return false
		}
		id, err := p.conn.do("CLIENT", "ID")
		if err != nil { // killed already
			p.hangUp()
			return !total.failed.Load()
		}
		p.client = fmt.Sprint(id)
	}
	group := p.group
	in := input{group: group, kind: opWait, wait: p.draw(), session: p.session, turn: p.sent + 1}
	p.sent += 2
	timeoutMs := 1 + p.rnd.Intn(40)
	bytes := appendCommand(nil, in.wait.words(group, timeoutMs)...)
	behind := input{group: group, kind: opRange, side: in.wait.side, session: p.session, turn: p.sent + 1}
	if flavourOf(group) == flavourStreams {
		behind.kind = opXLen
	}
	more := p.rnd.Intn(4) == 0
	if more {
		p.sent++
		bytes = behind.appendTo(bytes)
	}
	under := &sighting{client: p.client, group: group, session: p.session}
	p.under.Store(under)
	call := now()
	err := p.conn.write(bytes)
	var v reply
	if err == nil {
		v, err = in.readReply(p.conn)
	}
	returned := now()
	p.under.Store(nil)
	p.note(in, v, err, call, returned, under.at.Load(), int64(timeoutMs)*int64(time.Millisecond))
	if err == nil && more {
		if v, err = behind.readReply(p.conn); err == nil {
			p.ops = append(p.ops, porcupine.Operation{ClientId: p.id, Input: behind, Call: call, Return: now(),
				Output: output{value: v}})
		} else {
			p.noteError(behind, err)
		}
	}
	if err != nil {
		p.hangUp()
	}
	return !total.failed.Load()
}

// draw chooses the blocking command: XREAD mostly continues where it was.
func (p *popper) draw() waitKind {
	w := makeWait(p.rnd, flavourOf(p.group))
	if w.verb == waitRead && p.rnd.Intn(3) > 0 {
		w.after = max(0, p.last-p.rnd.Intn(3))
	}
	return w
}

func (p *popper) hangUp() {
	p.conn.close()
	p.conn = nil
}

// The server counts whole milliseconds.
const earliness = 3 * int64(time.Millisecond)

// note records a wait as its arrival and its end. A client that gets nothing has waited until its timeout.
func (p *popper) note(in input, v reply, err error, call, returned, seenAt, timeout int64) {
	total.ops.Add(1)
	total.waits.Add(1)
	ended := call
	if err == nil && v == nil {
		ended = max(call, call+timeout-earliness)
		if ended >= returned { // then only CLIENT UNBLOCK explains it
			ended, in.early = call, true
		}
	}
	p.last = max(p.last, lastNumber(v))
	out := output{value: v}
	switch {
	case err != nil:
		out = output{unknown: true}
		total.unknown.Add(1)
		total.unanswered.Add(1)
		p.noteError(in, err)
		if at, killed := killedAt.Load(p.client); killed && at.(int64) < returned && at.(int64) > call {
			returned = at.(int64)
		}
	case v == nil || v == unblockedError:
		total.timeouts.Add(1)
	default:
		total.served.Add(1)
	}
	arrived := returned
	if seenAt != 0 {
		total.seen.Add(1)
		in.seen = true
		if seenAt < arrived {
			arrived = seenAt
		}
	}
	p.ops = append(p.ops, porcupine.Operation{ClientId: p.id, Input: in, Call: call, Return: arrived, Output: out})
	in.kind, in.turn, in.called = opWaitEnd, in.turn+1, call
	p.ops = append(p.ops, porcupine.Operation{ClientId: p.id, Input: in, Call: ended, Return: returned, Output: out})
}
