"""Read files that people send. Their type is decided by their bytes, never by their names; a file that could be a
bomb is measured first, or opened in a child process with little memory and time (reliability.md H25, S7)."""

from __future__ import annotations

from arvis.media.reading import MediaReader, Reading, lost, path_of

__all__ = ["MediaReader", "Reading", "lost", "path_of"]
