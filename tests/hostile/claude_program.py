"""A hostile program in the place of `claude`: it does what the newest message names (`case:… id:… manner:…`).

The interpreter of the campaign runs it with the standard library alone. The campaign also imports `CASES`.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

Document = dict[str, Any]

GOOD = "All is well."
_MEGABYTE = 1 << 20
_ASKED = re.compile(r"case:([a-z0-9-]+) id:([a-z0-9-]+) manner:(once|always)")

#: Program of a child that must not outlive its parent: it ignores SIGTERM and sleeps for ten minutes.
_SLEEP = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


# -- a good program -----------------------------------------------------------------------------------------


def piece(text: Any) -> Document:
    delta = {"type": "text_delta", "text": text}
    return {"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": delta}}


def end(text: Any = GOOD, **more: Any) -> Document:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 1, "output_tokens": 7}
    good = {"type": "result", "subtype": "success", "is_error": False, "stop_reason": "end_turn", "usage": usage}
    return {**good, "result": text, **more}


def answer(text: str = GOOD) -> list[Document]:
    model = {"type": "assistant", "message": {"model": "hostile", "content": [{"type": "text", "text": text}]}}
    return [{"type": "system", "subtype": "init"}, piece(text[:3]), piece(text[3:]), model, end(text)]


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def say(documents: Iterable[Document]) -> None:
    write(b"".join(json.dumps(document).encode() + b"\n" for document in documents))


# -- misbehaviour -------------------------------------------------------------------------------------------


def child(code: str, *arguments: str) -> None:
    # It inherits the output, so a reader that waits for the end of the output waits for it.
    subprocess.Popen([sys.executable, "-I", "-S", "-c", code, *arguments])


def orphan() -> None:
    """Start a child that leaves its parent, its process group and its session, and ignores SIGTERM."""
    code = "import os\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n" + _SLEEP
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
    say(answer())


def children() -> None:
    for _ in range(20):
        child(_SLEEP)
    say(answer())


def hang(*, deaf: bool, first: bool = False) -> None:
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if first:
        say(answer()[:2])
    time.sleep(600)


def fork_and_hang() -> None:
    child(_SLEEP)
    hang(deaf=True)


def answer_and_hang() -> None:
    say(answer())
    time.sleep(600)


def close_and_hang() -> None:
    say(answer())
    os.close(1)
    os.close(2)
    time.sleep(600)


def flood(data: bytes, *, most: int = 1 << 40, to: int = 1) -> None:
    for _ in range(most // len(data)):
        os.write(to, data)
    say(answer())


def drip() -> None:
    for byte in b"".join(json.dumps(document).encode() + b"\n" for document in answer("Hi.")):
        write(bytes([byte]))


def die(number: int) -> None:
    say(answer()[:2])
    os.kill(os.getpid(), number)


def leave(code: int) -> None:
    sys.exit(code)


def cut(share: float) -> None:
    data = b"".join(json.dumps(document).encode() + b"\n" for document in answer())
    write(data[: int(len(data) * share)])


def fail(words: Any, status: Any = None, **more: Any) -> None:
    say([end(words, is_error=True, api_error_status=status, **more)])
    sys.exit(1)


def complain() -> None:
    key = os.environ.get("ANTHROPIC_API_KEY", "none")
    sys.stderr.write(f"Traceback (most recent call last): {key} \x1b[31m\0")
    sys.exit(3)


def fill() -> None:
    """Allocate memory without end."""
    kept = []
    while True:
        kept.append(bytearray(256 * _MEGABYTE))


def mutate(number: int) -> None:
    """Send a good answer in which one value has a wrong type."""
    rng = random.Random(number)
    documents = answer()
    *above, last = rng.choice(list(_places(documents)))
    place: Any = documents
    for step in above:
        place = place[step]
    place[last] = rng.choice([None, 5, -1, 10**25, 0.5, "", "odd", [], [[]], {}, {"a": {}}, True, "\ud800\0"])
    write(b"".join(json.dumps(document).encode() + b"\n" for document in documents))


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    for step, inside in (
        enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    ):
        yield (*above, step)
        yield from _places(inside, (*above, step))


def _raw(data: bytes) -> Callable[[], None]:
    """Return a function that writes these bytes before a good answer."""

    def act() -> None:
        write(data)
        say(answer())

    return act


def _saying(*documents: Document) -> Callable[[], None]:
    return lambda: say(documents)


_FAILURES: Mapping[str, tuple[Any, Any]] = {
    "fails-auth": ("Invalid API key", 401),
    "fails-quota": ("Credit balance is too low", 400),
    "fails-overloaded": ("API Error: 529 Overloaded", 529),
    "fails-timeout": ("API Error: Request timed out.", None),
    "fails-too-long": ("Prompt is too long", 400),
    "fails-status-text": ("no", "many"),
    "fails-status-huge": ("no", 10**30),
    "fails-words-list": (["no"], 500),
    "fails-words-long": ("x" * _MEGABYTE, 500),
    "fails-words-odd": ("\x1b[31m\0\ud800\r\n", 500),
}

_ENDS: Mapping[str, Document] = {
    "result-number": end(5),
    "result-null": end(None),
    "result-list": end(["a"]),
    "result-empty": end(""),
    "result-spaces": end("  \n "),
    "result-surrogate": end("a\ud800\0b"),
    "result-10mb": end("x" * (10 * _MEGABYTE)),
    "subtype-unknown": end(subtype="odd"),
    "subtype-list": end(subtype=[]),
    "error-text": end(is_error="false"),
    "reason-refusal": end(stop_reason="refusal"),
    "reason-unknown": end(stop_reason="bored"),
    "reason-number": end(stop_reason=5),
    "reason-long": end(stop_reason="x" * _MEGABYTE),
    "usage-none": end(usage=None),
    "usage-list": end(usage=[1]),
    "usage-negative": end(usage={"input_tokens": -5, "output_tokens": -5}),
    "usage-huge": end(usage={"input_tokens": 10**30, "output_tokens": 10**30}),
    "usage-text": end(usage={"input_tokens": "5", "output_tokens": {}}),
    "usage-infinite": end(usage={"input_tokens": float("inf"), "output_tokens": float("nan")}),
    "mark-only": {"type": "result"},
}

_RAWS: Mapping[str, bytes] = {
    "chatter": b"warning: something\n" * 1_000,
    "null-bytes": b"\0" * 10_000 + b"\n",
    "byte-order-mark": b"\xef\xbb\xbf",
    "utf8-invalid": b'{"a": "\xff\xc3"}\n',
    "json-malformed": b'{"a": }\n',
    "json-list": b"[]\n5\nnull\n",
    "json-deep": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "json-open": b"{" * 100_000 + b"\n",
    "json-many-keys": b"{" + b",".join(b'"%d":0' % number for number in range(1_000_000)) + b"}\n",
    "json-some-keys": b"{" + b",".join(b'"%d":0' % number for number in range(95_000)) + b"}\n",
    "blank-lines": b"\n" * _MEGABYTE,
    "line-20mb": b"x" * (20 * _MEGABYTE) + b"\n",
}

CASES: Mapping[str, Callable[[], None]] = {
    "orphan": orphan,
    "children": children,
    "hang": lambda: hang(deaf=False),
    "hang-deaf": lambda: hang(deaf=True),
    "hang-midway": lambda: hang(deaf=True, first=True),
    "hang-and-fork": fork_and_hang,
    "hang-after-answer": answer_and_hang,
    "hang-closed": close_and_hang,
    "flood": lambda: flood(b"x" * 65_536),
    "flood-lines": lambda: flood(b"{}\n" * 20_000),
    "flood-pieces": lambda: flood(json.dumps(piece("and so on ")).encode() + b"\n"),
    "flood-errors": lambda: flood(b"x" * 65_536, most=64 * _MEGABYTE, to=2),
    "flood-errors-endless": lambda: flood(b"x" * 65_536, to=2),
    "drip": drip,
    "die-kill": lambda: die(signal.SIGKILL),
    "die-segv": lambda: die(signal.SIGSEGV),
    "leave-0": lambda: leave(0),
    "leave-1": lambda: leave(1),
    "leave-255": lambda: leave(255),
    "complain": complain,
    "fill": fill,
    "pieces-none": _saying(end("only at the end")),
    "pieces-only": _saying(*answer()[:-1]),
    "pieces-wrong": _saying(piece(5), piece(None), piece(["a"]), end()),
    "pieces-million": lambda: say([*([piece("0123456789")] * 100_000), end()]),
    "answer-twice": _saying(*answer("One."), *answer("Two.")),
    "after-the-end": _saying(*answer(), piece(" and more"), {"type": "odd"}),
    **{f"cut-{tenths}": lambda tenths=tenths: cut(tenths / 10) for tenths in (1, 5, 9)},  # type: ignore[misc]
    **{name: lambda given=given: fail(*given) for name, given in _FAILURES.items()},  # type: ignore[misc]
    **{name: _saying(document) for name, document in _ENDS.items()},
    **{name: _raw(data) for name, data in _RAWS.items()},
    **{f"mutation-{number}": lambda number=number: mutate(number) for number in range(12)},  # type: ignore[misc]
}


def main() -> None:
    asked = _ASKED.findall(sys.stdin.read())
    case, id_, manner = asked[-1] if asked else ("", "", "once")
    seen = Path(sys.argv[0]).parent / f"seen-{id_}"
    again = seen.exists()
    seen.touch()
    if case not in CASES or (manner == "once" and again):
        say(answer())
    else:
        CASES[case]()


if __name__ == "__main__":
    main()
