"""The progress of the first setup, derived from existing rows. Only the dismissal is stored."""

from __future__ import annotations

from starlette.responses import Response

from arvis.bots.service import BotService
from arvis.domain.messages import Role
from arvis.llm.accounts import AccountService
from arvis.ports.browsing import ConversationFilter
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.identity import OWN, PLATFORM
from arvis.web.http.schema import BOOLEAN, OK, object_schema

_DISMISSED = "setup.dismissed"
_DEMO = "demo"
#: The names of agents that exist from the first start on.
_GIVEN_AGENTS = frozenset({"helper", "conductor"})
#: The number of recent conversations of this port that are searched, each with its newest messages.
_LOOK = 20

SETUP = object_schema(
    {
        "hasPassword": BOOLEAN,
        "hasAccount": {**BOOLEAN, "description": "An account other than the demo."},
        "hasOwnAgent": {
            **BOOLEAN,
            "description": "An agent besides `helper` and the conductor, or one of these was changed.",
        },
        "hasBot": BOOLEAN,
        "hasReply": {**BOOLEAN, "description": "An agent has replied to a message on the dashboard or the API."},
        "dismissed": BOOLEAN,
        "done": {**BOOLEAN, "description": "All steps are done, or the setup was dismissed."},
    }
)


class SetupRoutes:
    """Routes of the setup. `password` states whether the configuration has a password."""

    def __init__(
        self,
        *,
        insights: Insights,
        store: Store,
        accounts: AccountService,
        bots: BotService,
        clock: Clock,
        password: bool,
    ) -> None:
        self._insights = insights
        self._store = store
        self._accounts = accounts
        self._bots = bots
        self._clock = clock
        self._password = password

    def endpoints(self) -> list[Endpoint]:
        path = "/api/setup"
        return [
            Endpoint("GET", path, "Show the progress of the first setup", OWN, self._show, {200: SETUP}),
            Endpoint("POST", f"{path}/dismiss", "Dismiss the first setup", OWN, self._dismiss, {200: OK}),
        ]

    async def _show(self, _: Call) -> Response:
        has_password, dismissed, own_agent = await self._store.read(_read_progress)
        registry = self._accounts.book
        usable = (*registry.configured, *registry.usable)
        found = {
            "hasPassword": self._password or has_password,
            "hasAccount": any(account.provider != _DEMO for account in usable),
            "hasOwnAgent": own_agent,
            "hasBot": any(spec.platform != "console" for spec in self._bots.registry.specs),
            "hasReply": await self._has_reply(),
        }
        return answer({**found, "dismissed": dismissed, "done": dismissed or all(found.values())})

    async def _dismiss(self, _: Call) -> Response:
        await self._store.write(_set_dismissed, self._clock.now())
        return answer({"ok": True})

    async def _has_reply(self) -> bool:
        page = await self._insights.talks(ConversationFilter(platform=PLATFORM), limit=_LOOK, cursor=None)
        for conversation in page.items:
            messages = await self._insights.conversation_messages(conversation.id, limit=_LOOK, cursor=None)
            if any(message.role is Role.ASSISTANT for message in messages.items):
                return True
        return False


def _read_progress(tx: Transaction) -> tuple[bool, bool, bool]:
    agents = tx.agents.all()
    own = any(agent.slug not in _GIVEN_AGENTS and not agent.is_conductor for agent in agents)
    changed = any(len(tx.agents.versions(agent.id, 2)) > 1 for agent in agents)
    return tx.users.any_password(), tx.settings.get(_DISMISSED) is not None, own or changed


def _set_dismissed(tx: Transaction, now: int) -> None:
    tx.settings.put(_DISMISSED, str(now), now)
