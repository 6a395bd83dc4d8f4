#!/usr/bin/env python3
"""slow_readers.py PORT CLIENTS COMMANDS KEYS EACH -- clients that send COMMANDS requests each before they read a reply.

A request is MGET of EACH of the keys key:0 ... key:KEYS-1, or GET if EACH is 1. The value of key:N is "N:"
and as many x as make it 1,024 bytes. Prints "sent" when all is sent, then reads a line from its input: "read" lets each
client read all replies, and the number of wrong values is printed; at the end of the input the program exits.

SPDX-License-Identifier: BSD-3-Clause
"""
import socket
import sys

port, clients, commands, keys, each = (int(word) for word in sys.argv[1:6])


def bulk(word):
    return b"$%d\r\n%s\r\n" % (len(word), word)


def names(client, command):
    first = (client * commands + command) * each
    return [(first + i) % keys for i in range(each)]


def request(numbers):
    words = [b"GET" if each == 1 else b"MGET"] + [b"key:%d" % n for n in numbers]
    return b"*%d\r\n" % len(words) + b"".join(bulk(word) for word in words)


def reply(numbers):
    head = b"" if each == 1 else b"*%d\r\n" % len(numbers)
    return head + b"".join(bulk((b"%d:" % n).ljust(1024, b"x")) for n in numbers)


def opened():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(120)
    s.connect(("127.0.0.1", port))
    return s


sockets = [opened() for _ in range(clients)]
for number, s in enumerate(sockets):
    s.sendall(b"".join(request(names(number, i)) for i in range(commands)))
print("sent", flush=True)
if sys.stdin.readline().strip() == "read":
    wrong = 0
    for number, s in enumerate(sockets):
        replies = s.makefile("rb")
        for i in range(commands):
            want = reply(names(number, i))
            if replies.read(len(want)) != want:
                wrong += 1
    print(wrong, flush=True)
