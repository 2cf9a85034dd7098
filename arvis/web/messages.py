"""Messages over HTTP: send one, ask what became of it, wait until it is answered."""

from __future__ import annotations

from starlette.responses import Response

from arvis.domain.errors import NotFound
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, MessageTimeline
from arvis.web.drafts import Intake
from arvis.web.endpoints import Call, Endpoint, answer
from arvis.web.gate import Gate
from arvis.web.identity import ANYONE, READ, SEND, address_for
from arvis.web.patience import Patience
from arvis.web.schemas import MESSAGE, MESSAGE_ACCEPTED, NUMBER, TIMELINE
from arvis.web.statuses import RESTING, StatusBoard
from arvis.web.views import timeline_view

_DEFAULT_WAIT = 30.0
_LONGEST_WAIT = 120.0


class MessageRoutes:
    def __init__(
        self, *, intake: Intake, insights: Insights, gate: Gate, board: StatusBoard, clock: Clock, patience: Patience
    ) -> None:
        self._intake = intake
        self._insights = insights
        self._gate = gate
        self._board = board
        self._clock = clock
        self._patience = patience

    def endpoints(self) -> list[Endpoint]:
        one = "/api/messages/{message}"
        return [
            Endpoint(
                "POST",
                "/api/message",
                "Send a message; answered once it is committed",
                SEND,
                self._send,
                {202: MESSAGE_ACCEPTED},
                body=MESSAGE,
                large=True,
            ),
            Endpoint("GET", one, "What became of a message, and why", ANYONE, self._show, {200: TIMELINE}),
            Endpoint(
                "GET",
                f"{one}/wait",
                "The same, as soon as the status is final or `waiting`, or after `timeout` seconds",
                ANYONE,
                self._wait,
                {200: TIMELINE},
                query={"timeout": {**NUMBER, "minimum": 0, "default": _DEFAULT_WAIT}},
            ),
        ]

    async def _send(self, call: Call) -> Response:
        fields = await call.fields()
        sender = self._gate.sender(call.identity, fields.label("userId"), fields.display_name("userName"))
        address = address_for(call.identity, fields.label("channelId") or f"web-{sender.user_id}")
        sent = await self._intake.send(await self._intake.draft(fields), address, sender)
        return answer({"ok": True, "messageId": sent.message_id}, 202)

    async def _show(self, call: Call) -> Response:
        return answer(timeline_view(await self._timeline(call)))

    async def _wait(self, call: Call) -> Response:
        """Watches first and reads then, so that no change falls between the two."""
        end = self._clock.monotonic() + call.seconds("timeout", _DEFAULT_WAIT, _LONGEST_WAIT)
        with self._board.watch(call.id("message")) as watch:
            timeline = await self._timeline(call)
            status = timeline.status
            while status not in RESTING and not watch.closed and not await call.request.is_disconnected():
                remaining = end - self._clock.monotonic()
                if remaining <= 0:
                    break
                await watch.changed(min(remaining, self._patience.look))
                found = await self._insights.status(timeline.message.id)
                status = timeline.status if found is None else found[0]
            if status is not timeline.status:
                timeline = await self._timeline(call)
        return answer(timeline_view(timeline))

    async def _timeline(self, call: Call) -> MessageTimeline:
        """The timeline, if the asker may see it: a chat key sees its own messages, and nothing of others exists."""
        timeline = await self._insights.message(call.id("message"))
        if timeline is None or not (
            call.identity.role in READ or await self._gate.owns(call.identity, timeline.message.principal_id)
        ):
            raise NotFound("There is no such message.", fix="Check the messageId.")
        return timeline
