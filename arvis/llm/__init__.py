"""One model call: choose the account, call its provider, try again what may pass, and keep the receipts."""

from __future__ import annotations

from arvis.llm.attempts import Run, RunFailed, Trail, Unserved
from arvis.llm.runner import Runner
from arvis.llm.selection import DEMO

__all__ = ["DEMO", "Run", "RunFailed", "Runner", "Trail", "Unserved"]
