"""Token counts and context windows of models."""

from __future__ import annotations

from arvis.conversations.calibration import estimator_of, learn
from arvis.conversations.counting import ModelCounting, note_counts
from arvis.conversations.tokens import Estimator, estimate_tokens, measure, measure_request
from arvis.conversations.windows import DEFAULT_WINDOW, window_of

__all__ = [
    "DEFAULT_WINDOW",
    "Estimator",
    "ModelCounting",
    "estimate_tokens",
    "estimator_of",
    "learn",
    "measure",
    "measure_request",
    "note_counts",
    "window_of",
]
