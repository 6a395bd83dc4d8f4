// recorder.go -- a client that sends random commands in pipelines and records the replies.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"errors"
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// flavour is the kind of commands that prevails in a group.
type flavour int

const (
	flavourStrings flavour = iota
	flavourLists
	flavourHashes
	flavourAll
	flavourQueues // lists
	flavourScores // a sorted set as a queue
	flavourStreams
	flavours
)

func flavourOf(group int) flavour { return flavour(group % int(flavours)) }

func (f flavour) String() string {
	return [...]string{"strings", "lists", "hashes", "all types", "queues", "scores", "streams"}[f]
}

// The kinds of each flavour; frequent ones are repeated.
var kindsOf = [flavours][]opKind{
	flavourStrings: {opGet, opGet, opGet, opGet, opSet, opSetNX, opSetXX, opSetIfEq, opSetGet, opGetSet, opGetDel,
		opAppend, opIncr, opSetRange, opDel, opStrlen, opMSet, opMGet, opDelBoth},
	flavourLists: {opPush, opPush, opPush, opPop, opPop, opLen, opRange, opRange, opMove, opMove, opListSet, opListDel},
	flavourHashes: {opHSet, opHSet, opHSetNX, opHGet, opHGet, opHGet, opHDel, opHIncr, opHIncr, opHGetAll, opHGetAll,
		opHLen},
	flavourAll: {opGet, opSet, opAppend, opDel, opPush, opPop, opRange, opHSet, opHGet, opHDel, opHGetAll, opZAdd, opZPop,
		opZRange, opXAdd, opXRange, opXReadNew, opXDestroy},
	flavourQueues: {opPush, opPush, opPush, opPush, opPop, opRange, opRange, opRange, opMove, opListDel},
	flavourScores: {opZAdd, opZAdd, opZAdd, opZPop, opZRange, opZRange},
	flavourStreams: {opXAdd, opXAdd, opXAdd, opXAdd, opXAdd, opXAdd, opXAdd, opXAdd, opXAdd, opXAdd, opXLen, opXLen,
		opXRange, opXRead, opXRead, opXRead, opXReadNew, opXReadNew, opXGroup, opXDestroy},
}

// Returns a value that names its writer, of 0 to 4 KB: often large enough to be replied by reference.
func makeValue(r *rand.Rand, client, n int) string {
	stamp := fmt.Sprintf("%d.%d;", client, n)
	switch r.Intn(4) {
	case 0:
		return strconv.Itoa(r.Intn(1000))
	case 1:
		return stamp
	}
	return strings.Repeat(stamp, 1+r.Intn(4096)/len(stamp))
}

// Returns an element that names its pusher: mostly short, as a state has all of them.
func makeElement(r *rand.Rand, client, n int) string {
	element := fmt.Sprintf("%d.%d;", client, n)
	if r.Intn(20) == 0 {
		element = strings.Repeat(element, 1+r.Intn(600)/len(element))
	}
	return element
}

func makeInput(r *rand.Rand, group, client, n int, seen string) input {
	kinds := kindsOf[flavourOf(group)]
	in := input{group: group, kind: kinds[r.Intn(len(kinds))], side: r.Intn(2)}
	switch in.kind {
	case opSet, opSetNX, opSetXX, opSetGet, opGetSet:
		in.value = makeValue(r, client, n)
	case opMSet:
		in.value, in.other = makeValue(r, client, n), makeValue(r, client, n)
	case opSetIfEq:
		in.value, in.other = makeValue(r, client, n), seen
	case opAppend:
		in.value = fmt.Sprintf("+%d.%d", client, n)
	case opSetRange:
		in.value, in.number = fmt.Sprintf("<%d.%d>", client, n), r.Intn(600)
	case opPush:
		in.value, in.right = makeElement(r, client, n), r.Intn(2) == 0
		if r.Intn(3) == 0 {
			in.value += " " + makeElement(r, client, n) + "2"
		}
	case opPop, opMove:
		in.right, in.toRight = r.Intn(2) == 0, r.Intn(2) == 0
	case opListSet:
		in.value, in.number = makeElement(r, client, n), r.Intn(4)
	case opHSet, opHSetNX:
		in.value, in.other, in.number = makeValue(r, client, n), makeValue(r, client, n), r.Intn(hashFields)
	case opHGet, opHDel, opHIncr:
		in.number = r.Intn(hashFields)
	case opZAdd:
		in.value, in.number = makeElement(r, client, n), r.Intn(10)
	case opXAdd:
		in.value = makeElement(r, client, n)
	case opXRead:
		in.number = r.Intn(40)
	case opXReadNew:
		in.number = 1 + r.Intn(3)
	case opXGroup:
		in.number = r.Intn(2)
	}
	return in
}

func makeWait(r *rand.Rand, f flavour) waitKind {
	switch f {
	case flavourScores:
		return waitKind{verb: waitMin}
	case flavourStreams:
		return waitKind{verb: waitRead + waitVerb(r.Intn(2)), after: newest, most: max(0, r.Intn(6)-2)}
	}
	w := waitKind{verb: waitVerb(r.Intn(int(waitMin))), side: r.Intn(2)}
	w.both = w.verb <= waitRight && r.Intn(2) == 0
	return w
}

// someKeys is a mask for WATCH, of keys that the flavour uses, and sometimes of others.
func someKeys(r *rand.Rand, f flavour) int {
	used := [flavours]int{3 << stringKey, 3 << listKey, 1 << hashKey, 1<<keysPerGroup - 1, 3 << listKey, 1 << zsetKey,
		1 << streamKey}[f]
	if mask := r.Intn(1<<keysPerGroup) & used; mask != 0 {
		return mask
	}
	return 1 + r.Intn(1<<keysPerGroup-1)
}

type recorder struct {
	id   int
	rnd  *rand.Rand
	conn *respConn
	n    int
	seen string // the last value read, which IFEQ is tried with
	// The connection: its number within the round, and commands sent over it in this round.
	session, sent int
	firstGroup    int // of the round
	ops           []porcupine.Operation
}

var nextSession atomic.Int64 // within the round

func (c *recorder) connect() bool {
	if c.conn != nil {
		return true
	}
	conn, err := dial(*addr)
	if err != nil {
		complain("client %d cannot connect: %v", c.id, err)
		return false
	}
	c.conn = conn
	c.session, c.sent = int(nextSession.Add(1)-1), 0
	return true
}

func (c *recorder) draw(group int) input {
	c.n++
	return makeInput(c.rnd, group, c.id, c.n, c.seen)
}

// act is a pipeline or a transaction; false at the end.
func (c *recorder) act(firstGroup int) bool {
	c.firstGroup = firstGroup
	if !c.connect() {
		return false
	}
	if target := c.target(); target != nil && c.rnd.Intn(4) == 0 {
		c.kill(target)
	} else if target != nil {
		c.unblock(target)
	} else if c.rnd.Intn(3) == 0 {
		c.transact(firstGroup + c.rnd.Intn(groupsPerRound))
	} else {
		ins := make([]input, 1+c.rnd.Intn(pipelineMax))
		for i := range ins {
			ins[i] = c.draw(firstGroup + c.rnd.Intn(groupsPerRound))
		}
		c.send(ins)
	}
	return !total.failed.Load()
}

// target is sometimes a popper in the middle of a command.
func (c *recorder) target() *sighting {
	if len(popping) == 0 || c.rnd.Intn(12) > 0 {
		return nil
	}
	s := popping[c.rnd.Intn(len(popping))].under.Load()
	if s == nil || s.group < c.firstGroup { // of the round before
		return nil
	}
	return s
}

// feed provides elements for blocked clients of a group.
func (c *recorder) feed(group int) input {
	c.n++
	in := input{group: group, kind: opPush, value: fmt.Sprintf("%d.%d", c.id, c.n), side: c.rnd.Intn(2)}
	switch flavourOf(group) {
	case flavourScores:
		in.kind, in.number = opZAdd, c.rnd.Intn(10)
	case flavourStreams:
		in.kind = opXAdd
	}
	return in
}

// kill kills a popper that was seen blocked and pushes in the same pipeline: another client must get the element.
func (c *recorder) kill(target *sighting) {
	if target.at.Load() == 0 {
		return
	}
	kill := input{group: target.group, kind: opKill, value: target.client, number: target.session}
	c.send([]input{kill, c.feed(target.group)})
}

// unblock unblocks a popper just before or after it is served, or in the same transaction.
func (c *recorder) unblock(target *sighting) {
	group := target.group
	byError := c.rnd.Intn(2) == 0
	ins := []input{{group: group, kind: opUnblock, value: target.client, number: target.session, right: byError}}
	switch c.rnd.Intn(4) {
	case 0:
		ins = append(ins, c.feed(group))
	case 1:
		ins = append([]input{c.feed(group)}, ins...)
	case 2:
		ins = []input{{group: group, kind: opExec, queued: append([]input{c.feed(group)}, ins...)}}
	}
	c.send(ins)
}

// transact watches, reads, and writes if no other client has: in one pipeline, or with a pause for other clients.
func (c *recorder) transact(group int) {
	first, last := []input{}, input{group: group, kind: opExec}
	for i := c.rnd.Intn(5); i > 0; i-- {
		last.queued = append(last.queued, c.draw(group))
	}
	if f := flavourOf(group); f >= flavourQueues && c.rnd.Intn(3) == 0 {
		last.queued = append(last.queued, input{group: group, kind: opWait, wait: makeWait(c.rnd, f)})
	}
	if c.rnd.Intn(4) > 0 {
		for i := 1 + c.rnd.Intn(2); i > 0; i-- {
			first = append(first, input{group: group, kind: opWatch, number: someKeys(c.rnd, flavourOf(group))})
		}
		for i := c.rnd.Intn(3); i > 0; i-- {
			first = append(first, c.draw(group))
		}
	}
	switch c.rnd.Intn(12) {
	case 0:
		last.kind = opDiscard
	case 1:
		first = append(first, input{group: group, kind: opUnwatch})
	}
	if len(first) > 0 && c.rnd.Intn(3) > 0 {
		if !c.send(first) {
			return
		}
		first = nil
		if c.rnd.Intn(2) == 0 {
			time.Sleep(time.Duration(c.rnd.Intn(2000)) * time.Microsecond)
		}
	}
	c.send(append(first, last))
}

// send writes all operations at once and reads the replies one by one. False if the connection is closed.
func (c *recorder) send(ins []input) bool {
	var bytes []byte
	for i := range ins {
		c.sent++
		ins[i].session, ins[i].turn = c.session, c.sent
		bytes = ins[i].appendTo(bytes)
	}
	call := now()
	err := c.conn.write(bytes)
	answered := 0
	for _, in := range ins {
		op := porcupine.Operation{ClientId: c.id, Input: in, Call: call, Return: unansweredReturn,
			Output: output{unknown: true}}
		if err == nil {
			var v reply
			if v, err = in.readReply(c.conn); err == nil {
				op.Output, op.Return = output{value: v}, now()
				answered++
				if in.kind == opKill && v == int64(0) { // it was closed already
					continue
				}
				c.noteReply(in, v)
			} else {
				c.noteError(in, err)
			}
		}
		if op.Return != unansweredReturn || changesState(in.kind) {
			c.ops = append(c.ops, op)
		}
	}
	total.ops.Add(int64(len(ins)))
	if err != nil {
		total.unanswered.Add(int64(len(ins) - answered))
		c.conn.close()
		c.conn = nil
	}
	return err == nil
}

func (c *recorder) noteReply(in input, v reply) {
	if s, ok := v.(string); ok && in.kind == opGet {
		c.seen = s
	}
	switch {
	case in.kind == opKill:
		killedAt.Store(in.value, now())
		total.kills.Add(1)
	case in.kind == opUnblock && v == int64(1):
		total.unblocked.Add(1)
	}
	if in.kind == opExec {
		total.transactions.Add(1)
		if v == nil {
			total.aborted.Add(1)
		}
	}
}

func (c *recorder) noteError(in input, err error) {
	var bad errProtocol
	if errors.As(err, &bad) {
		complain("client %d: %v", c.id, err)
	} else if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		complain("client %d: no reply to %v", c.id, in)
	}
}
