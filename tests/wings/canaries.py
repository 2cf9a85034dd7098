"""Tries the list of addresses with real sockets in a network namespace in which every address answers.

Run it inside a network namespace (`unshare --map-root-user --net`). It routes all of IPv4 and IPv6 to the loopback
device, so that a forbidden connection would succeed; a raw socket sees every packet, even to a port on which no server
listens. The program prints the packets that it saw as JSON.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections import Counter
from contextlib import AsyncExitStack, closing
from ipaddress import IPv4Address, IPv6Address

from arvis.domain.errors import ToolError
from arvis.net.fetcher import GuardedFetcher
from arvis.net.guard import read_rules
from tests.wings.address_list import Names, Probe, Signpost, attempt, probes, standing

#: Dialled on purpose without the guard, to show that the sniffer would see a packet to each of them.
CONTROLS = (
    "127.0.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "192.168.1.1",
    "100.64.0.1",
    "::1",
    "fd00::1",
    "64:ff9b::7f00:1",
)
#: Exit code if this machine does not allow the network to be set up (automake's code for a skipped test).
REFUSED = 77
_NETWORK = (
    "ip link set lo up",
    "ip route add local 0.0.0.0/0 dev lo",
    "ip -6 route add local ::/0 dev lo",
)
_EVERY_PROTOCOL = 0x0003
_TCP = 6
_SYN, _ACK = 0x02, 0x10


class Sniffer:
    """Counts, by destination, the TCP connection requests and all packets of other protocols."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_EVERY_PROTOCOL))
        self._socket.bind(("lo", 0))
        self._socket.setblocking(False)
        self.seen: Counter[str] = Counter()

    def collect(self) -> None:
        while True:
            try:
                packet = self._socket.recv(65_536)
            except BlockingIOError:
                return
            if (destination := _asked(packet)) is not None:
                self.seen[destination] += 1

    def take(self) -> dict[str, int]:
        self.collect()
        taken, self.seen = dict(self.seen), Counter()
        return taken

    def close(self) -> None:
        self._socket.close()


def _asked(packet: bytes) -> str | None:
    if packet[0] >> 4 == 4:
        start, protocol, destination = (packet[0] & 15) * 4, packet[9], str(IPv4Address(packet[16:20]))
    else:
        start, protocol, destination = 40, packet[6], str(IPv6Address(packet[24:40]))
    answering = protocol == _TCP and packet[start + 13] & (_SYN | _ACK) != _SYN
    return None if answering else destination


def make_network() -> None:
    for command in _NETWORK:
        done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.stderr.write(f"`{command}`: {done.stderr.strip()}")
            sys.exit(REFUSED)


async def main() -> None:
    signpost = Signpost()
    async with AsyncExitStack() as stack:
        for host in ("0.0.0.0", "::"):
            for port in (80, 443, 5070, 6379, 8080):
                await stack.enter_async_context(standing(signpost, host, port))
        with closing(Sniffer()) as sniffer:
            await _dial_controls()
            controls = sniffer.take()
            wrong = [found for probe in probes() if (found := await _try(probe, signpost, sniffer))]
            print(json.dumps({"controls": controls, "list": sniffer.take(), "wrong": wrong}))


async def _dial_controls() -> None:
    for host in CONTROLS:
        _, writer = await asyncio.open_connection(host, 80)
        writer.close()
    fetcher = GuardedFetcher(rules=read_rules(allow=["127.0.0.1:6379"]), resolve=_no_names)
    await fetcher.fetch("http://127.0.0.1:6379/")


async def _no_names(host: str, port: int) -> list[str]:
    return []


async def _try(probe: Probe, signpost: Signpost, sniffer: Sniffer) -> str | None:
    signpost.point(probe)
    fetcher = GuardedFetcher(rules=read_rules(), resolve=Names(probe=probe).resolve)
    try:
        return await attempt(fetcher, probe)
    except ToolError as error:
        return f"{probe.line}: {error}"
    finally:
        sniffer.collect()


if __name__ == "__main__":
    make_network()
    asyncio.run(main())
