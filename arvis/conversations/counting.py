"""Sizes of requests and windows of models, for the runner, and its new knowledge about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from arvis.conversations.calibration import estimator_of, learn
from arvis.conversations.tokens import measure_request
from arvis.conversations.windows import own_of, window_of
from arvis.domain.measures import Measure
from arvis.domain.runs import RunRequest
from arvis.ports.compactions import Calibration
from arvis.ports.store import Transaction


class ModelCounting:
    """`Counting` of the runner. `windows` are those of the configuration, `replies` its longest replies by model, and `reply`
    the one of all other models (None: the runner's caller knows)."""

    def __init__(
        self, *, windows: Mapping[str, int], replies: Mapping[str, int] | None = None, reply: int | None = None
    ) -> None:
        self._windows = dict(windows)
        self._replies = dict(replies or {})
        self._reply = reply

    def measure(self, request: RunRequest) -> Measure:
        return measure_request(request)

    def tokens(self, measure: Measure, calibration: Calibration | None) -> int:
        return estimator_of(calibration).of(measure)

    def window(self, provider: str, model: str, learnt: int | None) -> int:
        return window_of(provider, model, self._windows, learnt)

    def reply(self, provider: str, model: str) -> tuple[int | None, bool]:
        """Return the longest reply in tokens, and whether the configuration gives it for this exact model."""
        own = own_of(provider, model, self._replies)
        return (self._reply, False) if own is None else (own, True)


def note_counts(
    tx: Transaction, counted: Sequence[tuple[str, Measure, int]], limits: Sequence[tuple[str, int]], now: int
) -> None:
    """Store the `counted` and `limits` of a run's trail, in the commit that stores its findings."""
    for model, measure, tokens in counted:
        known = tx.calibrations.get(model)
        learnt = learn(known, model, measure, tokens)
        if learnt != known:
            tx.calibrations.put(learnt, now)
    for model, limit in limits:
        known = tx.calibrations.get(model) or Calibration(model, (), 0)
        if known.most != limit:
            tx.calibrations.put(replace(known, most=limit), now)
