// popper.go -- a client that waits for elements.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// sighting is a command under way: whose it is, and when it was seen waiting (0: not yet).
type sighting struct {
	client         string
	group, session int
	at             atomic.Int64
}

type popper struct {
	recorder
	client string // the connection's id
	under  atomic.Pointer[sighting]
}

// popping are all poppers.
var popping []*popper

// act is one blocking pop, sometimes with a command in the same pipeline behind it; false when all is over.
func (p *popper) act(firstGroup int) bool {
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
	f := flavourQueues
	if p.rnd.Intn(3) == 0 {
		f = flavourScores
	}
	group := firstGroup + int(f)
	in := input{group: group, kind: opWait, wait: makeWait(p.rnd, f), session: p.session, turn: p.sent + 1}
	p.sent += 2
	timeoutMs := 1 + p.rnd.Intn(40)
	bytes := appendCommand(nil, in.wait.words(group, fmt.Sprintf("0.%03d", timeoutMs))...)
	behind := input{group: group, kind: opRange, side: in.wait.side, session: p.session, turn: p.sent + 1}
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

func (p *popper) hangUp() {
	p.conn.close()
	p.conn = nil
}

// The server counts whole milliseconds.
const earliness = 3 * int64(time.Millisecond)

// note writes a wait down as its arrival and its end. Who gets nothing has waited for its whole time.
func (p *popper) note(in input, v reply, err error, call, returned, seenAt, timeout int64) {
	total.ops.Add(1)
	total.waits.Add(1)
	ended := call
	if refused, ok := v.(replyError); ok && strings.HasPrefix(string(refused), "UNBLOCKED") {
		v = nil
	} else if err == nil && v == nil {
		ended = call + timeout - earliness
		if ended < call {
			ended = call
		}
		if ended >= returned {
			complain("client %d: %v was answered after %d us with %d us to wait", p.id, in, (returned-call)/1000, timeout/1000)
			ended = call
		}
	}
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
	case v == nil:
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
	in.kind, in.turn = opWaitEnd, in.turn+1
	p.ops = append(p.ops, porcupine.Operation{ClientId: p.id, Input: in, Call: ended, Return: returned, Output: out})
}
