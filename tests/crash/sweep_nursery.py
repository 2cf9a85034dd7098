"""Forks daemons off a process that has imported the program already, so that a life costs no second of imports.

Run as a file, never imported. Requests come over the socket whose number is the first argument: the daemon's
arguments as JSON, and with them its folder, standard input, output and error and a pipe as open files. A daemon waits
until that pipe is closed: until then strace has the time to take hold of it. What is forked runs the command line's own
`main` in the only thread of its process, and nothing of it is replaced.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys

#: What a start would import by and by.
PROGRAM = (
    "aiosqlite",
    "arvis.app",
    "arvis.cli.main",
    "arvis.cli.commands.run",
    "arvis.net.client",
    "arvis.providers.openai",
    "concurrent.futures.thread",
)
FILES = 5
#: Of `prctl`: let any process of this user trace this one.
_PR_SET_PTRACER, _ANYBODY = 0x59616D61, ctypes.c_ulong(-1)


def serve(door: socket.socket) -> None:
    """Fork until the door is closed. Returns in a child only, which is a daemon to be."""
    children: set[int] = set()

    def tell_ends(*_: object) -> None:
        for pid in list(children):
            gone, status = os.waitpid(pid, os.WNOHANG)
            if gone:
                children.discard(pid)
                door.send(json.dumps({"ended": pid, "status": os.waitstatus_to_exitcode(status)}).encode())

    signal.signal(signal.SIGCHLD, tell_ends)
    while True:
        request, files, _, _ = socket.recv_fds(door, 65536, FILES)
        if not request:
            _leave(children)
        # An end is told after the birth, never before.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            door.close()
            _become(json.loads(request), files)
            return
        children.add(pid)
        door.send(json.dumps({"born": pid}).encode())
        for file in files:
            os.close(file)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _become(arguments: list[str], files: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    os.setsid()
    # Where Yama lets only ancestors attach, strace is not one; elsewhere this does nothing.
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANYBODY, 0, 0, 0)
    folder, *streams, start = files
    os.fchdir(folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    # The inherited ones remember what kind of file they were opened on.
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", 1, closefd=False)
    os.read(start, 1)
    for file in files:
        os.close(file)
    sys.argv[1:] = arguments


def _leave(children: set[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    sys.exit()


if __name__ == "__main__":
    for name in PROGRAM:
        importlib.import_module(name)
    # What is shared is not collected again and again by every child.
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(importlib.import_module("arvis.cli.main").main())
