"""The expected results."""

from pathlib import Path

REVISION = "2026-07-28"
PAGE = Path("x")
REASONS = {"server": {}, "client": {}}


def page_of():
    return ""
