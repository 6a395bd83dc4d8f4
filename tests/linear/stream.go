// stream.go -- XADD, XREAD and XREADGROUP in the model.
//
// A group of keys has one stream with one consumer group "g". Entries are numbered: all are added as 0-*, so the n-th
// has the ID 0-n and a reply says how many there are. What a consumer group has given out is the number of its last
// entry; who asks for new ones gets what is behind it, so an entry comes to exactly one consumer. XREAD takes nothing
// away: who waits with it gets all that is behind the ID it asked for when it is served, and "$" is the last ID when it
// arrives.
//
// Who watches the key watches its entries: what changes the group alone does not count.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"strconv"
	"strings"
)

// streamState: zero is what each round begins with, a stream without entries and a group that has seen nothing.
type streamState struct {
	entries   string // each with a newline behind it; the first has number 1
	added     int
	delivered int // number of the last entry that the group has given out
	noGroup   bool
}

const newest = -1 // for waitKind.after: "$"

var noGroup = replyError("NOGROUP")

func entryID(number int) string { return "0-" + strconv.Itoa(number) }

// entries are those behind the one with number `after`, at most `most` unless that is 0.
func (s *streamState) behind(after, most int) []reply {
	all := elements(s.entries)
	if after > len(all) {
		after = len(all)
	}
	all = all[after:]
	if most > 0 && most < len(all) {
		all = all[:most]
	}
	found := make([]reply, len(all))
	for i, value := range all {
		found[i] = []reply{entryID(after + 1 + i), []reply{"f", value}}
	}
	return found
}

func ofStream(entries []reply) reply {
	if len(entries) == 0 {
		return nil
	}
	return []reply{[]reply{keyReply(streamKey), entries}}
}

// readNew gives entries to a consumer of the group.
func (c *change) readNew(most int) reply {
	if c.stream.noGroup {
		return noGroup
	}
	given := c.stream.behind(c.stream.delivered, most)
	c.stream.delivered += len(given)
	return ofStream(given)
}

func (c *change) streamCommand(in input) reply {
	s := &c.stream
	switch in.kind {
	case opXAdd:
		s.entries += in.value + "\n"
		s.added++
		c.touch(streamKey)
		c.becameReady(streamKey)
		return entryID(s.added)
	case opXLen:
		return int64(s.added)
	case opXRange:
		return s.behind(0, 0)
	case opXRead:
		return ofStream(s.behind(in.number, 0))
	case opXReadNew:
		return c.readNew(in.number)
	case opXDestroy: // those who wait for the group are told
		if s.added == 0 && s.noGroup {
			return int64(0)
		}
		*s = streamState{noGroup: true}
		c.touch(streamKey)
		c.becameReady(streamKey)
		return int64(1)
	case opXGroup:
		if !s.noGroup {
			return replyError("BUSYGROUP")
		}
		s.noGroup, s.delivered = false, in.number*s.added
		if s.added == 0 { // the stream comes with it
			c.touch(streamKey)
		}
		return "OK"
	}
	panic("no such kind")
}

func (in input) streamWords() []string {
	k := keyName(in.group, streamKey)
	switch in.kind {
	case opXAdd:
		return []string{"XADD", k, "0-*", "f", in.value}
	case opXLen:
		return []string{"XLEN", k}
	case opXRange:
		return []string{"XRANGE", k, "-", "+"}
	case opXRead:
		return []string{"XREAD", "STREAMS", k, entryID(in.number)}
	case opXReadNew:
		words := []string{"XREADGROUP", "GROUP", "g", "c", "COUNT", strconv.Itoa(in.number)}
		return append(words, "STREAMS", k, ">")
	case opXDestroy:
		return []string{"DEL", k}
	case opXGroup:
		return []string{"XGROUP", "CREATE", k, "g", []string{"0", "$"}[in.number], "MKSTREAM"}
	}
	panic("no such kind")
}

func (w waitKind) streamWords(group int, timeoutMs string) []string {
	words, from := []string{"XREAD"}, ">"
	if w.verb == waitNew {
		words = []string{"XREADGROUP", "GROUP", "g", "c"}
	} else if from = "$"; w.after != newest {
		from = entryID(w.after)
	}
	if w.most > 0 {
		words = append(words, "COUNT", strconv.Itoa(w.most))
	}
	return append(words, "BLOCK", timeoutMs, "STREAMS", keyName(group, streamKey), from)
}

// nameKeys puts the number for the name of the stream into the reply of XREAD and XREADGROUP, and makes errors short.
func (in input) nameKeys(v reply) reply {
	switch v := v.(type) {
	case replyError:
		for _, word := range []string{"NOGROUP", "BUSYGROUP", "UNBLOCKED"} {
			if strings.HasPrefix(string(v), word) {
				return replyError(word)
			}
		}
	case []reply:
		if len(v) == 1 {
			if one, ok := v[0].([]reply); ok && len(one) == 2 && one[0] == keyName(in.group, streamKey) {
				one[0] = keyReply(streamKey)
			}
		}
	}
	return v
}

// lastNumber is that of the last entry in a reply; 0 if there is none.
func lastNumber(v reply) int {
	all, ok := v.([]reply)
	for ok && len(all) > 0 {
		last := all[len(all)-1]
		if id, isID := all[0].(string); isID && strings.HasPrefix(id, "0-") {
			n, _ := strconv.Atoi(id[2:])
			return n
		}
		all, ok = last.([]reply)
	}
	return 0
}
