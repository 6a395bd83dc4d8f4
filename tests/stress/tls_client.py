"""tls_client.py -- a TLS connection that one thread may write to while another reads from it.

Python's SSL sockets may be used by one thread at a time, like OpenSSL's objects. Here OpenSSL works on memory, under a
lock that is not held while a thread waits for the socket.

SPDX-License-Identifier: BSD-3-Clause
"""
import io
import socket
import ssl
import threading


class TlsSocket(io.RawIOBase):
    """The functions of a socket that mixed_load.py uses, over a connected one."""

    def __init__(self, raw, context):
        self.raw, self.lock, self.sending = raw, threading.Lock(), threading.Lock()
        self.arriving, self.leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.arriving, self.leaving)
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush()
                self._fill()
        self._flush()

    def _flush(self):
        with self.sending:
            with self.lock:
                data = self.leaving.read()
            if data:
                self.raw.sendall(data)

    def _fill(self):
        data = self.raw.recv(65536)
        with self.lock:
            if data:
                self.arriving.write(data)
            else:
                self.arriving.write_eof()

    # ---- As a socket ------------------------------------------------------------------------------------------------
    def sendall(self, data):
        for at in range(0, len(data), 65536):
            with self.lock:
                self.tls.write(data[at:at + 65536])
            self._flush()

    def recv_into(self, room):
        while True:
            try:
                with self.lock:
                    return self.tls.read(len(room), room)
            except ssl.SSLWantReadError:
                self._fill()
            except ssl.SSLZeroReturnError:
                return 0
            except ssl.SSLEOFError as e:
                raise ConnectionResetError("the connection ended without a farewell") from e

    def shutdown(self, how):
        """Closes the sending half: sends a close notification, and shuts the socket down."""
        assert how == socket.SHUT_WR
        try:
            with self.lock:
                self.tls.unwrap()
        except (ssl.SSLWantReadError, ssl.SSLError):
            pass  # the close notification of the peer is still to come
        self._flush()
        self.raw.shutdown(how)

    def settimeout(self, seconds):
        self.raw.settimeout(seconds)

    def setsockopt(self, *args):
        self.raw.setsockopt(*args)

    def makefile(self, _mode):
        return io.BufferedReader(self, 65536)

    # ---- As a file --------------------------------------------------------------------------------------------------
    def readable(self):
        return True

    def readinto(self, room):
        return self.recv_into(room)

    def close(self):
        if not self.closed:
            super().close()
            self.raw.close()


def trusting(authority):
    """Returns a context that trusts servers with a certificate of the authority in this file, of any name."""
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = False
    return context
