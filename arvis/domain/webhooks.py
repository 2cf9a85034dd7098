"""Webhooks: addresses that other programs call, and the prompts that are made from these calls.

A prompt is made from a template with placeholders: `{{payload}}`, `{{payload.a.b}}`, `{{payload.a.0}}`,
`{{headers.x}}`. Inserted values are untrusted: tags in them are escaped, placeholders in them are not replaced, and
their total size is limited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.markup import escape
from arvis.domain.messages import Address
from arvis.domain.regex import regex

#: The time (ms) for which the id of a call is stored. During this time a repetition of the call starts nothing.
KNOWN_CALLS_MS = 7 * 86_400_000
#: The maximum number of characters of all values that are inserted into one template.
LONGEST_VALUES = 60_000

_PLACE = regex(r"\{\{\s*(payload|headers)((?:[.\[][^{}\s]{1,200})?)\s*\}\}")
_STEP = regex(r"[^.\[\]]+")
_INDEX = regex(r"-?\d{1,9}", re.ASCII)


def has_places(template: str) -> bool:
    """Return whether the template contains placeholders. Prompts from such a template contain untrusted text."""
    return _PLACE.search(template) is not None


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Return the template with its placeholders replaced by `values`. A placeholder without a value becomes empty. If
    all values together are longer than `LONGEST_VALUES`, the excess is cut off, and a note marks the cut."""
    left = LONGEST_VALUES

    def put(place: re.Match[str]) -> str:
        nonlocal left
        text = _text(value_at(values.get(place[1]), place[2])) if left else ""
        whole, text = len(text), text[:left]
        left -= len(text)
        return escape(text) if len(text) == whole else f"{escape(text)}… (cut: {whole} characters in all)"

    return _PLACE.sub(put, template)


def value_at(value: Any, path: str) -> Any:
    """Return the value at a path such as `a.b`, or None if the path leads to no value. Items of lists are `a.0` or
    `a[0]`."""
    for step in _STEP.findall(path):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and _INDEX.fullmatch(step) and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _text(value: Any) -> str:
    """Return a value as text: a text unchanged, None as "", and any other value as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Preset(StrEnum):
    """The services whose signatures and call ids Arvis can read."""

    #: Arvis's own format.
    PLAIN = "plain"
    GITHUB = "github"
    STRIPE = "stripe"


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that another program calls. Times in ms."""

    id: str
    #: The path of the address, with a slash at the beginning.
    path: str
    name: str
    agent_id: str
    preset: Preset
    #: The template of the prompt, with placeholders such as `{{payload.a.b}}`.
    template: str
    #: The answer is sent to this platform, connector, channel and thread.
    platform: str
    connector: str
    channel: str
    thread: str
    #: The sealed secret with which calls are signed. If empty, calls are not signed.
    secret: str
    #: The last four characters of the secret, which are shown to people.
    secret_end: str
    enabled: bool
    #: The person with whose rights the work runs.
    principal_id: str | None
    last_triggered: int | None
    trigger_count: int
    created_at: int
    updated_at: int
    #: A workflow (`workflow:SLUG`) that handles the calls instead of the agent. If None, the agent handles them.
    graph: str | None = None
    #: The principal who wrote the template. If None, it is `principal_id`.
    author_id: str | None = None

    @property
    def author(self) -> str | None:
        """The principal who wrote the template."""
        return self.author_id or self.principal_id

    @property
    def address(self) -> Address:
        return Address(self.platform, self.connector, self.channel, self.thread)

    @property
    def source(self) -> str:
        """The value of `StoredMessage.source` for messages that this webhook caused."""
        return f"webhook:{self.id}"
