"""Reads files that people send or that tools fetch. The type of a file is detected from its bytes, not from its name.
The size of pictures is checked before use, and documents are opened in a child process whose memory and time are
limited, because a small file can expand to a very large one."""

from __future__ import annotations

from arvis.media.reading import MediaReader, Reading, lost, path_of
from arvis.media.web_files import WebFileReader

__all__ = ["MediaReader", "Reading", "WebFileReader", "lost", "path_of"]
