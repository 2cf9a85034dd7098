"""A relay in front of the daemon under trial. Each connection reaches the daemon from a different address of this
machine.

The daemon limits wrong keys by address. Trials send a wrong key to every operation, and each of them must be judged
separately.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import socketserver
import threading
from collections.abc import Iterator

_PIECE = 65_536
_BYTE = 256


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port = port
        self.numbers = itertools.count()


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        high, low = divmod(next(self.server.numbers), _BYTE)
        source = (f"127.1.{high % _BYTE}.{low}", 0)
        with socket.create_connection(("127.0.0.1", self.server.port), source_address=source) as onward:
            back = threading.Thread(target=_copy, args=(onward, self.request), daemon=True)
            back.start()
            _copy(self.request, onward)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Pass all bytes on, and then the end of the stream."""
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def relayed(port: int) -> Iterator[str]:
    """Run a relay to this port of 127.0.0.1 until the end of the block, and yield its address."""
    with _Server(port) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
