"""Events over HTTP: only Slack's own and fresh events are accepted, and each is stored before it is acknowledged."""

from __future__ import annotations

import json
import logging
import time
from typing import Any
from urllib.parse import urlencode

import pytest

from arvis.ports.connector import TakesWebhooks, WebhookAnswer
from arvis.testing.conformance.connector_stage import running
from connectors.slack.connector import SlackConnector
from tests.platforms.recording_inbox import RecordingInbox
from tests.platforms.slack_server import SIGNING_SECRET, Fault, signed
from tests.platforms.slack_server_world import TEAM
from tests.platforms.slack_stage import SlackStage

HTTP: dict[str, Any] = {"app_token": None, "signing_secret": SIGNING_SECRET, "public_url": "https://arvis.example"}


def event(text: str, ts: str = "1790000000.000100") -> str:
    message = {"type": "message", "channel": "D0ANN", "channel_type": "im", "user": "U0ANN", "text": text, "ts": ts}
    return json.dumps({"type": "event_callback", "team_id": TEAM, "event_id": "Ev1", "event": message})


async def post(
    connector: SlackConnector, inbox: RecordingInbox, body: str, headers: dict[str, str] | None = None, **sign: Any
) -> WebhookAnswer:
    assert isinstance(connector, TakesWebhooks)
    return await connector.webhook({**signed(body, **sign), **(headers or {})}, body.encode(), inbox)


async def test_an_event_is_kept_and_said_to_be() -> None:
    async with SlackStage.open() as stage:
        connector, inbox = await stage.connector(**HTTP), RecordingInbox()
        async with running(connector, inbox) as up:
            assert up.user_name == "arvis"
            for number in range(3):
                headers = {"x-slack-retry-num": str(number)} if number else {}
                assert (await post(connector, inbox, event("hello"), headers)).status == 200
        assert inbox.contents == ["hello"]
        assert inbox.messages[0].is_direct
        assert not stage.asked("apps.connections.open")


async def test_it_leaves_the_logs_of_others_alone() -> None:
    async with SlackStage.open() as stage:
        connector, inbox = await stage.connector(**HTTP), RecordingInbox()
        assert (await post(connector, inbox, event("hello"))).status == 200
    assert logging.getLogger("arvis").level == logging.NOTSET


async def test_it_works_where_nothing_runs() -> None:
    async with SlackStage.open() as stage:
        connector, inbox = await stage.connector(**HTTP), RecordingInbox()
        assert (await post(connector, inbox, event("hello"))).status == 200
        assert inbox.contents == ["hello"]


async def test_a_request_does_not_say_that_all_before_it_is_known_while_the_history_is_read() -> None:
    async with SlackStage.open() as stage:
        history = frozenset({"conversations.history"})
        stage.server.faults = [Fault(1, status=429, retry_after=30, methods=history)]
        connector, running_inbox = await stage.connector(**HTTP), RecordingInbox(positions={"D0ANN": 1})
        requests = RecordingInbox(positions={"D0ANN": 1})
        async with running(connector, running_inbox):
            await post(connector, requests, event("hello"))
        assert requests.positions == {"D0ANN": 1}
        assert requests.contents == ["hello"]


async def test_what_could_not_be_kept_is_not_acknowledged() -> None:
    async with SlackStage.open() as stage:
        connector, inbox = await stage.connector(**HTTP), RecordingInbox(refusals=1)
        assert (await post(connector, inbox, event("hello"))).status == 503
        assert inbox.contents == []
        assert (await post(connector, inbox, event("hello"))).status == 200
        assert inbox.contents == ["hello"]


@pytest.mark.parametrize(("secret", "seconds"), [("another", 0), (None, -400), (None, 400)])
async def test_what_slack_did_not_sign_just_now_is_refused_before_anything_else(
    secret: str | None, seconds: float
) -> None:
    async with SlackStage.open() as stage:
        connector, inbox = await stage.connector(**HTTP), RecordingInbox()
        sign: dict[str, Any] = {"at": time.time() + seconds} | ({"secret": secret} if secret else {})
        assert (await post(connector, inbox, event("hello"), **sign)).status == 401
        assert inbox.contents == []
        assert not stage.server.asked


async def test_a_signature_is_for_one_body() -> None:
    async with SlackStage.open() as stage:
        connector, inbox = await stage.connector(**HTTP), RecordingInbox()
        headers = signed(event("hello"))
        assert (await connector.webhook(headers, event("other").encode(), inbox)).status == 401
        assert (await connector.webhook({}, event("hello").encode(), inbox)).status == 401
        assert (await connector.webhook(headers, b"\xff", inbox)).status == 400
        assert not inbox.messages


async def test_the_challenge_is_answered() -> None:
    async with SlackStage.open() as stage:
        connector, inbox = await stage.connector(**HTTP), RecordingInbox()
        body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1aB", "token": "x"})
        answer = await post(connector, inbox, body)
        assert answer.status == 200
        assert json.loads(answer.body) == {"challenge": "3eZbrw1aB"}


async def test_clicks_and_commands_come_as_forms() -> None:
    async with SlackStage.open() as stage:
        connector, inbox = await stage.connector(**HTTP), RecordingInbox()
        form = {"content-type": "application/x-www-form-urlencoded"}
        action = {"type": "button", "action_id": "arvis_0", "value": "yes:1", "action_ts": "1.2"}
        click: dict[str, Any] = {
            "type": "block_actions",
            "user": {"id": "U0ANN", "name": "ann"},
            "channel": {"id": "D0ANN"},
        }
        click |= {"team": {"id": TEAM}, "trigger_id": "t1", "message": {"ts": "1.1"}, "actions": [action]}
        answer = await post(connector, inbox, urlencode({"payload": json.dumps(click)}), form)
        assert (answer.status, answer.body) == (200, b"")
        assert [(one.data, one.message_ref) for one in inbox.clicks] == [("yes:1", "1.1")]
        command = {"command": "/arvis", "text": "new", "user_id": "U0ANN", "channel_id": "D0ANN", "trigger_id": "t2"}
        answer = await post(connector, inbox, urlencode({**command, "team_id": TEAM}), form)
        assert (answer.status, answer.body) == (200, b"")
        assert inbox.contents == ["/new"]


async def test_without_a_secret_nothing_is_taken() -> None:
    async with SlackStage.open() as stage:
        connector, inbox = await stage.connector(), RecordingInbox()
        assert (await post(connector, inbox, event("hello"))).status == 404


async def test_while_slack_is_away_it_is_asked_to_come_again() -> None:
    async with SlackStage.open() as stage:
        stage.server.refused_token = "internal_error"
        connector, inbox = await stage.connector(**HTTP), RecordingInbox()
        assert (await post(connector, inbox, event("hello"))).status == 503


class BrokenInbox(RecordingInbox):
    async def receive(self, message: Any) -> Any:
        raise RuntimeError("a part of the daemon failed")


async def test_a_failure_of_ours_is_no_acknowledgement() -> None:
    async with SlackStage.open() as stage:
        connector = await stage.connector(**HTTP)
        assert (await post(connector, BrokenInbox(), event("hello"))).status == 503
