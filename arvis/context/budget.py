"""How many tokens one call may take: the one budget that trimming, compaction and replies go by (behaviour §7)."""

from __future__ import annotations

from dataclasses import dataclass

#: Room for the reply and for what estimates miss: the smaller of this and a quarter of the ceiling.
RESERVE = 20_000
#: No reply of a chat is longer, in tokens, unless the configuration says so.
LONGEST_REPLY = 4_096


@dataclass(frozen=True, slots=True)
class Budget:
    """Of an agent on a model. `window` is what the model holds, prompt and reply together; `context_tokens` is the
    agent's own ceiling (None: the whole window), `longest_reply` what the configuration allows. All in tokens."""

    window: int
    context_tokens: int | None = None
    longest_reply: int = LONGEST_REPLY

    @property
    def ceiling(self) -> int:
        return min(self.window, self.context_tokens or self.window)

    @property
    def reserve(self) -> int:
        return min(max(RESERVE, self.longest_reply), self.ceiling // 4)

    @property
    def usable(self) -> int:
        """What a prompt is trimmed to."""
        return self.ceiling - self.reserve

    @property
    def threshold(self) -> int:
        """Above it a conversation is compacted. Never above `usable`: nothing is trimmed that was not summarised."""
        return self.ceiling * 3 // 4

    @property
    def reply(self) -> int:
        """The longest reply to ask for."""
        return min(self.longest_reply, self.reserve)

    @property
    def most(self) -> int:
        """What no prompt may exceed, or the model refuses it."""
        return self.window - self.reply

    @property
    def room_for_tools(self) -> int:
        """What the rounds of tools in a turn may take together."""
        return self.usable // 2
