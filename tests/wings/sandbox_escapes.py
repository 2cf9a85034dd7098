"""Escape attempts of a hostile program.

Each is Python source for the system's interpreter inside the sandbox, and prints ESCAPED if it succeeds. Before it
runs, these names are set: `SECRETS` (paths of files that hold the canary), `PORT` (where a server on this machine
listens), `PARENT` (the id of the daemon's process) and `OUTSIDE` (a folder).
"""

from __future__ import annotations

PREAMBLE = """
import ctypes, glob, os, resource, signal, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def won(): print("ESCAPED", flush=True)
def holds(path):
    try: data = os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 1 << 20)
    except OSError: return False
    return b"canary" in data
"""

ESCAPES = {
    "read the data folder": "if any(map(holds, SECRETS)): won()",
    "list the data folder": "if any(os.path.exists(path) for path in SECRETS): won()",
    "read it beside the workspace": "if any(map(holds, glob.glob('/workspace/../*') + glob.glob('../*/*'))): won()",
    "read it through a link": "[os.symlink(p, f'l{n}') for n, p in enumerate(SECRETS)]\nif any(map(holds, glob.glob('l*'))): won()",
    "read it by a hard link": "for n, p in enumerate(SECRETS):\n  try: os.link(p, f'h{n}')\n  except OSError: continue\n  won()",
    "read it through a process's root": "if any(map(holds, [f'/proc/{n}/root{p}' for n in range(1, 99) for p in SECRETS])): won()",
    "read it through its folder's handle": "if any(map(holds, glob.glob('/proc/*/cwd/../*') + glob.glob('/proc/*/fd/*'))): won()",
    "read the environment of the daemon": "if any(map(holds, glob.glob('/proc/*/environ'))): won()",
    "have inherited the environment": "if 'canary' in str(dict(os.environ)): won()",
    "see the daemon's process": "if PARENT > 99 and os.path.exists(f'/proc/{PARENT}'): won()",
    "see other processes": "if len([n for n in os.listdir('/proc') if n.isdecimal()]) > 9: won()",
    "learn where it runs": "if any(OUTSIDE in open(p, errors='replace').read() for p in glob.glob('/proc/[0-9]*/cmdline')): won()",
    "kill the daemon": "os.kill(PARENT, 0)\nwon()",
    "kill everybody": "subprocess.run(['sh', '-c', 'kill -9 -1'])",
    "kill its group": "os.kill(0, signal.SIGKILL)",
    "trace the daemon": "if libc.ptrace(16, PARENT, 0, 0) == 0: won()",
    "reach a server on this machine": "socket.create_connection(('127.0.0.1', PORT), 1)\nwon()",
    "reach it by its other address": "socket.create_connection(('::1', PORT), 1)\nwon()",
    "reach any network": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.connect(('8.8.8.8', 53))\nwon()",
    "see a network device": "if [name for _, name in socket.if_nameindex() if name != 'lo']: won()",
    "reach an abstract socket": "s = socket.socket(socket.AF_UNIX)\ns.connect('\\0arvis-canary-' + str(PORT))\nwon()",
    "reach the machine's host": "s = socket.socket(socket.AF_VSOCK)\nwon()",
    "open a raw socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\nwon()",
    "write to the system": "for p in ('/usr/x', '/etc/x', '/x', '/usr/bin/x', '/dev/x', '/lib/x'):\n  try: open(p, 'w'); won()\n  except OSError: pass",
    "replace a program": "for p in ('/usr/bin/true', '/bin/sh'):\n  try: open(p, 'r+b'); won()\n  except OSError: pass",
    "write beside the workspace": "open(OUTSIDE + '/escaped', 'w')\nwon()",
    "write to its parent": "open('/workspace/../escaped', 'w')\nwon()",
    "set a handler of crashes": "open('/proc/sys/kernel/core_pattern', 'r+')\nwon()",
    "change a kernel setting": "for p in glob.glob('/proc/sys/kernel/*') + glob.glob('/proc/sys/vm/*') + ['/proc/sysrq-trigger']:\n  try: open(p, 'r+'); won()\n  except OSError: pass",
    "read the kernel's memory": "for p in ('/proc/kcore', '/dev/mem', '/dev/kmem', '/dev/vda', '/dev/sda'):\n  try: open(p, 'rb').read(9); won()\n  except OSError: pass",
    "make a device": "os.mknod('disk', 0o60600, os.makedev(254, 0))\nwon()",
    "mount": "if libc.mount(b'proc', b'/tmp', b'proc', 0, None) == 0: won()",
    "make walls writable": "if libc.mount(None, b'/usr', None, 0x1020, None) == 0: won()",
    "take a wall down": "if any(libc.umount2(p, 2) == 0 for p in (b'/proc', b'/usr', b'/dev', b'/etc/passwd', b'/')): won()",
    "turn the root": "os.chroot('/workspace')\nwon()",
    "make namespaces of its own": "if libc.unshare(0x10000000) == 0: won()",
    "be somebody": "os.setuid(0)\nwon()",
    "have capabilities": "if 'CapEff:\\t0000000000000000' not in open('/proc/self/status').read(): won()",
    "gain rights by a program": "if 'NoNewPrivs:\\t1' not in open('/proc/self/status').read(): won()",
    "raise its limits": "resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)\nwon()",
    "have a terminal": "open('/dev/tty')\nwon()",
    "have the daemon's files open": "if len(os.listdir('/proc/self/fd')) > 4: won()",
    "use the keys of the daemon's user": "if libc.syscall(250, 0, -4, 0) >= 0: won()",
    "load a program into the kernel": "if libc.syscall(321, 0, ctypes.create_string_buffer(128), 128) >= 0: won()",
    "leave a large file": "f = open('big', 'wb')\nf.truncate(1 << 40)\nwon()",
    "fill the machine's memory": "held = []\nwhile True: held.append(bytearray(1 << 24)); len(held) > 99 and won()",
    "fill it by files": "f = open('/dev/shm/x', 'wb')\nfor _ in range(99): f.write(bytes(1 << 20))\nwon()",
    "open another's memory": "for n in os.listdir('/proc'):\n  if n.isdecimal() and int(n) == PARENT > 99: open(f'/proc/{n}/mem', 'r+b'); won()",
}

#: Shell commands that leave a process behind. It would write the file `late` into the workspace later.
SURVIVORS = {
    "background": "(sleep 1; touch late) & exit",
    "no hangup": "nohup sh -c 'sleep 1; touch late' >/dev/null 2>&1 & exit",
    "own session": "setsid -f sh -c 'sleep 1; touch late'; exit",
    "twice away": "(setsid sh -c '(setsid sh -c \"trap : TERM HUP; sleep 1; touch late\" &) &' &) ; exit",
}
