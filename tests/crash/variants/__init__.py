"""The catalogue of deliberately broken builds, by name."""

from __future__ import annotations

from tests.crash.variants import ack_before_commit, no_lease_recovery

VARIANTS = {each.VARIANT.name: each.VARIANT for each in (ack_before_commit, no_lease_recovery)}
