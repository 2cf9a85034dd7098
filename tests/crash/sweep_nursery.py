"""Forks daemons from a process that has already imported the program, so that a start does not need a second for
imports.

Run this file as a program; never import it. Its first argument is the number of a socket. Each request over the socket
has the arguments of a daemon as JSON, and five open files: its folder, its standard input, output and error, and a
pipe. The daemon waits until the other end of the pipe is closed, so that strace can attach first. The forked process
runs the real `main` of the command line in its only thread.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

#: The modules that a daemon imports during its start.
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
#: Arguments of `prctl` that let any process of this user trace this one.
_PR_SET_PTRACER, _ANYBODY = 0x59616D61, ctypes.c_ulong(-1)


def serve(control: socket.socket) -> None:
    """Fork a daemon for each request until the socket is closed. Only a child returns; it becomes a daemon."""
    children: set[int] = set()
    wake, signalled = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(signalled, False)
    # The handler does nothing: the signal wakes the loop through the pipe, and the loop alone collects children.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(signalled)
    waiting: list[socket.socket | int] = [control, wake]
    while True:
        readable, _, _ = select.select(waiting, [], [])
        if wake in readable:
            os.read(wake, 4096)
            _report_ends(children, control)
        if control not in readable:
            continue
        request, files, _, _ = socket.recv_fds(control, 65536, FILES)
        if not request:
            _leave(children)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for file in (wake, signalled):
                os.close(file)
            control.close()
            _become(json.loads(request), files)
            return
        children.add(pid)
        control.send(json.dumps({"born": pid}).encode())
        for file in files:
            os.close(file)


def _report_ends(children: set[int], control: socket.socket) -> None:
    for pid in list(children):
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            children.discard(pid)
            control.send(json.dumps({"ended": pid, "status": os.waitstatus_to_exitcode(status)}).encode())


def _become(arguments: list[str], files: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    # Yama allows only ancestors to attach, and strace is no ancestor. Without Yama this call does nothing.
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANYBODY, 0, 0, 0)
    folder, *streams, start = files
    os.fchdir(folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    # The inherited objects remember the kind of the file that they were opened on.
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
    # The garbage collector of a child skips the objects that all children share.
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(importlib.import_module("arvis.cli.main").main())
