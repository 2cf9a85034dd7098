"""Markdown becomes text and entities that Telegram accepts, within its limits, without mentions."""

from __future__ import annotations

import re

import pytest
import telegram
from hypothesis import given, settings
from hypothesis import strategies as st

from arvis.domain.messages import Address, Button, OutgoingFile
from arvis.testing.conformance.connector_stage import delivery
from connectors.telegram.formatting import CAPTION_LIMIT, TEXT_LIMIT, formatted, parts, rich
from connectors.telegram.outgoing import keyboard, plan
from tests.platforms.telegram_server_rules import called, checked_entities, units

PLACE = Address("telegram", "main", "1001")
WORD = st.sampled_from(
    [
        "wort",
        "größe",
        "東京",
        "👩‍🚀",
        "🇩🇪",
        "e\u0301",
        "@bob",
        "a<b>c",
        "x_y",
        "2*3",
        "`code`",
        "**fett**",
        "[name](https://a.example/b)",
    ]
)
LINE = st.builds(
    lambda start, words: start + " ".join(words),
    st.sampled_from(["", "", "# ", "- ", "1. ", "> ", "    ", "||"]),
    st.lists(WORD, min_size=1, max_size=60),
)
BLOCK = st.one_of(
    LINE,
    LINE.map(lambda text: f"```py\n{text.replace('`', '')}\n```"),
    LINE.map(lambda text: f"| a | b |\n|---|---|\n| {text.replace('|', '')} | 2 |"),
)


def spans(markdown: str) -> list[tuple[str, str]]:
    shown = formatted(markdown)
    encoded = shown.text.encode("utf-16-le")
    return [
        (str(entity.type), encoded[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le"))
        for entity in shown.entities
    ]


def as_message(markdown: str) -> dict[str, object]:
    shown = formatted(markdown)
    return {"text": shown.text, "entities": [entity.to_dict() for entity in shown.entities]}


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("# Head\n\ntext **b** _i_ ~~s~~ ||x||", "Head\n\ntext b i s x", [("bold", "Head"), ("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("spoiler", "x")]),
        ("👩‍🚀 **東京**", "👩‍🚀 東京", [("bold", "東京")]),
        ("List<String> & <b>x</b>\n<div>\nq\n</div>", "List<String> & <b>x</b>\n<div>\nq\n</div>", []),
        ("[x](https://a.example) [y](javascript:1) [z](tg://user?id=5)", "x y (javascript:1) z", [("text_link", "x")]),
        ("```py\n@app\n```", "@app", [("pre", "@app")]),
        ("[a]: https://a.example", "[a]: https://a.example", []),
        ("a\ud83db\0c", "a\ufffdbc", []),
        ("- a\n- b", "• a\n• b", []),
    ],
)  # fmt: skip
def test_what_is_shown(markdown: str, text: str, entities: list[tuple[str, str]]) -> None:
    assert formatted(markdown).text == text
    assert spans(markdown) == entities


def test_names_call_nobody() -> None:
    text = "@ann **hi @bob and @carl** `@dora` e@mail.example [me](tg://user?id=5) @all"
    message = as_message(text)
    assert called(message) == []
    assert str(message["text"]).replace("\u2060", "") == "@ann hi @bob and @carl @dora e@mail.example me @all"
    assert ("bold", "hi @\u2060bob and @\u2060carl") in spans(text)


@given(st.lists(BLOCK, min_size=2, max_size=6), st.integers(1, 60), st.sampled_from(["\n", "\n\n"]))
@settings(max_examples=25)
def test_every_part_fits_and_no_word_is_lost(blocks: list[str], times: int, between: str) -> None:
    markdown = between.join(blocks * times)
    planned = plan(delivery(PLACE, markdown), max_parts=1_000)
    shown = [formatted(piece.content) for piece in planned]
    assert all(0 < units(one.text) <= TEXT_LIMIT for one in shown)
    for one in shown:
        checked_entities(one.text, [entity.to_dict() for entity in one.entities])
        assert called({"text": one.text, "entities": [entity.to_dict() for entity in one.entities]}) == []
    for word in ("wort", "größe", "東京", "👩‍🚀", "🇩🇪", "fett"):
        assert sum(one.text.count(word) for one in shown) == markdown.count(word)


@given(st.text(st.characters(codec=None), max_size=400))
@settings(max_examples=150)
def test_any_text_is_taken(text: str) -> None:
    shown = formatted(text)
    checked_entities(shown.text, [entity.to_dict() for entity in shown.entities])
    assert bool(shown.text.strip()) or not re.search(r"[A-Za-z0-9]", text)
    rich(text)


def test_an_emoji_at_the_limit_is_not_divided() -> None:
    shown = [formatted(part).text for part in parts("👍" * 2049)]
    assert "".join(shown) == "👍" * 2049
    assert [units(text) for text in shown] == [TEXT_LIMIT, 2]


def test_each_piece_is_one_request() -> None:
    first, second = (OutgoingFile(name, "text/plain", 1, content="x") for name in ("a.txt", "b.txt"))
    buttons = (Button("yes", "Yes"),)
    alone = plan(delivery(PLACE, "look", files=[first], buttons=buttons), max_parts=5)
    assert [(piece.content, len(piece.files), len(piece.buttons)) for piece in alone] == [("look", 1, 1)]
    long = plan(delivery(PLACE, "word " * 400, files=[first, second], buttons=buttons), max_parts=5)
    assert units(long[0].content) > CAPTION_LIMIT
    assert [(len(piece.files), len(piece.buttons)) for piece in long] == [(0, 1), (1, 0), (1, 0)]


def test_short_buttons_stand_side_by_side() -> None:
    labels = ["Yes", "No", "Perhaps", "Later", "A label that needs the whole row"]
    markup = keyboard([Button(f"id:{label}", label) for label in labels])
    assert isinstance(markup, telegram.InlineKeyboardMarkup)
    assert [[button.text for button in row] for row in markup.inline_keyboard] == [labels[:3], labels[3:4], labels[4:]]
    assert keyboard([]) is None


def test_rich_messages_fetch_nothing_and_call_nobody() -> None:
    message = rich("# Head\n\n| a |\n|---|\n| <i>b</i> |\n\n![pic](https://x.example/p.png) [me](tg://user?id=5)")
    assert message["html"].startswith("<h1>Head</h1><table>")
    assert "&lt;i&gt;b" in message["html"]
    assert "<img" not in message["html"]
    assert "tg://" not in message["html"]
    assert message["skip_entity_detection"] is True


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("See [the guide](docs/guide.md).", "See the guide (docs/guide.md)."),
        ("**at [home](ftp://a.example/x)** 😀 [there](./y)", "at home (ftp://a.example/x) 😀 there (./y)"),
        ("[@ann](/people/@ann)", "@\u2060ann (/people/@\u2060ann)"),
        ("![a plan](data:image/png;base64,AA)", "a plan (data:image/png;base64,AA)"),
        ("[Ann](tg://user?id=5) and [above](#top)", "Ann and above"),
        ("[x](https://a.example) [y](mailto:a@b.example)", "x y"),
    ],
)
def test_an_address_that_telegram_does_not_take_is_shown(markdown: str, shown: str) -> None:
    found = formatted(markdown)
    assert found.text == shown
    for entity in found.entities:
        assert entity.offset + entity.length <= len(shown.encode("utf-16-le")) // 2
    assert all(word in rich(markdown)["html"] for word in shown.replace("\u2060", "").split() if word.isalpha())


def test_emphasis_around_an_address_includes_it() -> None:
    [bold] = formatted("**at [home](ftp://a.example/x)** now").entities
    assert (bold.type, bold.offset, bold.length) == ("bold", 0, len("at home"))
