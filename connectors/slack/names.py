"""Names of people: looked up once, kept for a while, with a short limit on waiting."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from connectors import answers
from connectors.slack.api import COSMETIC_SECONDS, ApiFailed, SlackApi

_KEPT = 2_000
#: The fields that hold the name of a person, in order of preference.
_NAMES = (("profile", "display_name"), ("profile", "real_name"), ("real_name",), ("name",))
#: Names looked up for one message; further people keep their ids.
_ASKED_AT_ONCE = 10
#: An event must be acknowledged within three seconds.
_WAIT_SECONDS = 0.5


class Names:
    def __init__(self, *, api: SlackApi) -> None:
        self._api = api
        self._known: OrderedDict[str, str] = OrderedDict()

    async def of(self, people: Sequence[str]) -> Mapping[str, str]:
        """Return names by id; an id is missing if its name was not found in time."""
        unknown = [user for user in people if user and user not in self._known][:_ASKED_AT_ONCE]
        if unknown:
            asked = asyncio.gather(*map(self._ask, unknown))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asked, _WAIT_SECONDS)
        return {user: self._known[user] for user in people if user in self._known}

    async def _ask(self, user: str) -> None:
        try:
            answer = await self._api.ask("users.info", lambda web: web.users_info(user=user), within=COSMETIC_SECONDS)
        except ApiFailed:
            return
        found = (answers.text(answer.data, "user", *path) for path in _NAMES)
        if name := next(filter(None, found), ""):
            self._known[user] = name
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
