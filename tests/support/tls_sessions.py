#!/usr/bin/env python3
"""tls_sessions.py TLS_PORT CA COUNT -- makes one TLS handshake, and then COUNT that offer the session of the one before.

SPDX-License-Identifier: BSD-3-Clause
"""
import socket
import ssl
import sys

port, authority, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
context = ssl.create_default_context(cafile=authority)
context.check_hostname = False
session = None
for _ in range(1 + count):
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port)), session=session) as client:
        client.sendall(b"PING\r\n")
        assert client.recv(100) == b"+PONG\r\n"
        assert client.version() == "TLSv1.3"
        session = client.session
