"""Sockets that record the address they are made for, and connect to a server of the test instead."""

from __future__ import annotations

import socket
from typing import Any

from arvis.net.fetcher import Peer


class Dialled:
    """A `Dial` that records each address and connects to `port` on this machine; without a port it refuses the
    connection."""

    def __init__(self, *, port: int | None = None) -> None:
        self._port = port
        self.peers: list[tuple[str, int]] = []

    def __call__(self, peer: Peer) -> socket.socket:
        self.peers.append((peer[4][0], peer[4][1]))
        if self._port is None:
            raise ConnectionRefusedError(111, "no server is here")
        return _Diverted(peer[0], self._port)


class _Diverted(socket.socket):
    def __init__(self, family: int, port: int) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        self._port = port

    def connect(self, address: Any) -> None:
        host = "127.0.0.1" if self.family == socket.AF_INET else "::ffff:127.0.0.1"
        super().connect((host, self._port))
