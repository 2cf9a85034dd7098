"""The helpers that speech engines share: names of sound files, and folders for them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from arvis.ports.transcriber import Sound

_SUFFIXES = {
    "audio/ogg": ".ogg",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "audio/webm": ".webm",
    "audio/mp4": ".m4a",
    "audio/flac": ".flac",
    "audio/amr": ".amr",
}
#: The variables of our environment that a program of the owner may see.
_SHOWN = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


def name_of(sound: Sound) -> str:
    """Return a file name. Engines rely on its extension, and names given by people may have none or a wrong one."""
    return f"voice{_SUFFIXES.get(sound.content_type, '.bin')}"


@contextmanager
def laid_out(sound: Sound) -> Iterator[Path]:
    """Write the sound to a private file, and delete it afterwards."""
    with tempfile.TemporaryDirectory(prefix="arvis-voice-") as folder:
        path = Path(folder) / name_of(sound)
        path.write_bytes(sound.data)
        yield path


def environment_of(environ: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.defpath, **{name: environ[name] for name in _SHOWN if name in environ}}
