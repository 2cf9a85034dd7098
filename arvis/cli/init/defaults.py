"""Detects good defaults for the questions of `arvis init`: the machine, its user, its ports."""

from __future__ import annotations

import getpass
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from arvis.cli.api_client import left_in
from arvis.process.data_folder import address_file

_PORT = 5070
_TRIES = 50
_HOST = "127.0.0.1"

#: Seconds that a model server may take to name its models, and bytes of its list.
_TIMEOUT = 2.0
_LIST = 1_000_000
_LONGEST_NAME = 100

_OK = 200


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`data` is the data folder that the configuration will name: a daemon that runs there already has its port."""

    environ: Mapping[str, str]
    data: Path
    local_time: Path = Path("/etc/localtime")

    @property
    def user(self) -> str:
        """Return the name of the logged-in user."""
        try:
            return getpass.getuser()
        except (KeyError, OSError):
            # A container's user may have no name.
            return "owner"

    @property
    def time_zone(self) -> str:
        """The machine's, by the name that the system keeps it under."""
        named = self.environ.get("TZ", "").lstrip(":")
        if named and not named.startswith("/"):
            return named
        folder, _, zone = str(self.local_time.resolve()).partition("/zoneinfo/")
        return zone.removeprefix("posix/").removeprefix("Etc/") if folder and zone else "UTC"

    def free_port(self) -> int:
        """Return the usual port, or the next free one above it; 0 lets the system choose."""
        return next((port for port in range(_PORT, _PORT + _TRIES) if self.is_free(port)), 0)

    def is_free(self, port: int) -> bool:
        """Return true if a daemon could listen there. The port is bound for a moment, without listening."""
        if port == 0 or port == self._own_port():
            return True
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind((_HOST, port))
            except OSError:
                return False
        return True

    def _own_port(self) -> int | None:
        address = left_in(address_file(self.data))
        return urlsplit(address).port if address else None

    def first_model(self, url: str, key: str | None) -> str | None:
        """The first model that a server names; None when it names none."""
        parts = urlsplit(url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT)
        try:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            connection.request("GET", f"{parts.path.rstrip('/')}/models", headers=headers)
            response = connection.getresponse()
            return _first_name(response.read(_LIST)) if response.status == _OK else None
        except (OSError, HTTPException, ValueError):
            return None
        finally:
            connection.close()


def _first_name(text: bytes) -> str | None:
    match json.loads(text):
        case {"data": [{"id": str(name)}, *_]} if name.isprintable() and 0 < len(name) <= _LONGEST_NAME:
            return name
        case _:
            return None
