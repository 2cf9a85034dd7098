"""Calls of the kernel that no program in the sandbox needs: keys, sockets beyond networks, and other ways around walls.

Namespaces do not part the keys of a user nor the sockets between a machine and its host (vsock). The filter is a
program for the kernel in its own format (seccomp(2), `struct sock_filter`).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Machine:
    """The kernel's mark of an architecture, its number of socket(2) and those of the calls that are refused: ptrace,
    syslog, keyctl, add_key, request_key, perf_event_open, bpf, userfaultfd, open_by_handle_at, io_uring's three, which make
    every other call unseen, and memfd_create, memfd_secret and shmget, whose memory belongs to no process and is counted for none."""

    mark: int
    socket: int
    refused: tuple[int, ...]


_MACHINES: Mapping[str, _Machine] = {
    "x86_64": _Machine(0xC000003E, 41, (101, 103, 250, 248, 249, 298, 321, 323, 304, 425, 426, 427, 319, 447, 29)),
    "aarch64": _Machine(0xC00000B7, 198, (117, 116, 219, 217, 218, 241, 280, 282, 265, 425, 426, 427, 279, 447, 194)),
}

#: Local sockets, both kinds of internet, and what lists the network's devices.
_FAMILIES = (1, 2, 10, 16)

#: Numbers from here on belong to a second set of calls on x86_64.
_SECOND_SET = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | 1  # "Operation not permitted"


def call_filter(machine: str) -> bytes | None:
    """The filter for a machine of this name; None for one whose numbers are not known here."""
    known = _MACHINES.get(machine)
    if known is None:
        return None
    steps = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, known.mark, yes=1),
        _step(_RETURN, _REFUSE),
        _step(_LOAD, _NUMBER),
        *_unless(_step(_AT_LEAST, _SECOND_SET, no=1)),
    ]
    for number in known.refused:
        steps += _unless(_step(_EQUAL, number, no=1))
    steps += [_step(_EQUAL, known.socket, yes=1), _step(_RETURN, _ALLOW), _step(_LOAD, _FIRST_ARGUMENT)]
    for family in _FAMILIES:
        steps += [_step(_EQUAL, family, no=1), _step(_RETURN, _ALLOW)]
    return b"".join([*steps, _step(_RETURN, _REFUSE)])


def _unless(test: bytes) -> list[bytes]:
    return [test, _step(_RETURN, _REFUSE)]


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """`yes` and `no` are the numbers of steps that a test skips."""
    return struct.pack("=HBBI", code, yes, no, value)
