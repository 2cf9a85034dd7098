"""How long each channel wants to be left alone, as its platform said. One for all that goes to it, threads and drafts too."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.messages import Address
from arvis.ports.clock import Clock


class Rests:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        #: By channel, on the monotonic clock.
        self._until: dict[Address, float] = {}

    def note(self, address: Address, seconds: float) -> None:
        """Its platform asks for a rest."""
        now = self._clock.monotonic()
        self._until = {channel: until for channel, until in self._until.items() if until > now}
        channel = replace(address, thread="")
        self._until[channel] = max(now + seconds, self._until.get(channel, 0.0))

    def left(self, address: Address) -> float:
        """Seconds; 0 when it may be written to."""
        until = self._until.get(replace(address, thread=""), 0.0)
        return max(0.0, until - self._clock.monotonic())
