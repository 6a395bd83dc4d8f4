// resp.go -- a RESP2 client: bytes sent in one write, replies in order. Nothing is retried, so that a history is what
// has happened on the wire.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// reply is one decoded reply: nil for a null, string for simple strings and bulks, int64, []reply, or replyError.
type reply interface{}

type replyError string

type respConn struct {
	c  net.Conn
	in *bufio.Reader
}

func dial(addr string) (*respConn, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return newConn(c), nil
}

func newConn(c net.Conn) *respConn { return &respConn{c, bufio.NewReaderSize(c, 1<<16)} }

func (r *respConn) close() { _ = r.c.Close() }

func appendCommand(out []byte, words ...string) []byte {
	out = append(out, fmt.Sprintf("*%d\r\n", len(words))...)
	for _, w := range words {
		out = append(out, fmt.Sprintf("$%d\r\n", len(w))...)
		out = append(out, w...)
		out = append(out, '\r', '\n')
	}
	return out
}

func (r *respConn) write(bytes []byte) error {
	_ = r.c.SetWriteDeadline(time.Now().Add(20 * time.Second))
	_, err := r.c.Write(bytes)
	return err
}

// do sends one command and returns its reply.
func (r *respConn) do(words ...string) (reply, error) {
	if err := r.write(appendCommand(nil, words...)); err != nil {
		return nil, err
	}
	return r.read()
}

func (r *respConn) line() (string, error) {
	s, err := r.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	if len(s) < 3 || s[len(s)-2] != '\r' {
		return "", errProtocol{fmt.Sprintf("not a line of RESP: %.80q", s)}
	}
	return s[:len(s)-2], nil
}

// errProtocol is a reply that is not RESP: never caused by a closed connection.
type errProtocol struct{ what string }

func (e errProtocol) Error() string { return e.what }

// length reads the number of a bulk or an array; -1 is a null, and anything less is nothing.
func length(s string) (int, error) {
	n, err := strconv.Atoi(s[1:])
	if err != nil || n < -1 {
		return 0, errProtocol{fmt.Sprintf("not a length: %.80q", s)}
	}
	return n, nil
}

func (r *respConn) read() (reply, error) {
	_ = r.c.SetReadDeadline(time.Now().Add(20 * time.Second))
	s, err := r.line()
	if err != nil {
		return nil, err
	}
	switch s[0] {
	case '+':
		return s[1:], nil
	case '-':
		return replyError(s[1:]), nil
	case ':':
		n, err := strconv.ParseInt(s[1:], 10, 64)
		if err != nil {
			return nil, errProtocol{s}
		}
		return n, nil
	case '$':
		n, err := length(s)
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return nil, nil
		}
		body := make([]byte, n+2)
		if _, err := io.ReadFull(r.in, body); err != nil {
			return nil, err
		}
		if string(body[n:]) != "\r\n" {
			return nil, errProtocol{fmt.Sprintf("bulk of %d bytes does not end where it should", n)}
		}
		return string(body[:n]), nil
	case '*':
		n, err := length(s)
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return nil, nil
		}
		all := make([]reply, n)
		for i := range all {
			if all[i], err = r.read(); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return nil, errProtocol{fmt.Sprintf("not a reply: %.80q", s)}
}
