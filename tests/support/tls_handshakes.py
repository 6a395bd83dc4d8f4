#!/usr/bin/env python3
"""tls_handshakes.py PORT TLS_PORT CA COUNT -- makes COUNT TLS handshakes at once, with another client served in
between.

Prints how many connections have completed the handshake and were served over TLS. The plain client must get at least
one reply for every twenty steps.

SPDX-License-Identifier: BSD-3-Clause
"""
import resource
import select
import socket
import ssl
import sys

port, tls_port, authority, count = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
context = ssl.create_default_context(cafile=authority)
context.check_hostname = False
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
poll = select.epoll()
clients = {}
for _ in range(count):
    raw = socket.create_connection(("127.0.0.1", tls_port))
    raw.setblocking(False)
    client = context.wrap_socket(raw, do_handshake_on_connect=False)
    clients[client.fileno()] = client
    poll.register(client.fileno(), select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
plain = socket.create_connection(("127.0.0.1", port))
waiting, ready = set(clients), set(clients)
while waiting:
    for fd in list(ready)[:20]:
        ready.discard(fd)
        try:
            if fd in waiting:
                clients[fd].do_handshake()
                waiting.discard(fd)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
    plain.sendall(b"PING\r\n")
    assert plain.recv(100) == b"+PONG\r\n"
    ready.update(fd for fd, _ in poll.poll(0 if ready else 60))
served = 0
for client in clients.values():
    client.setblocking(True)
    client.sendall(b"PING\r\n")
    served += client.recv(100) == b"+PONG\r\n"
print(served)
