"""The deliberately broken builds, by name."""

from __future__ import annotations

from tests.crash.variants import (
    ack_before_commit,
    effects_outside_commit,
    live_before_replay,
    no_fencing,
    no_inbox_key,
    no_lease_recovery,
    open_calls_are_forgotten,
    send_before_commit,
    unread_is_settled,
)

VARIANTS = {
    each.VARIANT.name: each.VARIANT
    for each in (
        ack_before_commit,
        effects_outside_commit,
        live_before_replay,
        no_fencing,
        no_inbox_key,
        no_lease_recovery,
        open_calls_are_forgotten,
        send_before_commit,
        unread_is_settled,
    )
}
