"""Signatures of webhooks: each preset accepts a right signature, and nothing that is almost right."""

from __future__ import annotations

import hashlib
import hmac
import json
import random

import pytest

from arvis.domain.webhooks import Preset
from arvis.web.incoming_webhooks import VerifiedCall, headers_of, may_be_shown, verify

NOW = 1_800_000_000_000
SECRET = "It's a Secret to Everybody"
BODY = b'{"id": "evt_1", "n":  1}'

#: GitHub's own example: https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
EXAMPLE = b"Hello, World!"
EXAMPLE_SIGNATURE = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


def digest(data: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), data, hashlib.sha256).hexdigest()


def hub(body: bytes = BODY, secret: str = SECRET) -> tuple[str, str]:
    return "X-Hub-Signature-256", f"sha256={digest(body, secret)}"


def own(body: bytes = BODY) -> tuple[str, str]:
    return "X-Webhook-Signature", f"sha256={digest(body)}"


def stripe(body: bytes = BODY, seconds: int = NOW // 1000, secret: str = SECRET) -> tuple[str, str]:
    return "Stripe-Signature", f"t={seconds},v1={digest(f'{seconds}.'.encode() + body, secret)}"


def look(preset: Preset, *headers: tuple[str, str], body: bytes = BODY, secret: str = SECRET) -> VerifiedCall | None:
    return verify(preset, secret, headers_of(headers), body, NOW)


GUID = ("X-GitHub-Delivery", "72d3162e")


def test_the_example_of_github_is_right() -> None:
    signed = ("X-Hub-Signature-256", EXAMPLE_SIGNATURE)
    assert look(Preset.GITHUB, signed, GUID, body=EXAMPLE) == VerifiedCall("x-github-delivery:72d3162e")


@pytest.mark.parametrize("headers", [[hub()], [own()], [hub(), own()]])
def test_plain_takes_either_header(headers: list[tuple[str, str]]) -> None:
    assert look(Preset.PLAIN, *headers) == VerifiedCall(None)


def test_a_call_is_known_by_the_id_that_its_caller_gave() -> None:
    for name in ("X-Webhook-Id", "X-GitHub-Delivery", "Idempotency-Key"):
        found = look(Preset.PLAIN, own(), (name, "7"))
        assert found == VerifiedCall(f"{name.lower()}:7")
    long = look(Preset.PLAIN, own(), ("X-Webhook-Id", "x" * 5_000))
    assert long is not None
    assert len(long.id or "") < 100
    assert look(Preset.PLAIN, own(), ("X-Webhook-Id", "")) == VerifiedCall(None)


def test_a_stripe_event_is_known_by_its_id() -> None:
    assert look(Preset.STRIPE, stripe()) == VerifiedCall("event:evt_1")
    nameless = look(Preset.STRIPE, stripe(b"[]"), body=b"[]")
    assert nameless is not None
    assert nameless == look(Preset.STRIPE, stripe(b"[]"), body=b"[]")
    assert nameless != look(Preset.STRIPE, stripe(b"[]", NOW // 1000 + 1), body=b"[]")


def test_while_stripe_changes_the_secret_either_signature_will_do() -> None:
    name, right = stripe()
    seconds, _, good = right.partition(",")
    assert look(Preset.STRIPE, (name, f"{seconds},v1={'0' * 64},{good},v0={'1' * 64}")) == VerifiedCall("event:evt_1")


@pytest.mark.parametrize(("shift", "accepted"), [(0, True), (300, True), (-300, True), (301, False), (-301, False)])
def test_a_stripe_call_is_five_minutes_old_at_most(shift: int, accepted: bool) -> None:
    assert (look(Preset.STRIPE, stripe(seconds=NOW // 1000 + shift)) is not None) is accepted


REFUSED: dict[str, tuple[Preset, list[tuple[str, str]]]] = {
    "nothing": (Preset.PLAIN, []),
    "nothing for github": (Preset.GITHUB, [GUID]),
    "nothing for stripe": (Preset.STRIPE, []),
    "empty": (Preset.PLAIN, [("X-Webhook-Signature", "")]),
    "only the scheme": (Preset.PLAIN, [("X-Webhook-Signature", "sha256=")]),
    "no scheme": (Preset.PLAIN, [("X-Webhook-Signature", digest(BODY))]),
    "sha1": (Preset.PLAIN, [("X-Hub-Signature", f"sha1={digest(BODY)}")]),
    "large letters": (Preset.PLAIN, [("X-Webhook-Signature", f"sha256={digest(BODY).upper()}")]),
    "not ascii": (Preset.PLAIN, [("X-Webhook-Signature", "sha256=ünïcödé\udc80")]),
    "another secret": (Preset.PLAIN, [hub(secret="another secret")]),
    "the empty secret": (Preset.PLAIN, [hub(secret="")]),
    "another body": (Preset.PLAIN, [hub(b"{}")]),
    "body written anew": (Preset.PLAIN, [hub(json.dumps(json.loads(BODY)).encode())]),
    "twice the same": (Preset.PLAIN, [hub(), hub()]),
    "right and wrong": (Preset.PLAIN, [hub(), ("X-Webhook-Signature", "sha256=0")]),
    "wrong and right": (Preset.PLAIN, [hub(b""), own()]),
    "two ids": (Preset.PLAIN, [own(), ("X-Webhook-Id", "1"), ("X-Webhook-Id", "2")]),
    "stripe at plain": (Preset.PLAIN, [stripe()]),
    "stripe at github": (Preset.GITHUB, [stripe(), GUID]),
    "github at stripe": (Preset.STRIPE, [hub(), GUID]),
    "our header at github": (Preset.GITHUB, [own(), GUID]),
    "github without an id": (Preset.GITHUB, [hub()]),
    "github with two ids": (Preset.GITHUB, [hub(), GUID, GUID]),
    "github with an empty signature": (Preset.GITHUB, [("X-Hub-Signature-256", ""), GUID]),
    "stripe twice": (Preset.STRIPE, [stripe(), stripe()]),
    "stripe without a time": (Preset.STRIPE, [("Stripe-Signature", stripe()[1].partition(",")[2])]),
    "stripe with two times": (Preset.STRIPE, [("Stripe-Signature", f"t={NOW // 1000},{stripe()[1]}")]),
    "stripe with a time that is none": (Preset.STRIPE, [("Stripe-Signature", f"t=-1,v1={digest(b'-1.' + BODY)}")]),
    "stripe with another scheme": (Preset.STRIPE, [("Stripe-Signature", stripe()[1].replace("v1", "v0"))]),
    "stripe over the body alone": (Preset.STRIPE, [("Stripe-Signature", f"t={NOW // 1000},v1={digest(BODY)}")]),
    "stripe with something behind": (Preset.STRIPE, [("Stripe-Signature", f"{stripe()[1]},x=1")]),
    "stripe of another secret": (Preset.STRIPE, [stripe(secret="")]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_signature_of_this_call_is_refused(name: str) -> None:
    preset, headers = REFUSED[name]
    assert look(preset, *headers) is None


@pytest.mark.parametrize("preset", Preset)
def test_without_a_secret_nothing_is_right(preset: Preset) -> None:
    headers = [hub(secret=""), stripe(secret=""), GUID]
    assert look(preset, *headers, secret="") is None


@pytest.mark.parametrize("preset", Preset)
def test_no_mutation_of_a_right_call_is_right(preset: Preset) -> None:
    """One byte of the body or of the signature is changed, missing or added."""
    name, value = stripe() if preset is Preset.STRIPE else hub()
    chance = random.Random(7)
    assert look(preset, (name, value), GUID) is not None
    for _ in range(3_000):
        body, signed = BODY, value.encode()
        if chance.random() < 0.5:
            body = mutated(body, chance)
        else:
            signed = mutated(signed, chance)
        if (body, signed) != (BODY, value.encode()):
            found = look(preset, (name, signed.decode("latin-1")), GUID, body=body)
            assert found is None, (body, signed)


def mutated(data: bytes, chance: random.Random) -> bytes:
    at, fresh = chance.randrange(len(data)), bytes([chance.randrange(33, 127)])
    return chance.choice(
        [data[:at] + fresh + data[at + 1 :], data[:at] + data[at + 1 :], data[:at] + fresh + data[at:]]
    )


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        ("x-github-event", True), ("content-type", True), ("x-from", True), ("x-author", True), ("user-agent", True),
        ("x-gitlab-token", False), ("x-api-key", False), ("x-slack-signature", False), ("set-cookie", False),
        ("x-webhook-secret", False), ("proxy-authorization", False), ("stripe-signature", False),
    ],
)  # fmt: skip
def test_what_is_named_after_a_secret_is_shown_to_no_model(header: str, shown: bool) -> None:
    assert may_be_shown(header) is shown
