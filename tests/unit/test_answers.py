"""Any answer of a platform is read as one of four outcomes."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from connectors import answers
from connectors.answers import Dialect, Done, PlatformResponse, Refused, RetryLater, Uncertain, read, send_error
from connectors.discord.client import DiscordDialect
from connectors.slack.api import SlackDialect
from connectors.telegram.client import TelegramDialect

TELEGRAM, SLACK, DISCORD = TelegramDialect(), SlackDialect(), DiscordDialect()
BODIES: list[Any] = [None, True, 0, 1.5, "text", [], [1], {}, {"ok": True}, {"ok": False}, {"ok": 1}, {"message": {}}]
BODIES += [{"ok": False, "error": ["x"]}, {"ok": False, "parameters": 3}, {"message": "no", "retry_after": "soon"}]
RAW = [b"", b"<html>", b"\xff\xfe", b"[" * 100_000, *(json.dumps(body).encode() for body in BODIES)]
HEADERS = [{}, {"retry-after": "7"}, {"retry-after": "in a while"}, {"retry-after": "-1"}, {"retry-after": "nan"}]


def answered(dialect: Dialect, status: int, body: Any, **headers: str) -> object:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return read(
        dialect, PlatformResponse(status, named, body if isinstance(body, bytes) else json.dumps(body).encode())
    )


@pytest.mark.parametrize("dialect", [TELEGRAM, SLACK, DISCORD], ids=lambda dialect: dialect.name)
def test_every_answer_is_one_outcome(dialect: Dialect) -> None:
    statuses = [200, 201, 204, 301, 400, 401, 403, 404, 408, 409, 418, 429, 500, 502, 503, 599]
    for status, body, headers in itertools.product(statuses, RAW, HEADERS):
        outcome = read(dialect, PlatformResponse(status, headers, body))
        match outcome:
            case Done():
                assert status < 300
            case RetryLater():
                assert outcome.delay is None or 0 <= outcome.delay <= 86_400
                assert status != 200 or b"ok" in body
            case Uncertain():
                assert status in {200, 201} or status >= 500
            case Refused():
                assert b"ok" in body or b"message" in body
        if not isinstance(outcome, Done):
            assert "Error" not in outcome.reason
            assert str(send_error(outcome))


def test_an_answer_in_the_platforms_own_form_is_taken_at_its_word() -> None:
    assert answered(TELEGRAM, 200, {"ok": True, "result": [1]}) == Done([1])
    assert answered(SLACK, 200, {"ok": True, "ts": "1.2"}) == Done({"ok": True, "ts": "1.2"})
    assert answered(DISCORD, 204, b"") == Done(None)
    refused = answered(DISCORD, 403, {"message": "Missing Permissions", "code": 50013})
    assert isinstance(refused, Refused)
    assert (refused.code, refused.status) == ("50013", 403)
    assert isinstance(answered(SLACK, 200, {"ok": False, "error": "channel_not_found"}), Refused)
    assert isinstance(answered(SLACK, 200, {"ok": False, "error": "internal_error"}), Uncertain)


@pytest.mark.parametrize("dialect", [TELEGRAM, SLACK, DISCORD], ids=lambda dialect: dialect.name)
def test_what_stands_in_front_of_a_platform_refuses_nothing_for_good(dialect: Dialect) -> None:
    for status in (301, 400, 401, 403, 404, 407, 413):
        assert isinstance(answered(dialect, status, b"<html>No</html>"), RetryLater)
    assert isinstance(answered(dialect, 200, b"<html>Log in</html>"), Uncertain)
    assert isinstance(answered(dialect, 502, b"<html>Bad gateway</html>"), Uncertain)


def test_a_rest_is_as_long_as_the_platform_says() -> None:
    limited = {"ok": False, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 9}}
    assert answered(TELEGRAM, 429, limited) == RetryLater("Telegram asks for a pause.", 9, "ratelimited")
    assert answered(SLACK, 429, {"ok": False, "error": "ratelimited"}, retry_after="3") == RetryLater(
        "Slack asks for a pause.", 3, "ratelimited"
    )
    at, until = "Mon, 23 Nov 2026 08:00:00 GMT", "Mon, 23 Nov 2026 08:01:30 GMT"
    dated = answered(DISCORD, 429, b"<html>", retry_after=until, date=at)
    assert dated == RetryLater("Discord asks for a pause.", 90, "ratelimited")
    bare = answered(DISCORD, 429, {"message": "You are being rate limited."})
    assert isinstance(bare, RetryLater)
    assert bare.delay is not None
    assert bare.delay > 0


def test_a_field_of_another_kind_is_not_there() -> None:
    assert answers.value({"a": {"b": True}}, "a", "b", kind=int) is None
    assert answers.value({"a": {"b": 3}}, "a", "b", kind=int) == 3
    assert answers.value({"a": [1]}, "a", "b", kind=int) is None
    named: list[Any] = [{"id": 5}, {"id": "5"}, {"id": ["5"]}, None, []]
    assert [answers.text(each, "id") for each in named] == ["5", "5", "", "", ""]
    assert answers.mappings([1, {"a": 1}, None]) == [{"a": 1}]
    others: list[Any] = [[], [1], {}, "x", None]
    assert [answers.mappings(each) for each in others] == [[], None, None, None, None]
