"""A model server that means harm: what it sends is bounded, clean and never holds a key (reliability.md F1, S11)."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from arvis.testing.openai_server import Failure, chunk_event, sse_event
from tests.wings.chat_scene import KEY, KINDS, Scene, body, choice, events


async def test_names_that_no_database_holds_are_cleaned(scene: Scene) -> None:
    document = {**choice({"content": "hi"}), "model": "m\ud800\0\n" + "x" * 1000}
    document["choices"][0]["finish_reason"] = "st\ud800\0p"
    result = await scene.complete(body(document))
    assert result.model == "m" + "x" * 196
    assert result.stop_reason == "stp"


async def test_a_document_that_swells_is_not_read(scene: Scene) -> None:
    bomb = b'{"a":[' + b"{}," * 600_000 + b"{}]}"
    for failure in (
        await scene.failure(body({"a": [{}] * 600_000})),
        await scene.stream_failure(events(b"data: " + bomb + b"\n\n")),
    ):
        assert failure.kind is KINDS.OVERLOADED
        assert "holds too much" in failure.what


async def test_an_endless_refusal_is_cut(scene: Scene) -> None:
    pieces = [chunk_event("m", {"refusal": "no " * 500}) for _ in range(200)]
    failure = await scene.stream_failure(events(*pieces, sse_event(choice({}))))
    assert failure.kind is KINDS.REFUSED
    assert len(failure.what) < 2_000


@pytest.mark.parametrize(
    "form",
    [KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode(), KEY.encode().hex()],
    ids=["plain", "address", "base64", "hex"],
)
async def test_an_error_that_repeats_the_key_in_any_form_hides_it(scene: Scene, form: str) -> None:
    failure = await scene.failure(Failure(400, None, f"you sent {form}!"))
    assert form not in failure.what
    assert "[key]" in failure.what
