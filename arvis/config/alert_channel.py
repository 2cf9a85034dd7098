"""`owners.alert_channel`: the channel in which owners get alerts about failures, as `platform:channel` or
`platform/bot:channel`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from arvis.config.values import Refused
from arvis.domain.messages import Address

#: The key of `owners` that is no platform.
ALERT_CHANNEL = "alert_channel"

#: A bot that has no name in the configuration.
_UNNAMED = "main"
_WEB = "web"
_PLACE = re.compile(r"([^:/\s]+)(?:/([^:/\s]+))?:(\S+)")
_FORM = "Write it as platform:channel or platform/bot:channel, as in slack:C0123ABC."


def alert_address(owners: Mapping[str, Sequence[str]], bots: Collection[tuple[str, str]]) -> Address | None:
    """The place that is named, None where none is; `bots` are platforms and names of the configuration. Raises
    `Refused`."""
    written = owners.get(ALERT_CHANNEL, ())
    if not written:
        return None
    match = _PLACE.fullmatch(written[0])
    if len(written) > 1 or match is None:
        raise Refused("must name one place", _FORM)
    platform, name, channel = match.groups()
    names = sorted(bot for of, bot in bots if of == platform)
    if platform == _WEB:
        names = [_WEB]
    if name is None and len(names) > 1:
        raise Refused(f"does not say which bot of {platform} tells them", f"Write {platform}/{names[0]}:{channel}.")
    return Address(platform, name or (names[0] if names else _UNNAMED), channel)
