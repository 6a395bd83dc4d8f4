// main.go -- is the whole server linearizable?
//
// Clients with pipelines write down what they asked and what they got, while their connections are killed and the
// server's threads, batches and ways of replying change; then a checker looks for an order of the commands that
// explains every reply.
//
//	linear --addr 127.0.0.1:PORT [--seconds N] [--seed S] [--clients N]
//
// Time is cut into rounds. Each round has pairs of keys of its own, so that a history stays short enough to be checked,
// and is checked while the next one runs.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	pairsPerRound  = 4
	roundLength    = 100 * time.Millisecond
	roundOps       = 120 // most commands of a client in a round
	pipelineMax    = 6
	checkTimeLimit = 20 * time.Second
)

var (
	addr    = flag.String("addr", "127.0.0.1:6379", "server")
	seconds = flag.Int("seconds", 10, "how long")
	seed    = flag.Int64("seed", 0, "0: from the clock")
	clients = flag.Int("clients", 6, "concurrent clients")
	keep    = flag.String("keep", "", "write a picture of a history that fails to this file (HTML)")
)

var start = time.Now()

func now() int64 { return int64(time.Since(start)) }

// Unanswered commands end when all is over.
const unansweredReturn = int64(1) << 62

type totals struct {
	ops, unanswered, kills, changes, rounds, undecided atomic.Int64

	failed atomic.Bool
}

var total totals

func complain(format string, args ...interface{}) {
	total.failed.Store(true)
	fmt.Printf("FAILED: "+format+"\n", args...)
}

// A value that says who wrote it, of 0 to 4 KB: large enough often enough to be replied by reference.
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

func makeInput(r *rand.Rand, pair, client, n int, seen string) input {
	in := input{pair: pair, kind: opKind(r.Intn(int(opKinds))), side: r.Intn(2)}
	if r.Intn(3) == 0 {
		in.kind = opGet
	}
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
		in.value, in.offset = fmt.Sprintf("<%d.%d>", client, n), r.Intn(600)
	}
	return in
}

type recorder struct {
	id   int
	rnd  *rand.Rand
	conn *respConn
	n    int
	seen string // the last value read: what IFEQ is tried with
	// The connection: its number within the round, and commands sent over it in this round.
	session, sent int
	ops           []porcupine.Operation
}

var nextSession atomic.Int64 // within the round

// One pipeline: written at once, replies read one by one. False when the connection is gone.
func (c *recorder) pipeline(firstPair int) bool {
	if c.conn == nil {
		conn, err := dial(*addr)
		if err != nil {
			complain("client %d cannot connect: %v", c.id, err)
			return false
		}
		c.conn = conn
		c.session, c.sent = int(nextSession.Add(1)-1), 0
	}
	count := 1 + c.rnd.Intn(pipelineMax)
	ins := make([]input, count)
	var bytes []byte
	for i := range ins {
		c.n++
		c.sent++
		ins[i] = makeInput(c.rnd, firstPair+c.rnd.Intn(pairsPerRound), c.id, c.n, c.seen)
		ins[i].session, ins[i].number = c.session, c.sent
		bytes = appendCommand(bytes, ins[i].words()...)
	}
	call := now()
	err := c.conn.write(bytes)
	answered := 0
	for i := range ins {
		op := porcupine.Operation{ClientId: c.id, Input: ins[i], Call: call, Return: unansweredReturn,
			Output: output{unknown: true}}
		if err == nil {
			var v reply
			if v, err = c.conn.read(); err == nil {
				op.Output, op.Return = output{value: v}, now()
				answered++
				if s, ok := v.(string); ok && s != "OK" {
					c.seen = s
				}
			} else {
				var bad errProtocol
				if errors.As(err, &bad) {
					complain("client %d: %v", c.id, err)
				} else if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
					complain("client %d: no reply to %v", c.id, describe(ins[i], output{unknown: true}))
				}
			}
		}
		if op.Return != unansweredReturn || changesState(ins[i].kind) {
			c.ops = append(c.ops, op)
		}
	}
	total.ops.Add(int64(count))
	if err != nil {
		total.unanswered.Add(int64(count - answered))
		c.conn.close()
		c.conn = nil
	}
	return !total.failed.Load()
}

// The threads, batches and ways of replying of the server, and who lives.
func disturb(stop <-chan struct{}, r *rand.Rand, done *sync.WaitGroup) {
	defer done.Done()
	conn, err := dial(*addr)
	if err != nil {
		complain("the disturber cannot connect: %v", err)
		return
	}
	defer conn.close()
	yesNo := []string{"yes", "no"}
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(1+r.Intn(20)) * time.Millisecond):
		}
		var words []string
		switch r.Intn(6) {
		case 0:
			words = []string{"CONFIG", "SET", "io-threads", strconv.Itoa(1 + r.Intn(4))}
		case 1:
			words = []string{"CONFIG", "SET", "io-threads-always-active", yesNo[r.Intn(2)]}
		case 2:
			words = []string{"CONFIG", "SET", "prefetch-batch-max-size", []string{"0", "1", "2", "16", "128"}[r.Intn(5)]}
		case 3:
			words = []string{"CONFIG", "SET", "io-threads-reply-offload", yesNo[r.Intn(2)]}
		default:
			words = nil
		}
		if words != nil {
			v, err := conn.do(words...)
			if err != nil {
				complain("%v: %v", words, err)
				return
			}
			if _, bad := v.(replyError); bad && !strings.Contains(fmt.Sprint(v), "Unknown option") {
				complain("%v: %v", words, v)
				return
			}
			total.changes.Add(1)
			continue
		}
		killOne(conn, r)
	}
}

func killOne(conn *respConn, r *rand.Rand) {
	v, err := conn.do("CLIENT", "LIST")
	text, ok := v.(string)
	if err != nil || !ok {
		complain("CLIENT LIST: %v %v", v, err)
		return
	}
	mine, err := conn.do("CLIENT", "ID")
	if err != nil {
		complain("CLIENT ID: %v", err)
		return
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	id := strings.TrimPrefix(strings.Fields(lines[r.Intn(len(lines))])[0], "id=")
	if id == fmt.Sprint(mine) {
		return
	}
	if _, err := conn.do("CLIENT", "KILL", "ID", id); err != nil {
		complain("CLIENT KILL: %v", err)
	}
	total.kills.Add(1)
}

func check(round int, history []porcupine.Operation) {
	result, info := porcupine.CheckOperationsVerbose(pairModel, history, checkTimeLimit)
	total.rounds.Add(1)
	switch result {
	case porcupine.Illegal:
		complain("round %d: %d commands that no order explains (seed %d)", round, len(history), *seed)
		if *keep != "" {
			if f, err := os.Create(*keep); err == nil {
				_ = porcupine.Visualize(pairModel, info, f)
				_ = f.Close()
				fmt.Println("a picture of it is in", *keep)
			}
		}
	case porcupine.Unknown:
		total.undecided.Add(1)
		fmt.Printf("round %d: not decided within %v, %d commands\n", round, checkTimeLimit, len(history))
	}
}

// What each pair holds when the round is over, seen by a client that was not part of it.
func readAll(firstPair int) []porcupine.Operation {
	conn, err := dial(*addr)
	if err != nil {
		complain("the last reader cannot connect: %v", err)
		return nil
	}
	defer func() { conn.close() }()
	session := int(nextSession.Add(1) - 1)
	var ops []porcupine.Operation
	for p := 0; p < pairsPerRound; {
		in := input{pair: firstPair + p, kind: opMGet, session: session, number: p + 1}
		op := porcupine.Operation{ClientId: *clients, Input: in, Call: now()}
		v, err := conn.do(in.words()...)
		if err != nil { // killed; a read that is not answered changes nothing
			conn.close()
			if conn, err = dial(*addr); err != nil {
				complain("the last reader cannot connect: %v", err)
				return ops
			}
			continue
		}
		op.Return, op.Output = now(), output{value: v}
		ops = append(ops, op)
		p++
	}
	return ops
}

// One round: all clients until the time is over or they have done enough; their common history.
func playRound(round int, all []*recorder) []porcupine.Operation {
	firstPair := round * pairsPerRound
	nextSession.Store(int64(len(all)))
	end := time.Now().Add(roundLength)
	var done sync.WaitGroup
	for i, c := range all {
		c.ops, c.session, c.sent = nil, i, 0
		done.Add(1)
		go func(c *recorder) {
			defer done.Done()
			for time.Now().Before(end) && len(c.ops) < roundOps && c.pipeline(firstPair) {
			}
		}(c)
	}
	done.Wait()
	var history []porcupine.Operation
	for _, c := range all {
		history = append(history, c.ops...)
	}
	return append(history, readAll(firstPair)...)
}

func main() {
	flag.Parse()
	if *seed == 0 {
		*seed = time.Now().UnixNano() % 1000000007
	}
	if *clients < 1 || *seconds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	rnd := rand.New(rand.NewSource(*seed))
	all := make([]*recorder, *clients)
	for i := range all {
		all[i] = &recorder{id: i, rnd: rand.New(rand.NewSource(rnd.Int63()))}
	}
	stop := make(chan struct{})
	var disturber, checker sync.WaitGroup
	disturber.Add(1)
	go disturb(stop, rand.New(rand.NewSource(rnd.Int63())), &disturber)

	type job struct {
		round   int
		history []porcupine.Operation
	}
	jobs := make(chan job, 4)
	checker.Add(1)
	go func() {
		defer checker.Done()
		for j := range jobs {
			check(j.round, j.history)
		}
	}()
	end := time.Now().Add(time.Duration(*seconds) * time.Second)
	for round := 0; time.Now().Before(end) && !total.failed.Load(); round++ {
		jobs <- job{round, playRound(round, all)}
	}
	close(stop)
	disturber.Wait()
	close(jobs)
	checker.Wait()
	fmt.Printf("%d commands in %d rounds, %d without a reply, %d kills, %d settings changed, %d rounds undecided "+
		"(seed %d)\n", total.ops.Load(), total.rounds.Load(), total.unanswered.Load(), total.kills.Load(),
		total.changes.Load(), total.undecided.Load(), *seed)
	switch {
	case total.failed.Load():
		os.Exit(1)
	case total.undecided.Load()*10 > total.rounds.Load():
		fmt.Println("FAILED: too many rounds were not decided")
		os.Exit(1)
	}
	fmt.Println("linearizable")
}
