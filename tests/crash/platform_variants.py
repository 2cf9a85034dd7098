"""Deliberately broken builds for the campaign with platforms: each must be caught."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.crash.platform_history import DISCORD
from tests.crash.platform_oracle import Rule, a_keyed_platform_shows_it_once
from tests.crash.variants.build import Edit


@dataclass(frozen=True, slots=True)
class PlatformVariant:
    """A broken build."""

    name: str
    #: The promise that the build breaks.
    breaks: str
    edits: Sequence[Edit]
    #: The rule that must find the fault.
    caught_by: Rule
    #: The platform: each kill falls just as something is sent there.
    aim: str
    #: Number of kills that is enough to find the fault.
    kills: int


NO_NONCE = PlatformVariant(
    name="no_nonce",
    breaks="a message has no key, so Discord shows an interrupted message twice",
    edits=(
        Edit(
            "connectors/discord/outgoing.py",
            old='    return body | {"nonce": nonce, "enforce_nonce": True} | reply\n',
            new="    return body | reply\n",
        ),
    ),
    caught_by=a_keyed_platform_shows_it_once,
    aim=DISCORD,
    kills=3,
)
