"""One model call: choose the account, call its provider, try again what may pass, and keep the receipts."""

from __future__ import annotations

from arvis.runner.attempt import Run, RunFailed, Trail, Unserved
from arvis.runner.choice import DEMO
from arvis.runner.runner import Runner

__all__ = ["DEMO", "Run", "RunFailed", "Runner", "Trail", "Unserved"]
