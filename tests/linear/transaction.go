// transaction.go -- WATCH, MULTI and EXEC in the model.
//
// WATCH is one operation, the reads after it are others, and everything from MULTI to EXEC is one more: it is applied
// as a whole, or replies null. The state has for each session the keys that it watches and whether one of them has been
// written since, so only one reply of EXEC is right: a transaction that aborts without a write in between is as wrong
// as one that loses an update.
//
// A write is any change of a key, even to the same value; DEL of an absent key is none.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import "strings"

// A session's byte in `watches`: a bit for each key, and whether one of them has changed.
const watchBroken = 1 << keysPerGroup

// setWatch stores a session's byte; trailing zeros are removed, so that equal states are equal strings.
func (c *change) setWatch(session int, now byte) {
	bytes := []byte(c.watches)
	for len(bytes) <= session {
		bytes = append(bytes, 0)
	}
	bytes[session] = now
	c.watches = strings.TrimRight(string(bytes), "\x00")
}

func (c *change) watched(session int) byte {
	if session < len(c.watches) {
		return c.watches[session]
	}
	return 0
}

func (c *change) watch(in input) reply {
	c.setWatch(in.session, c.watched(in.session)|byte(in.number))
	return "OK"
}

func (c *change) unwatch(in input) reply {
	c.setWatch(in.session, 0)
	return "OK"
}

// touch notes for sessions that watch a key that it was written.
func (c *change) touch(key int) {
	for session := range c.watches {
		if w := c.watches[session]; w&(1<<key) != 0 && w&watchBroken == 0 {
			c.setWatch(session, w|watchBroken)
		}
	}
}

func (c *change) exec(in input) reply {
	broken := c.watched(in.session)&watchBroken != 0
	c.setWatch(in.session, 0)
	if broken {
		return nil
	}
	replies := make([]reply, len(in.queued))
	for i, q := range in.queued {
		if q.kind == opWait { // commands do not block in a transaction
			replies[i] = c.take(q.wait)
		} else {
			replies[i] = c.command(q)
		}
	}
	return replies
}
