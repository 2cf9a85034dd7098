"""The path of a received file in the agent's own folder."""

from __future__ import annotations

import re

from arvis.domain.messages import Attachment

_FOLDER = "files"
_LONGEST = 60
_ODD = re.compile(r"[^\w.\- ]+")
_MARK = 6


def path_of(file: Attachment) -> str:
    """Return a safe and unique path, whatever name the sender gave: it contains part of the file's hash."""
    name = _ODD.sub("_", file.filename.replace("\\", "/").rpartition("/")[2]).strip(" .") or "file"
    stem, dot, suffix = name.rpartition(".")
    if dot and len(suffix) < _LONGEST // 2:
        name = f"{stem[: _LONGEST - len(suffix)]}.{suffix}"
    return f"{_FOLDER}/{file.sha256[:_MARK]}-{name[: _LONGEST + 1]}"
