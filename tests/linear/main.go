// main.go -- checks that the whole server is linearizable.
//
// Clients with pipelines record their commands and replies, while their connections are killed and the server's
// threads, batches and ways of replying change; then a checker searches for an order of the commands that explains
// every reply.
//
//	linear --addr 127.0.0.1:PORT [--seconds N] [--seed S] [--clients N] [--poppers N]
//
// Time is divided into rounds. Each round has its own groups of keys, so that a history is short enough to be checked,
// and is checked while the next one runs. In a group one kind of commands prevails: those of one type, of all types, or
// blocking pops and reads, also ended by CLIENT UNBLOCK; transactions are in all groups.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	groupsPerRound = int(flavours)
	roundLength    = 100 * time.Millisecond
	roundOps       = 150 // maximum of commands of a client in a round
	popperOps      = 40  // and of a blocking client
	pipelineMax    = 6
	checkTimeLimit = 20 * time.Second
)

var (
	addr    = flag.String("addr", "127.0.0.1:6379", "server")
	seconds = flag.Int("seconds", 10, "how long")
	seed    = flag.Int64("seed", 0, "0: from the clock")
	clients = flag.Int("clients", 6, "concurrent clients")
	poppers = flag.Int("poppers", 6, "clients that do blocking pops")
	keep    = flag.String("keep", "", "write a picture of a history that fails to this file (HTML)")
)

var start = time.Now()

func now() int64 { return int64(time.Since(start)) }

// Commands without a reply end after everything else.
const unansweredReturn = int64(1) << 62

type totals struct {
	ops, unanswered, kills, changes, rounds atomic.Int64
	groups, undecided                       atomic.Int64 // histories that were checked, and those without a result

	transactions, aborted            atomic.Int64
	waits, served, timeouts, unknown atomic.Int64 // blocking pops by their end
	seen                             atomic.Int64 // and how many were seen blocked
	unblocked                        atomic.Int64 // by CLIENT UNBLOCK

	failed atomic.Bool
}

var total totals

func complain(format string, args ...interface{}) {
	total.failed.Store(true)
	fmt.Printf("FAILED: "+format+"\n", args...)
}

// checkRound checks the groups of a round one by one.
func checkRound(round int, history []porcupine.Operation) {
	total.rounds.Add(1)
	groups := map[int][]porcupine.Operation{}
	for _, op := range history {
		g := op.Input.(input).group
		groups[g] = append(groups[g], op)
	}
	for g, ops := range groups {
		total.groups.Add(1)
		result, info := checkGroup(ops, checkTimeLimit)
		switch result {
		case porcupine.Illegal:
			complain("round %d, %v: %d commands that no order explains (seed %d)", round, flavourOf(g), len(ops), *seed)
			printHistory(ops)
			keepPicture(info)
		case porcupine.Unknown:
			total.undecided.Add(1)
			fmt.Printf("round %d, %v: not decided within %v, %d commands\n", round, flavourOf(g), checkTimeLimit, len(ops))
		}
	}
}

// printHistory prints the commands of a history that fails, in the order in which they were sent.
func printHistory(ops []porcupine.Operation) {
	sorted := append([]porcupine.Operation(nil), ops...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Call < sorted[j].Call })
	for _, op := range sorted {
		in := op.Input.(input)
		fmt.Printf("  %9d to %9d us  session %d, turn %d: %s%s\n", op.Call/1000, op.Return/1000, in.session, in.turn,
			describe(op.Input, op.Output), map[bool]string{true: " (seen blocked)"}[in.seen])
	}
}

func keepPicture(info porcupine.LinearizationInfo) {
	if *keep == "" {
		return
	}
	if f, err := os.Create(*keep); err == nil {
		_ = porcupine.Visualize(groupModel, info, f)
		_ = f.Close()
		fmt.Println("a picture of it is in", *keep)
	}
}

// Reads the contents of each group after the round, by a client that was not part of it.
func readAll(firstGroup int) []porcupine.Operation {
	conn, err := dial(*addr)
	if err != nil {
		complain("the last reader cannot connect: %v", err)
		return nil
	}
	defer func() { conn.close() }()
	session := int(nextSession.Add(1) - 1)
	var ops []porcupine.Operation
	for turn := 0; turn < groupsPerRound*len(readEach); {
		in := readEach[turn%len(readEach)]
		in.group, in.session, in.turn = firstGroup+turn/len(readEach), session, turn+1
		op := porcupine.Operation{ClientId: *clients + *poppers, Input: in, Call: now()}
		v, err := conn.do(in.words()...)
		if err != nil { // killed; a read without a reply changes nothing
			conn.close()
			if conn, err = dial(*addr); err != nil {
				complain("the last reader cannot connect: %v", err)
				return ops
			}
			continue
		}
		op.Return, op.Output = now(), output{value: v}
		ops = append(ops, op)
		turn++
	}
	return ops
}

var readEach = []input{{kind: opMGet}, {kind: opRange}, {kind: opRange, side: 1}, {kind: opHGetAll}, {kind: opZRange},
	{kind: opXRange}}

// Creates the consumer group of each stream before a round begins.
func makeStreams(firstGroup int) {
	conn, err := dial(*addr)
	if err != nil {
		complain("the maker of streams cannot connect: %v", err)
		return
	}
	defer func() { conn.close() }()
	for g := firstGroup; g < firstGroup+groupsPerRound; {
		v, err := conn.do(input{group: g, kind: opXGroup}.words()...)
		if _, refused := v.(replyError); err == nil && (v == "OK" || refused) { // refused: it was killed after the first time
			g++
			continue
		}
		conn.close()
		if conn, err = dial(*addr); err != nil {
			complain("the maker of streams cannot connect: %v", err)
			return
		}
	}
}

// Runs one round: all clients until the time is up or the recorders have done enough; returns their common history.
func playRound(round int, all []*recorder) []porcupine.Operation {
	firstGroup := round * groupsPerRound
	makeStreams(firstGroup)
	nextSession.Store(int64(len(all) + len(popping)))
	deadline := time.Now().Add(roundLength)
	slow := round%3 == 0 // few commands, so that pops more often find nothing
	var recording, waiting sync.WaitGroup
	var over atomic.Bool
	for i, c := range all {
		c.ops, c.session, c.sent = nil, i, 0
		recording.Add(1)
		go func(c *recorder) {
			defer recording.Done()
			for time.Now().Before(deadline) && len(c.ops) < roundOps && c.act(firstGroup) {
				if slow {
					time.Sleep(time.Duration(c.rnd.Intn(5000)) * time.Microsecond)
				}
			}
		}(c)
	}
	for i, p := range popping {
		p.ops, p.session, p.sent = nil, len(all)+i, 0
		p.choose(firstGroup)
		waiting.Add(1)
		go func(p *popper) {
			defer waiting.Done()
			for !over.Load() && len(p.ops) < popperOps && p.act() {
			}
		}(p)
	}
	recording.Wait()
	over.Store(true)
	waiting.Wait()
	var history []porcupine.Operation
	for _, c := range all {
		history = append(history, c.ops...)
	}
	for _, p := range popping {
		history = append(history, p.ops...)
	}
	endSooner(history)
	return append(history, readAll(firstGroup)...)
}

func playAll(rnd *rand.Rand, jobs chan<- job) {
	all := make([]*recorder, *clients)
	popping = make([]*popper, *poppers)
	for i := range all {
		all[i] = &recorder{id: i, rnd: rand.New(rand.NewSource(rnd.Int63()))}
	}
	for i := range popping {
		popping[i] = &popper{recorder: recorder{id: *clients + i, rnd: rand.New(rand.NewSource(rnd.Int63()))}}
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Add(2)
	go disturb(stop, rand.New(rand.NewSource(rnd.Int63())), &others)
	go spot(stop, &others)
	deadline := time.Now().Add(time.Duration(*seconds) * time.Second)
	for round := 0; time.Now().Before(deadline) && !total.failed.Load(); round++ {
		jobs <- job{round, playRound(round, all)}
	}
	close(stop)
	others.Wait()
	close(jobs)
}

type job struct {
	round   int
	history []porcupine.Operation
}

func main() {
	flag.Parse()
	if *seed == 0 {
		*seed = time.Now().UnixNano() % 1000000007
	}
	if *clients < 1 || *seconds < 1 || *poppers < 0 {
		flag.Usage()
		os.Exit(2)
	}
	jobs := make(chan job, 4)
	var checker sync.WaitGroup
	checker.Add(1)
	go func() {
		defer checker.Done()
		for j := range jobs {
			checkRound(j.round, j.history)
		}
	}()
	playAll(rand.New(rand.NewSource(*seed)), jobs)
	checker.Wait()
	fmt.Printf("%d commands in %d rounds, %d without a reply, %d kills, %d settings changed, %d of %d histories undecided "+
		"(seed %d)\n", total.ops.Load(), total.rounds.Load(), total.unanswered.Load(), total.kills.Load(),
		total.changes.Load(), total.undecided.Load(), total.groups.Load(), *seed)
	fmt.Printf("%d transactions, %d aborted; %d blocking pops: %d served, %d not, %d without a reply, %d seen waiting, "+
		"%d unblocked\n",
		total.transactions.Load(), total.aborted.Load(), total.waits.Load(), total.served.Load(),
		total.timeouts.Load(), total.unknown.Load(), total.seen.Load(), total.unblocked.Load())
	switch {
	case total.failed.Load():
		os.Exit(1)
	case total.undecided.Load()*10 > total.groups.Load():
		fmt.Println("FAILED: too many histories were not decided")
		os.Exit(1)
	}
	fmt.Println("linearizable")
}
