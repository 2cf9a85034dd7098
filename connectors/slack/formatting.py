"""Converts replies to Slack's form: a Markdown block, or mrkdwn if Slack does not accept that block. No mention in a
reply notifies anyone."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from typing import Any

from arvis.domain.messages import Button, ButtonStyle, Delivery
from arvis.domain.platforms import Piece
from arvis.domain.regex import regex
from connectors.formatting.planning import pieces
from connectors.formatting.splitting import split
from connectors.formatting.units import utf16_length

#: The maximum number of characters of all Markdown blocks of a message together.
BLOCK_LIMIT = 12_000
#: The maximum characters of the text that notifications show in place of the blocks; `chat.update` accepts 4,000.
_FALLBACK_LIMIT = 3_000
_SECTION_LIMIT = 3_000
_LABEL_LIMIT = 75
_BUTTONS_LIMIT = 25

#: Mentions in Slack's own form, and the names that notify everyone, in every spelling that Markdown allows for them.
_LESS, _BANG = r"(?:<|&lt;|&#0*60;|&#x0*3c;)", r"\\?(?:!|&excl;|&#0*33;|&#x0*21;)\\?"
_AT, _HASH = r"(?:@|&commat;|&#0*64;|&#x0*40;)", r"(?:\#|&num;|&#0*35;|&#x0*23;)"
_PINGS = regex(
    rf"{_LESS}(?={_BANG}(?:channel|here|everyone|subteam)|\\?(?:{_AT}|{_HASH})\\?[A-Z0-9])"
    rf"|(?<![\w.]){_AT}(?=(?:here|channel|everyone)\b)",
    re.IGNORECASE,
)
_WORD_JOINER = "\u2060"
_STYLES = {ButtonStyle.PRIMARY: "primary", ButtonStyle.SUCCESS: "primary", ButtonStyle.DANGER: "danger"}


def _mrkdwn(text: str) -> str:
    # The library needs 1 MB of memory, so it is imported only when the first message is formatted.
    converted: str = importlib.import_module("connectors.slack.mrkdwn").converted(text)
    return converted


def silent(text: str) -> str:
    """Return the text with every mention broken by an invisible character."""
    return _PINGS.sub(lambda match: match[0] + _WORD_JOINER, text)


def parts_of(delivery: Delivery, max_parts: int) -> list[Piece]:
    return pieces(delivery, lambda text: split(text, BLOCK_LIMIT, _size), max_parts)


def _size(text: str) -> int:
    return utf16_length(silent(text))


def beginning(text: str) -> str:
    """Return the first part of a text, which fits into one message."""
    return split(text, BLOCK_LIMIT, _size)[0]


def message_of(content: str, buttons: Sequence[Button], *, plain: bool = False) -> dict[str, Any]:
    """Return the `text` and `blocks` of a message. If `plain` is True, use no Markdown blocks, because Slack did not
    accept them."""
    quiet = silent(content)
    # Mentions are broken a second time, because in mrkdwn a link to `!channel` is a mention.
    simple = silent(_mrkdwn(quiet)) if quiet else ""
    blocks: list[dict[str, Any]] = []
    if quiet and plain:
        blocks = [
            {"type": "section", "text": {"type": "mrkdwn", "text": part, "verbatim": True}}
            for part in split(simple, _SECTION_LIMIT, utf16_length)
        ]
    elif quiet:
        blocks = [{"type": "markdown", "text": quiet}]
    if buttons:
        blocks.append(
            {"type": "actions", "elements": [_button(at, each) for at, each in enumerate(buttons)][:_BUTTONS_LIMIT]}
        )
    labels = " / ".join(button.label for button in buttons)
    return {"text": split(simple or silent(labels) or "…", _FALLBACK_LIMIT, utf16_length)[0], "blocks": blocks}


def _button(number: int, button: Button) -> dict[str, Any]:
    label = {"type": "plain_text", "text": button.label[:_LABEL_LIMIT] or "…", "emoji": True}
    element = {"type": "button", "action_id": f"arvis_{number}", "text": label, "value": button.id}
    style = _STYLES.get(button.style)
    return element if style is None else {**element, "style": style}
