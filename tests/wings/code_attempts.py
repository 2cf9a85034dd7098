"""Attacks of a hostile script on its bridge to the daemon, and the expected outputs. The list only grows."""

from __future__ import annotations

from collections.abc import Mapping

from arvis.ports.sandbox import BRIDGE
from arvis.process.sandbox import MOST_ASKED

#: Finds the bridge, whose file descriptor the script does not know, and sends requests over it.
RAW = f"""
import os, socket, stat, sys
bridge = next(n for n in range(3, 99) if os.path.exists(f'/proc/self/fd/{{n}}') and stat.S_ISSOCK(os.fstat(n).st_mode))
assert {BRIDGE!r} not in os.environ
LOOK = b'{{"function": "look", "arguments": {{}}}}\\n'

def ask(line):
    os.write(bridge, line)
    return os.read(bridge, 65536)
"""

#: Name of the attempt -> the script, and words that its output must contain.
ATTEMPTS: Mapping[str, tuple[str, str]] = {
    "a tool that is not for scripts": (
        """print(ask(b'{"function": "rm", "arguments": {}}\\n'))""",
        "Scripts cannot call a tool",
    ),
    "binary garbage": (r"print(ask(b'\x00\xff\xfe garbage\n'))", "one dict of plain JSON values"),
    "deep nesting": (r"print(ask(b'[' * 100_000 + b'\n'))", "one dict of plain JSON values"),
    "a line without an end": (
        f"""
s = socket.socket(fileno=bridge)
try:
    s.sendall(b'x' * {MOST_ASKED * 4})
    print('sent', s.recv(9))
except OSError as error:
    print('closed', error)
""",
        "closed",
    ),
    "descriptors sent along": (
        r"""
s = socket.socket(fileno=bridge)
socket.send_fds(s, [b'{}\n'], [0, 1, 2])
print(s.recv(999))
""",
        "one dict of plain JSON values",
    ),
    "a fork that calls": (
        """
if os.fork() == 0:
    try:
        look()
    except Exception as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
print(look())
""",
        "Only the first process",
    ),
    "a fork that talks by itself": (
        r"""
if os.fork() == 0:
    ask(b'garbage\n')
    os._exit(0)
os.wait()
print(look())
""",
        "look of nothing",
    ),
    "a closed bridge": (
        """
os.close(bridge)
try:
    look()
except ToolError as error:
    print(error)
""",
        "No more tools",
    ),
    "half a line, and gone": ("os.write(bridge, LOOK[:9]); os._exit(4)", "exit code 4"),
    "a program of its own": (
        """
import subprocess
print(subprocess.run(['ls', '/proc/self/fd'], capture_output=True, text=True, close_fds=False).stdout.split())
""",
        "['0', '1', '2', '3']",
    ),
    "a server for others": (
        """
s = socket.socket(socket.AF_UNIX)
s.bind('left-behind')
print(os.listdir())
os.unlink('left-behind')
""",
        "left-behind",
    ),
}
