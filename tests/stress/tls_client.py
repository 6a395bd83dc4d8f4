"""tls_client.py -- a TLS connection that one thread may write to while another reads from it.

Python's own SSL sockets are for one thread at a time, as OpenSSL's objects are. Here OpenSSL works on memory, under a
lock that is not held while the socket is waited for.

SPDX-License-Identifier: BSD-3-Clause
"""
import io
import socket
import ssl
import threading


class TlsSocket(io.RawIOBase):
    """What mixed_load.py uses of a socket, over one that is connected."""

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
        """The write half: a farewell, and the socket's."""
        assert how == socket.SHUT_WR
        try:
            with self.lock:
                self.tls.unwrap()
        except (ssl.SSLWantReadError, ssl.SSLError):
            pass  # the other side's farewell is still to come
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
    """A context for servers with a certificate of the authority in this file, whatever their name."""
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = False
    return context
