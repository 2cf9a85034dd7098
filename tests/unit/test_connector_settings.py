"""Settings of bots: which values are read, and the errors for wrong values."""

from __future__ import annotations

from typing import Any

import pytest

from arvis.domain.messages import Respond
from arvis.ports.connector import BadSetting, BotSettings
from connectors.settings import BotConfig, Token, Url, read_settings

SECRET = "xoxb-very-secret"


class ChatConfig(BotConfig):
    token: Token
    api_url: Url = "https://chat.example"


def read(**values: Any) -> ChatConfig:
    return read_settings(ChatConfig, BotSettings("main", values))


def test_every_key_has_its_default() -> None:
    config = read(token=SECRET)
    assert config == ChatConfig.model_construct(token=config.token)
    assert (config.respond, config.reply_in, config.observe) == (Respond.MENTION, "auto", 20)
    assert (config.agent, config.late, config.late_after, config.allowed_channels) == (None, None, None, ())


def test_values_are_read() -> None:
    config = read(
        token=f" {SECRET}\n",
        api_url="http://127.0.0.1:80/",
        allowed_channels=[-1001, "C7"],
        allow_bots="1, 2",
        late_after="15m",
    )
    assert config.token.get_secret_value() == SECRET
    assert config.api_url == "http://127.0.0.1:80"
    assert config.allowed_channels == ("-1001", "C7")
    assert config.allow_bots == ("1", "2")
    assert config.late_after == 900_000


@pytest.mark.parametrize(
    ("values", "key", "text", "fix"),
    [
        ({}, "token", "is missing", "Add `token`."),
        ({"token": ""}, "token", "must not be empty", "Change `token`."),
        ({"token": f"{SECRET} {SECRET}"}, "token", "contains characters that no token has", "Change `token`."),
        ({"token": 5}, "token", "must be text (put it in quotes)", "Change `token`."),
        ({"token": SECRET, "obsreve": 3}, "obsreve", "is not a known setting", "Did you mean `observe`?"),
        ({"token": SECRET, "observe": -1}, "observe", "must be at least 0", "Change `observe`."),
        ({"token": SECRET, "observe": True}, "observe", "must be a number, not true or false", "Change `observe`."),
        (
            {"token": SECRET, "respond": "x"},
            "respond",
            "must be one of 'mention', 'all' or 'never'",
            "Change `respond`.",
        ),
        ({"token": SECRET, "allow_bots": [None]}, "allow_bots[0]", "must be text (put it in quotes)", None),
        ({"token": SECRET, "late_after": 15}, "late_after", "must be a number and a unit", None),
        ({"token": SECRET, "api_url": "ftp://x"}, "api_url", "must be an address", None),
        ({"token": SECRET, "agent": 1, "late": "x"}, "agent", "(and 1 more: late)", None),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, Any], key: str, text: str, fix: str | None) -> None:
    with pytest.raises(BadSetting) as caught:
        read(**values)
    assert caught.value.key == key
    assert text in caught.value.text
    assert fix is None or caught.value.fix == fix
    assert SECRET not in f"{caught.value!r} {caught.value.text} {caught.value.fix}"


def test_a_token_is_not_shown() -> None:
    assert SECRET not in repr(read(token=SECRET))
