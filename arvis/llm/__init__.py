"""Model calls: select an account, call its provider, retry after temporary errors, and return the receipts."""

from __future__ import annotations

from arvis.llm.attempts import Run, RunFailed, Trail, Unserved
from arvis.llm.runner import Runner
from arvis.llm.selection import DEMO

__all__ = ["DEMO", "Run", "RunFailed", "Runner", "Trail", "Unserved"]
