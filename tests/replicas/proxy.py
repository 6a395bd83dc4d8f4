"""proxy.py -- a bad network: connections to a server that can be cut, delayed, throttled, stalled and refused.

SPDX-License-Identifier: BSD-3-Clause
"""

import asyncio
import threading

PIECE = 16384


class Proxy:
    """Forwards connections to `port` to 127.0.0.1:`target`, until they are broken. Any thread may call it."""

    def __init__(self, port, target):
        self.port, self.target = port, target
        self.heal()
        self.refuses = False
        self.pairs = set()
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.accept, "127.0.0.1", port))
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.server.close()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.close()

    def heal(self):
        self.delay_s = 0.0
        self.bytes_per_s = None
        self.stalls = False
        self.cut_after = None  # bytes over all connections until the cut
        self.refuses = False
        self.deaf = False  # bytes from `port`'s side are held back
        self.passed = 0  # bytes of the target that were forwarded

    async def accept(self, reader, writer):
        try:
            await self.lead(reader, writer)
        except asyncio.CancelledError:
            pass  # close()

    async def lead(self, reader, writer):
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
        await asyncio.wait([self.loop.create_task(self.copy(reader, other[1], True)),
                            self.loop.create_task(self.copy(other[0], writer, False))],
                           return_when=asyncio.FIRST_COMPLETED)
        self.pairs.discard(pair)
        for transport in pair:
            transport.abort()

    async def copy(self, reader, writer, upwards):
        try:
            while True:
                piece = await reader.read(PIECE)
                if not piece:
                    return
                while self.stalls or (upwards and self.deaf):
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
                self.passed += 0 if upwards else len(piece)
        except (OSError, ConnectionError):
            return

    def cut(self):
        """Ends all present connections at once."""
        self.loop.call_soon_threadsafe(lambda: [transport.abort() for pair in list(self.pairs) for transport in pair])

    def cut_within(self, size):
        """Ends all connections after so many more bytes, in the middle of a command or reply."""
        self.cut_after = size

    def refuse(self):
        self.refuses = True
        self.cut()

    def close(self):
        """Stops listening."""
        self.cut()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
