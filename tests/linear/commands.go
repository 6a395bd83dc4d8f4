// commands.go -- the operations of the model: encoding, random choice, and text for people.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

type opKind int

// Strings, lists, the hash, the sorted set, the stream: the kinds of each type are contiguous, as command() requires.
const (
	opGet opKind = iota
	opSet
	opSetNX
	opSetXX
	opSetIfEq
	opSetGet
	opGetSet
	opGetDel
	opAppend
	opIncr
	opSetRange
	opDel
	opStrlen
	opMSet
	opMGet
	opDelBoth

	opPush
	opPop
	opLen
	opRange
	opMove
	opListSet
	opListDel

	opHSet
	opHSetNX
	opHGet
	opHDel
	opHIncr
	opHGetAll
	opHLen

	opZAdd
	opZPop
	opZRange

	opXAdd
	opXLen
	opXRange
	opXRead
	opXReadNew
	opXDestroy
	opXGroup

	opWatch
	opUnwatch
	opExec
	opDiscard
	opWait
	opWaitEnd
	opKill
	opUnblock
)

var kindNames = [...]string{"GET", "SET", "SET NX", "SET XX", "SET IFEQ", "SET GET", "GETSET", "GETDEL", "APPEND",
	"INCR", "SETRANGE", "DEL", "STRLEN", "MSET", "MGET", "DEL both", "PUSH", "POP", "LLEN", "LRANGE", "LMOVE", "LSET",
	"DEL list", "HSET", "HSETNX", "HGET", "HDEL", "HINCRBY", "HGETALL", "HLEN", "ZADD", "ZPOPMIN", "ZRANGE", "XADD",
	"XLEN", "XRANGE", "XREAD", "XREADGROUP", "DEL stream", "XGROUP CREATE", "WATCH", "UNWATCH", "EXEC", "DISCARD", "waits",
	"has waited", "CLIENT KILL", "CLIENT UNBLOCK"}

// A command without a reply that changes nothing is left out of a history.
func changesState(k opKind) bool {
	switch k {
	case opGet, opStrlen, opMGet, opLen, opRange, opHGet, opHGetAll, opHLen, opZRange, opXLen, opXRange, opXRead:
		return false
	}
	return true
}

func fieldName(i int) string { return fmt.Sprint("f", i) }

func keyName(group, key int) string { return fmt.Sprintf("linear:{%d}:%d", group, key) }

func end(right bool) string {
	if right {
		return "RIGHT"
	}
	return "LEFT"
}

func (in input) words() []string {
	switch {
	case in.kind < opPush:
		return in.stringWords()
	case in.kind < opHSet:
		return in.listWords()
	case in.kind < opZAdd:
		return in.hashWords()
	case in.kind >= opXAdd && in.kind < opWatch:
		return in.streamWords()
	}
	zset := keyName(in.group, zsetKey)
	switch in.kind {
	case opZAdd:
		return []string{"ZADD", zset, strconv.Itoa(in.number), in.value}
	case opZPop:
		return []string{"ZPOPMIN", zset}
	case opZRange:
		return []string{"ZRANGE", zset, "0", "-1"}
	case opWatch:
		words := []string{"WATCH"}
		for mask := uint(in.number); mask != 0; mask &= mask - 1 {
			words = append(words, keyName(in.group, bits.TrailingZeros(mask)))
		}
		return words
	case opUnwatch:
		return []string{"UNWATCH"}
	case opWait:
		return in.wait.words(in.group, 50)
	case opKill:
		return []string{"CLIENT", "KILL", "ID", in.value}
	case opUnblock:
		how := "TIMEOUT"
		if in.right {
			how = "ERROR"
		}
		return []string{"CLIENT", "UNBLOCK", in.value, how}
	}
	panic("no such kind")
}

func (w waitKind) words(group, timeoutMs int) []string {
	if w.verb >= waitRead {
		return w.streamWords(group, strconv.Itoa(timeoutMs))
	}
	timeout := fmt.Sprintf("0.%03d", timeoutMs)
	first, second := keyName(group, listKey+w.side), keyName(group, listKey+1-w.side)
	switch w.verb {
	case waitMin:
		return []string{"BZPOPMIN", keyName(group, zsetKey), timeout}
	case waitMove:
		return []string{"BLMOVE", first, second, "LEFT", "RIGHT", timeout}
	}
	words := []string{[]string{"BLPOP", "BRPOP"}[w.verb], first}
	if w.both {
		words = append(words, second)
	}
	return append(words, timeout)
}

func (in input) stringWords() []string {
	k := keyName(in.group, stringKey+in.side)
	switch in.kind {
	case opGet, opStrlen, opGetDel, opIncr, opDel:
		return []string{kindNames[in.kind], k}
	case opSet, opAppend, opGetSet:
		return []string{kindNames[in.kind], k, in.value}
	case opSetNX:
		return []string{"SET", k, in.value, "NX"}
	case opSetXX:
		return []string{"SET", k, in.value, "XX"}
	case opSetIfEq:
		return []string{"SET", k, in.value, "IFEQ", in.other}
	case opSetGet:
		return []string{"SET", k, in.value, "GET"}
	case opSetRange:
		return []string{"SETRANGE", k, strconv.Itoa(in.number), in.value}
	case opMSet:
		return []string{"MSET", keyName(in.group, 0), in.value, keyName(in.group, 1), in.other}
	case opMGet:
		return []string{"MGET", keyName(in.group, 0), keyName(in.group, 1)}
	case opDelBoth:
		return []string{"DEL", keyName(in.group, 0), keyName(in.group, 1)}
	}
	panic("no such kind")
}

func (in input) listWords() []string {
	k := keyName(in.group, listKey+in.side)
	switch in.kind {
	case opPush:
		return append([]string{end(in.right)[:1] + "PUSH", k}, strings.Fields(in.value)...)
	case opPop:
		return []string{end(in.right)[:1] + "POP", k}
	case opLen:
		return []string{"LLEN", k}
	case opRange:
		return []string{"LRANGE", k, "0", "-1"}
	case opMove:
		return []string{"LMOVE", k, keyName(in.group, listKey+1-in.side), end(in.right), end(in.toRight)}
	case opListSet:
		return []string{"LSET", k, strconv.Itoa(in.number), in.value}
	case opListDel:
		return []string{"DEL", k}
	}
	panic("no such kind")
}

func (in input) hashWords() []string {
	k, f := keyName(in.group, hashKey), fieldName(in.number)
	switch in.kind {
	case opHSet:
		return []string{"HSET", k, f, in.value, fieldName((in.number + 1) % hashFields), in.other}
	case opHSetNX:
		return []string{"HSETNX", k, f, in.value}
	case opHGet, opHDel:
		return []string{kindNames[in.kind], k, f}
	case opHIncr:
		return []string{"HINCRBY", k, f, "1"}
	case opHGetAll, opHLen:
		return []string{kindNames[in.kind], k}
	}
	panic("no such kind")
}

// appendTo writes all commands of an operation.
func (in input) appendTo(bytes []byte) []byte {
	if in.kind != opExec && in.kind != opDiscard {
		return appendCommand(bytes, in.words()...)
	}
	bytes = appendCommand(bytes, "MULTI")
	for _, q := range in.queued {
		bytes = appendCommand(bytes, q.words()...)
	}
	return appendCommand(bytes, kindNames[in.kind])
}

// readReply reads the reply of an operation: of a transaction the reply of EXEC or DISCARD.
func (in input) readReply(conn *respConn) (reply, error) {
	if in.kind == opExec || in.kind == opDiscard {
		for i := 0; i <= len(in.queued); i++ {
			want := "QUEUED"
			if i == 0 {
				want = "OK"
			}
			if v, err := conn.read(); err != nil {
				return nil, err
			} else if v != want {
				return nil, errProtocol{fmt.Sprintf("%v, not %s, while %v is queued", v, want, describe(in, output{}))}
			}
		}
	}
	v, err := conn.read()
	return in.withKeys(v), err
}

// withKeys replaces the names of keys in the replies of blocking pops by numbers.
func (in input) withKeys(v reply) reply {
	v = in.nameKeys(v)
	all, isArray := v.([]reply)
	switch {
	case !isArray:
	case (in.kind == opWait || in.kind == opWaitEnd) && len(all) > 1:
		for key := 0; key < keysPerGroup; key++ {
			if all[0] == keyName(in.group, key) {
				all[0] = keyReply(key)
			}
		}
	case in.kind == opExec && len(all) == len(in.queued):
		for i, q := range in.queued {
			all[i] = q.withKeys(all[i])
		}
	}
	return v
}

func short(r reply) string {
	switch v := r.(type) {
	case nil:
		return "nil"
	case string:
		if len(v) > 12 {
			return fmt.Sprintf("%q..(%d)", v[:12], len(v))
		}
		return fmt.Sprintf("%q", v)
	case []reply:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = short(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprint(r)
}

func (in input) String() string {
	switch in.kind {
	case opExec, opDiscard:
		parts := []string{"MULTI"}
		for _, q := range in.queued {
			parts = append(parts, q.String())
		}
		return strings.Join(append(parts, kindNames[in.kind]), "; ")
	case opWait:
		return fmt.Sprintf("%v %s", in.wait, kindNames[in.kind])
	case opWaitEnd:
		return fmt.Sprintf("%v %s", in.wait, kindNames[in.kind])
	}
	words := in.words()
	for i := range words {
		words[i] = strings.TrimPrefix(words[i], fmt.Sprintf("linear:{%d}:", in.group))
		if len(words[i]) > 20 {
			words[i] = fmt.Sprintf("%s..(%d)", words[i][:12], len(words[i]))
		}
	}
	return strings.Join(words, " ")
}

func describe(in, out interface{}) string {
	i, o := in.(input), out.(output)
	if o.unknown {
		return i.String() + " -> ?"
	}
	return i.String() + " -> " + short(o.value)
}

func describeState(s groupState) string {
	text := fmt.Sprintf("%s, %s; lists %s, %s; hash", short(s.text[0].reply()), short(s.text[1].reply()),
		short(elements(s.list[0])), short(elements(s.list[1])))
	for _, f := range s.hash {
		text += " " + short(f.reply())
	}
	text += "; " + short(elements(s.zset))
	if s.stream != (streamState{}) {
		text += fmt.Sprintf("; stream of %d, group at %d (%v)", s.stream.added, s.stream.delivered, !s.stream.noGroup)
	}
	for session, w := range []byte(s.watches) {
		if w != 0 {
			text += fmt.Sprintf("; %d watches %b", session, w)
		}
	}
	for at := 0; at < len(s.waiting); {
		var w waiter
		w, at = waiterAt(s.waiting, at)
		text += fmt.Sprintf("; %d in %v", w.session, w.wait)
		if w.unblocked {
			text += ", unblocked"
		}
	}
	return text
}
