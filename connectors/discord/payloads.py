"""Our messages in the form that Discord accepts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from arvis.domain.messages import Button, ButtonStyle

#: Discord loads no previews for the links of a message (T10).
_SUPPRESS_EMBEDS = 1 << 2
_ROW, _BUTTON = 1, 2
#: Discord's documentation says "characters", and libraries disagree on the unit; no other count is larger than that
#: of UTF-16.
TEXT_LIMIT = 2_000
_STYLES = {ButtonStyle.PRIMARY: 1, ButtonStyle.SECONDARY: 2, ButtonStyle.SUCCESS: 3, ButtonStyle.DANGER: 4}
_IN_A_ROW = 5
_ROWS = 5
_LABEL = 80
#: Discord refuses a message without text or file, even one with buttons.
_NOTHING = "…"

Payload = dict[str, Any]


def content(text: str, buttons: Sequence[Button], *, empty: bool = False) -> Payload:
    """Return the fields that an edit may also change. `empty`: no text is needed, because the message has a file."""
    return {
        "content": text if text.strip() or empty else _NOTHING,
        "allowed_mentions": {"parse": [], "replied_user": False},
        "flags": _SUPPRESS_EMBEDS,
        "components": _components(buttons),
    }


def new_message(body: Payload, nonce: str, reply_ref: str | None = None) -> Payload:
    """Return a new message. `reply_ref` is the message that it answers; if that one is gone, the message is sent all
    the same."""
    reply: Payload = {}
    if reply_ref and reply_ref.isdecimal():
        reply = {"message_reference": {"message_id": reply_ref, "fail_if_not_exists": False}}
    return body | {"nonce": nonce, "enforce_nonce": True} | reply


def form(body: Payload, files: Sequence[tuple[str, bytes]]) -> list[dict[str, Any]]:
    """Return a message with its files, as fields of a form."""
    listed = [{"id": number, "filename": name} for number, (name, _) in enumerate(files)]
    fields: list[dict[str, Any]] = [{"name": "payload_json", "value": json.dumps(body | {"attachments": listed})}]
    for number, (name, data) in enumerate(files):
        kind = "application/octet-stream"
        fields.append({"name": f"files[{number}]", "value": data, "filename": name, "content_type": kind})
    return fields


def _components(buttons: Sequence[Button]) -> list[Payload]:
    shown = [_button(button) for button in buttons[: _IN_A_ROW * _ROWS]]
    return [{"type": _ROW, "components": shown[at : at + _IN_A_ROW]} for at in range(0, len(shown), _IN_A_ROW)]


def _button(button: Button) -> Payload:
    label = button.label[:_LABEL].strip() or _NOTHING
    return {"type": _BUTTON, "style": _STYLES[button.style], "label": label, "custom_id": button.id}
