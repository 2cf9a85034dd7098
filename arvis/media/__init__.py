"""What stands in files that people send. Their bytes decide what they are, never their names; whatever could be a bomb is
measured before, or opened in a child process with little memory and time (reliability.md H25, S7)."""

from __future__ import annotations

from arvis.media.naming import path_of
from arvis.media.reading import MediaReader, Reading, lost

__all__ = ["MediaReader", "Reading", "lost", "path_of"]
