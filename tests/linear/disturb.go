// disturb.go -- disturbances of the server and of its clients' connections.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Changes threads, batches and ways of replying of the server, and kills clients.
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
		switch r.Intn(8) {
		case 0:
			words = []string{"CONFIG", "SET", "io-threads", strconv.Itoa(1 + r.Intn(4))}
		case 1:
			words = []string{"CONFIG", "SET", "io-threads-always-active", yesNo[r.Intn(2)]}
		case 2:
			words = []string{"CONFIG", "SET", "prefetch-batch-max-size", []string{"0", "1", "2", "16", "128"}[r.Intn(5)]}
		case 3:
			words = []string{"CONFIG", "SET", "io-threads-reply-offload", yesNo[r.Intn(2)]}
		case 4:
			words = []string{"CONFIG", "SET", "main-role", []string{"auto", "move", "keep"}[r.Intn(3)]}
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
		endOne(conn, r)
	}
}

// The time of the reply of the CLIENT KILL that closed a client, by the client's id: none of its commands can take
// effect after that.
var killedAt sync.Map

// clientLines is CLIENT LIST; nil if it is not available.
func clientLines(conn *respConn) []string {
	v, err := conn.do("CLIENT", "LIST")
	text, ok := v.(string)
	if err != nil || !ok {
		return nil
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}

func idOf(line string) string { return strings.TrimPrefix(strings.Fields(line)[0], "id=") }

// endOne kills a random client.
func endOne(conn *respConn, r *rand.Rand) {
	lines := clientLines(conn)
	mine, err := conn.do("CLIENT", "ID")
	if lines == nil || err != nil {
		complain("CLIENT LIST or CLIENT ID: %v", err)
		return
	}
	id := idOf(lines[r.Intn(len(lines))])
	if id == fmt.Sprint(mine) {
		return
	}
	killed, err := conn.do("CLIENT", "KILL", "ID", id)
	if err != nil {
		complain("CLIENT KILL: %v", err)
	}
	if killed == int64(1) {
		killedAt.Store(id, now())
		total.kills.Add(1)
	}
}

// spot polls for blocked clients: a client that is seen blocked during a command has arrived.
func spot(stop <-chan struct{}, done *sync.WaitGroup) {
	defer done.Done()
	var conn *respConn
	for {
		select {
		case <-stop:
			if conn != nil {
				conn.close()
			}
			return
		case <-time.After(time.Millisecond):
		}
		if conn == nil {
			var err error
			if conn, err = dial(*addr); err != nil {
				complain("the spotter cannot connect: %v", err)
				return
			}
		}
		if !spotOnce(conn) { // killed, as others are
			conn.close()
			conn = nil
		}
	}
}

func spotOnce(conn *respConn) bool {
	before := make([]*sighting, len(popping))
	for i, p := range popping {
		before[i] = p.under.Load()
	}
	lines := clientLines(conn)
	if lines == nil {
		return false
	}
	at := now()
	waits := map[string]bool{}
	for _, line := range lines {
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "flags=") && strings.Contains(word, "b") {
				waits[idOf(line)] = true
			}
		}
	}
	for _, s := range before {
		if s != nil && waits[s.client] {
			s.at.CompareAndSwap(0, at)
		}
	}
	return true
}
