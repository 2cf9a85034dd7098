"""The Slack connector, assembled from its parts.

`send`, `fetch`, drafts and `check` work without `run`, because every process can send while one process receives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.signature import SignatureVerifier

from arvis.domain.messages import Address, Button, Delivery
from arvis.domain.platforms import Draft, Part, Piece
from arvis.ports.connector import (
    BotSettings,
    BotUp,
    Capabilities,
    ConnectorServices,
    Guarantee,
    Receipt,
    SetupFinding,
    TokenRefused,
    WebhookAnswer,
)
from arvis.ports.inbox import Inbox
from connectors import answers
from connectors.slack import checking
from connectors.slack.api import ApiFailed, SlackApi
from connectors.slack.catching_up import CatchingUp, Reading
from connectors.slack.files import Files
from connectors.slack.formatting import parts_of
from connectors.slack.handling import Answering, Handler, Names, Parents, Progress, Rooms
from connectors.slack.history import History
from connectors.slack.incoming import BotIdentity, Reader
from connectors.slack.messages import Drafts, Messages
from connectors.slack.outgoing import Sending
from connectors.slack.receiving import BUSY, PATIENCE, Dispatching, Listening, Socket
from connectors.slack.settings import SlackConfig, read_config


def create(settings: BotSettings, services: ConnectorServices) -> SlackConnector:
    """Return the connector for these settings. Raise `BadSetting`."""
    return SlackConnector(name=settings.name, config=read_config(settings, services), services=services)


class SlackConnector:
    platform = "slack"
    typing_seconds = 60.0
    draft_seconds = 1.5

    def __init__(
        self,
        *,
        name: str,
        config: SlackConfig,
        services: ConnectorServices,
        ping_seconds: float = 5.0,
        patience: float = PATIENCE,
    ) -> None:
        self.name = name
        self._config = config
        self._services = services
        self._ping_seconds = ping_seconds
        self._patience = patience
        self._api = SlackApi(token=config.token, base_url=config.api_url)
        self._files = Files(api=self._api, token=config.token)
        self._history = History(api=self._api)
        messages = Messages(api=self._api)
        self._sending = Sending(
            messages=messages,
            files=self._files,
            history=self._history,
            clock=services.clock,
            identify=self._identify,
        )
        self._drafts = Drafts(api=self._api, messages=messages)
        self._answering = Answering(api=self._api)
        self._names = Names(api=self._api)
        self._parents = Parents(api=self._api)
        self._rooms = Rooms(api=self._api)
        self._me: BotIdentity | None = None
        #: The progress of the catch-up. Handlers of HTTP requests and of socket envelopes share it, although they use
        #: different inboxes.
        self._progress = Progress()
        self._intake: tuple[Inbox, Handler, Dispatching] | None = None

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(guarantee=Guarantee.RECONCILED, late_after=self._config.late_after, late=self._config.late)

    # --- Events ---

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:
        self._me = self._intake = None
        self._progress.complete = False
        try:
            me = await self._identify()
            handler, dispatching = self._intake_for(inbox, me)
            catching_up = CatchingUp(
                name=self.name,
                inbox=inbox,
                handler=handler,
                history=self._history,
                clock=self._services.clock,
                progress=self._progress,
            )
            reading = Reading(catching_up)
            try:
                if self._config.app_token is None:
                    up(BotUp(me.user, me.name))
                    reading.begin()
                    await asyncio.Event().wait()
                else:
                    await self._listen(self._config.app_token.get_secret_value(), me, dispatching, reading, up)
            finally:
                await reading.stop()
        except ApiFailed as error:
            raise self._refusal(error) from None

    async def _listen(
        self, app_token: str, me: BotIdentity, dispatching: Dispatching, reading: Reading, up: Callable[[BotUp], None]
    ) -> None:
        def greeted() -> None:
            reading.begin()
            up(BotUp(me.user, me.name))

        listening = Listening(dispatching=dispatching, ready=reading.wait, greeted=greeted, clock=self._services.clock)
        socket = Socket(
            app_token=app_token,
            web_client=self._api.client(),
            api=self._api,
            clock=self._services.clock,
            ping_seconds=self._ping_seconds,
            patience=self._patience,
        )
        await listening.run(socket)

    async def webhook(self, headers: Mapping[str, str], body: bytes, inbox: Inbox) -> WebhookAnswer:
        """Handle an HTTP request by Slack: an event, a click or a slash command."""
        secret = self._config.signing_secret
        if secret is None:
            return WebhookAnswer(404)
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return WebhookAnswer(400)
        if not _is_signed(secret.get_secret_value(), text, headers):
            return WebhookAnswer(401)
        try:
            _, dispatching = self._intake_for(inbox, await self._identify())
        except ApiFailed:
            return WebhookAnswer(BUSY)
        request = AsyncBoltRequest(mode="http", body=text, headers={key: [value] for key, value in headers.items()})
        response = await dispatching.dispatch(request)
        kind = response.first_headers().get("content-type", "text/plain")
        # After an error in the connector, Slack gets the same status as for a full disk, and sends the event again.
        status = BUSY if response.status >= 500 else response.status  # noqa: PLR2004  (HTTP's own number)
        return WebhookAnswer(status, str(response.body or "").encode(), kind)

    def _intake_for(self, inbox: Inbox, me: BotIdentity) -> tuple[Handler, Dispatching]:
        if self._intake is None or self._intake[0] is not inbox:
            commands = frozenset(hint.name for hint in self._services.commands)
            reader = Reader(self.name, self._config, me, commands)
            handler = Handler(
                reader=reader,
                inbox=inbox,
                names=self._names,
                parents=self._parents,
                rooms=self._rooms,
                answering=self._answering,
                progress=self._progress,
            )
            secret = self._config.signing_secret
            dispatching = Dispatching(handler=handler, me=me, secret=secret.get_secret_value() if secret else "")
            self._intake = inbox, handler, dispatching
        return self._intake[1:]

    async def _identify(self) -> BotIdentity:
        """Return the bot's identity. Raise `ApiFailed`."""
        if self._me is None:
            answer = await self._api.ask("auth.test", lambda web: web.auth_test())
            me = BotIdentity(*(answers.text(answer.data, key) for key in ("team_id", "user_id", "bot_id", "user")))
            if not (me.team and me.user):
                raise answer.lacks("the bot's user")
            self._me = me
        return self._me

    def _refusal(self, error: ApiFailed) -> Exception:
        if not error.token_refused:
            return ConnectionError(str(error))
        key = "app_token" if self._me is not None else "bot_token"
        self._me = None
        return TokenRefused(f"Slack does not accept `{key}` ({error.code}). {checking.fix_of(key)}")

    # --- Messages ---

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        return parts_of(delivery, self._services.max_parts)

    async def send(self, part: Part) -> Receipt:
        return await self._sending.send(part)

    async def find(self, part: Part) -> Receipt | None:
        return await self._sending.find(part)

    async def typing(self, address: Address) -> None:
        await self._drafts.typing(address)

    async def show_draft(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str | None:
        return await self._drafts.show(address, key, text, buttons)

    async def change_draft(self, address: Address, platform_id: str, text: str, buttons: Sequence[Button]) -> None:
        await self._drafts.change(address, platform_id, text, buttons)

    async def remove_draft(self, address: Address, platform_id: str) -> None:
        await self._drafts.remove(address, platform_id)

    async def find_draft(self, draft: Draft) -> str | None:
        return await self._sending.find_draft(draft)

    async def fetch(self, source: str, max_bytes: int) -> bytes:
        return await self._files.fetch(source, max_bytes)

    async def check(self) -> Sequence[SetupFinding]:
        return await checking.check(self._api, self._config)

    async def close(self) -> None:
        await self._answering.close()
        await self._names.close()
        await self._api.close()


def _is_signed(secret: str, body: str, headers: Mapping[str, str]) -> bool:
    """Return whether the signature is valid. Any client can send headers for which the verifier raises an error, such
    as a time that is not a number or a signature with Greek letters."""
    try:
        return SignatureVerifier(secret).is_valid_request(body, dict(headers))
    except (ValueError, TypeError):
        return False
