"""Pure rules of the web: identities, owners of channels, allowed hosts, and limits of login attempts."""

from __future__ import annotations

import pytest

from arvis.domain.errors import Forbidden, TooMany
from arvis.domain.messages import Address, PrincipalRole
from arvis.domain.text import storable
from arvis.testing.clock import SteppedClock
from arvis.web.http.identity import Identity, Role, address_for, sender_for
from arvis.web.http.rate_limits import LoginLimiter
from arvis.web.middleware import known_hosts, origin_of

OWNER = Identity(Role.OWNER, "owner", "Owner", paired=True, may_name=True)
SESSION = Identity(Role.OWNER, "owner", "Owner", paired=True, session="hash")
CHAT = Identity(Role.CHAT, "key-1", "API key")


@pytest.mark.parametrize(
    ("identity", "user", "expected"),
    [
        (OWNER, None, ("owner", PrincipalRole.OWNER, True)),
        (OWNER, "bob", ("bob", PrincipalRole.MEMBER, True)),
        (OWNER, "ann", ("ann", PrincipalRole.OWNER, True)),
        (OWNER, "owner", ("owner", PrincipalRole.OWNER, True)),
        (SESSION, "bob", ("owner", PrincipalRole.OWNER, True)),
        (CHAT, "ann", ("key-1", PrincipalRole.MEMBER, False)),
    ],
)
def test_only_owner_keys_name_a_user(identity: Identity, user: str | None, expected: tuple[object, ...]) -> None:
    sender = sender_for(identity, user, None, frozenset({"ann"}))
    assert (sender.user_id, sender.role, sender.paired) == expected


@pytest.mark.parametrize("channel", ["web-key-1", "cli-key-1", "web-key-1-notes"])
def test_a_chat_key_has_channels_of_its_own(channel: str) -> None:
    assert address_for(CHAT, channel) == Address("web", "web", channel)


@pytest.mark.parametrize("channel", ["web-key-12", "web-key-", "web-", "WEB-key-1", "key-1", "x-web-key-1", "room"])
def test_a_chat_key_has_no_other_channel(channel: str) -> None:
    with pytest.raises(Forbidden):
        address_for(CHAT, channel)


def test_the_channel_of_an_agent_has_a_thread_for_each_chat_key() -> None:
    assert address_for(CHAT, "dashboard-agent-x").thread == "key-1"
    assert address_for(OWNER, "dashboard-agent-x").thread == ""


@pytest.mark.parametrize(
    ("host", "allowed", "url", "known"),
    [
        ("127.0.0.1", (), None, set()),
        ("0.0.0.0", ("nas.local", "[fd00::1]:5070", "Box:80"), None, {"nas.local", "[fd00::1]", "box"}),
        ("fd00::2", (), "https://Arvis.example:8443/x", {"[fd00::2]", "arvis.example"}),
        ("192.168.1.5", (), None, {"192.168.1.5"}),
    ],
)
def test_known_hosts(host: str, allowed: tuple[str, ...], url: str | None, known: set[str]) -> None:
    assert known_hosts(host, allowed, url) == known | {"127.0.0.1", "localhost", "[::1]"}


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://A.example/path/", "https://a.example"),
        ("http://a.example:8080", "http://a.example:8080"),
        ("https://a.example:443", "https://a.example"),
    ],
)
def test_the_origin_of_an_address(url: str, origin: str) -> None:
    assert origin_of(url) == origin


def test_an_ipv6_network_is_one_address() -> None:
    limiter = LoginLimiter(clock=SteppedClock())
    for host in range(5):
        limiter.count(f"2001:db8::{host}")
    with pytest.raises(TooMany):
        limiter.count("2001:db8::ffff")
    limiter.count("2001:db8:1::1")
    limiter.count("192.0.2.1")


def test_a_success_gives_its_try_back() -> None:
    limiter = LoginLimiter(clock=SteppedClock())
    for _ in range(100):
        limiter.count("192.0.2.1")
        limiter.forgive("192.0.2.1")


async def test_who_tries_too_often_hears_when_to_come_again() -> None:
    clock = SteppedClock()
    limiter = LoginLimiter(clock=clock)
    for _ in range(4):
        limiter.count("192.0.2.1")
    await clock.sleep(20)
    limiter.count("192.0.2.1")
    with pytest.raises(TooMany) as caught:
        limiter.count("192.0.2.1")
    assert caught.value.seconds == 40
    await clock.sleep(40)
    limiter.count("192.0.2.1")


def test_the_limiter_does_not_grow_for_ever() -> None:
    limiter = LoginLimiter(clock=SteppedClock())
    for number in range(10_050):
        limiter.count(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(limiter._addresses) <= 10_000


@pytest.mark.parametrize(
    ("text", "cleaned"), [("a\0b", "ab"), ("\ud83dx", "\ufffdx"), ("\U0001f600", "\U0001f600"), ("", "")]
)
def test_text_is_cleaned(text: str, cleaned: str) -> None:
    assert storable(text) == cleaned
