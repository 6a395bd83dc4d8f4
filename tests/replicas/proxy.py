"""proxy.py -- a bad network: connections to a server that can be cut, delayed, throttled, stalled and refused.

SPDX-License-Identifier: BSD-3-Clause
"""

import asyncio
import threading

PIECE = 16384


class Proxy:
    """Whoever connects to `port` talks to 127.0.0.1:`target`, as long as nobody has broken it. Any thread may do that."""

    def __init__(self, port, target):
        self.port, self.target = port, target
        self.heal()
        self.refuses = False
        self.pairs = set()
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self.run, args=(started,), daemon=True).start()
        started.wait()

    def run(self, started):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(asyncio.start_server(self.accept, "127.0.0.1", self.port))
        started.set()
        self.loop.run_forever()

    def heal(self):
        self.delay_s = 0.0
        self.bytes_per_s = None
        self.stalls = False
        self.cut_after = None  # bytes, over all connections
        self.refuses = False

    async def accept(self, reader, writer):
        if self.refuses:
            writer.transport.abort()
            return
        try:
            other = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer.transport, other[1].transport)
        self.pairs.add(pair)
        await asyncio.wait([self.loop.create_task(self.copy(reader, other[1])),
                            self.loop.create_task(self.copy(other[0], writer))],
                           return_when=asyncio.FIRST_COMPLETED)
        self.pairs.discard(pair)
        for transport in pair:
            transport.abort()

    async def copy(self, reader, writer):
        try:
            while True:
                piece = await reader.read(PIECE)
                if not piece:
                    return
                while self.stalls:
                    await asyncio.sleep(0.02)
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                if self.bytes_per_s:
                    await asyncio.sleep(len(piece) / self.bytes_per_s)
                if self.cut_after is not None:
                    if self.cut_after < len(piece):
                        writer.write(piece[:self.cut_after])
                        await writer.drain()
                        self.cut_after = None
                        return
                    self.cut_after -= len(piece)
                writer.write(piece)
                await writer.drain()
        except (OSError, ConnectionError):
            return

    def cut(self):
        """All connections that there are end at once."""
        self.loop.call_soon_threadsafe(lambda: [transport.abort() for pair in list(self.pairs) for transport in pair])

    def cut_within(self, size):
        """... when so many more bytes have gone through: in the middle of whatever that is."""
        self.cut_after = size

    def refuse(self):
        self.refuses = True
        self.cut()
