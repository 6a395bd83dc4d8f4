// resp_test.go -- what is no RESP is told from a connection that is gone, which is no fault.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"errors"
	"net"
	"reflect"
	"testing"
)

// readFrom is the first reply of a server that sends the bytes and closes.
func readFrom(t *testing.T, bytes string) (reply, error) {
	ours, theirs := net.Pipe()
	go func() {
		_, _ = theirs.Write([]byte(bytes))
		_ = theirs.Close()
	}()
	r := newConn(ours)
	defer r.close()
	return r.read()
}

func TestReplies(t *testing.T) {
	for bytes, want := range map[string]reply{
		"+OK\r\n": "OK", "-ERR x\r\n": replyError("ERR x"), ":-7\r\n": int64(-7), "$2\r\n\r\n\r\n": "\r\n", "$-1\r\n": nil,
		"*-1\r\n": nil, "*2\r\n:1\r\n*1\r\n$0\r\n\r\n": []reply{int64(1), []reply{""}},
	} {
		if got, err := readFrom(t, bytes); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", bytes, got, err)
		}
	}
}

func TestMalformedRepliesAreFaults(t *testing.T) {
	for _, bytes := range []string{"OK\r\n", "+OK\n", "\r\n", "\n", ":x\r\n", ":\r\n", "$x\r\n", "$-2\r\n", "$2\r\nabcd\r\n",
		"*x\r\n", "*-2\r\n", "*1\r\n!\r\n", "_\r\n", "$1\nx\r\n"} {
		var bad errProtocol
		if got, err := readFrom(t, bytes); !errors.As(err, &bad) {
			t.Errorf("%q: %v, %v", bytes, got, err)
		}
	}
}

func TestCutRepliesAreNoFaults(t *testing.T) {
	whole := "*2\r\n$2\r\nab\r\n:1\r\n"
	for i := range whole {
		var bad errProtocol
		if got, err := readFrom(t, whole[:i]); err == nil || errors.As(err, &bad) {
			t.Errorf("%q: %v, %v", whole[:i], got, err)
		}
	}
}
