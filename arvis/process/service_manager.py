"""Reports the state of this process to the service manager that started it (systemd's protocol sd_notify). Without such
a manager, the functions do nothing.

The manager names its socket in `NOTIFY_SOCKET`. If it also sets `WATCHDOG_USEC`, it restarts a process that sends no
keep-alive message for this time (microseconds).
"""

from __future__ import annotations

import asyncio
import os
import socket

import structlog

log = structlog.get_logger(__name__)

READY, STOPPING = "READY=1\nSTATUS=Ready", "STOPPING=1\nSTATUS=Stopping"
_ALIVE = "WATCHDOG=1"
_MICROSECONDS = 1_000_000


def notify(state: str) -> None:
    """Send a state to the service manager. If the manager cannot be reached, log a warning and continue, because the
    work does not depend on the manager."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    # A leading @ means Linux's abstract namespace, whose names begin with a null byte.
    place = f"\0{address[1:]}" if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
            out.connect(place)
            out.sendall(state.encode())
    except OSError as error:
        log.warning("service_manager_unreachable", state=state, why=str(error))


async def report_liveness() -> None:
    """Send keep-alive messages until cancelled, two in each time limit of the manager. The event loop sends them, so
    the manager notices a blocked loop. Return at once if the manager expects no such messages."""
    limit = os.environ.get("WATCHDOG_USEC", "")
    wanted_of = os.environ.get("WATCHDOG_PID", str(os.getpid()))
    if not limit.isdecimal() or int(limit) == 0 or wanted_of != str(os.getpid()):
        return
    while True:
        notify(_ALIVE)
        await asyncio.sleep(int(limit) / _MICROSECONDS / 2)
