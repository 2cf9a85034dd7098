"""Take secrets out of texts that leave the process sideways: known ones, and what looks like a key or token.

Works on the finished text, so that no argument, header or traceback slips past. It never needs to know where a
secret came from (reliability.md §5.9).
"""

from __future__ import annotations

import base64
import json
import re
import threading
from bisect import insort
from collections.abc import Iterable, Iterator
from urllib.parse import quote

_MASK = "[redacted]"

#: A shorter secret is replaced only as a separate word: `demo` as a password must not black out `democracy`.
_ALONE_BELOW = 8

# Each pattern keeps its groups named `keep` and `tail`. Runs are bounded or of one class, so that no input is slow.
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (
        # Headers in HTTP or in the repr of a mapping.
        r"(?P<keep>\b(?:proxy-)?authorization\b['\"\\]{0,3}\s{0,3}[:=,]\s{0,3}b?['\"\\]{0,3}(?:[a-z]{2,12}\s)?)[^\s'\"\\,]+",
        r"(?P<keep>\b(?:set-)?cookie\b['\"\\]{0,3}\s{0,3}[:=,]\s{0,3}b?['\"\\]{0,3})[^'\"\\\r\n]+",
        r"(?P<keep>\bx-(?:api|goog-api|auth)-(?:key|token)\b['\"\\]{0,3}\s{0,3}[:=,]\s{0,3}b?['\"\\]{0,3})[^\s'\"\\,]+",
        r"(?P<keep>\bbearer\s{1,3})[a-z0-9._~+/=-]{6,}",
        # Keys and tokens by their shape.
        r"\bsk-[a-z0-9_-]{8,}",
        r"\b[sr]k_(?:live|test)_[a-z0-9]{8,}",
        r"(?P<keep>\bbot)\d{5,20}:[a-z0-9_-]{20,}",
        r"\b\d{6,20}:[a-z0-9_-]{30,}",
        r"\bxox[a-z]-[a-z0-9-]{8,}",
        r"\bxapp-[a-z0-9-]{8,}",
        r"\bgh[pousr]_[a-z0-9]{20,}",
        r"\bgithub_pat_[a-z0-9_]{20,}",
        r"\baiza[a-z0-9_-]{30,}",
        r"\bakia[a-z0-9]{16}\b",
        r"\b[a-z0-9_-]{23,28}\.[a-z0-9_-]{6,7}\.[a-z0-9_-]{27,}",
        r"\beyj[a-z0-9_-]{8,}\.[a-z0-9_-]{8,}\.[a-z0-9_-]*",
        # Tokens that answer an interaction or post as a webhook.
        r"(?P<keep>/(?:interactions|webhooks)/\d{15,20}/)[a-z0-9_.%-]{20,}",
        # Addresses: user:password@ and parameters with secrets.
        r"(?P<keep>://[^\s/:@'\"]{0,100}:)[^\s/@'\"]{1,300}(?P<tail>@)",
        r"(?P<keep>[?&#](?:[a-z_]{0,20}(?:key|token|secret|password|signature)|code|login)=)[^\s&#'\"]+",
        # Fields, as in JSON, in the repr of a mapping or of keyword arguments.
        r"(?P<keep>\b(?:[a-z]{1,20}[_-]){0,3}(?:api_?key|token|secret|password|passwd)\\?['\"]?\s{0,3}[:=]\s{0,3}\\?['\"])[^'\"\\]+",
    )
)


class Redactor:
    """Replaces secrets by a mask. Any thread may call; `learn` adds secrets that turn up while running, and
    costs nothing when it knows them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        #: The longest first, so that no part of a secret that contains another remains. The tuple is replaced, never
        #: changed.
        self._known: tuple[str, ...] = ()
        self._learning = threading.Lock()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        with self._learning:
            fresh = {secret for secret in secrets if secret.strip()} - self._secrets
            if fresh:
                self._secrets |= fresh
                known = list(self._known)
                for form in {form for secret in fresh for form in _forms(secret)}:
                    insort(known, form, key=lambda each: -len(each))
                self._known = tuple(known)

    def __call__(self, text: str) -> str:
        # One pattern for all secrets would not be faster and would have to be compiled again for each new one.
        for form in self._known:
            if form in text:
                text = _without(form, text)
        for pattern in _PATTERNS:
            text = pattern.sub(_masked, text)
        return text


def _without(form: str, text: str) -> str:
    if len(form) >= _ALONE_BELOW:
        return text.replace(form, _MASK)
    return re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", _MASK, text)


def _masked(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return f"{groups.get('keep') or ''}{_MASK}{groups.get('tail') or ''}"


def _forms(secret: str) -> Iterator[str]:
    """Return the encodings in which a secret may appear: plain, JSON or repr, URL, base 64, hex."""
    data = secret.encode(errors="surrogatepass")
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret)[1:-1]
    yield quote(data, safe="")
    yield quote(data)
    yield base64.b64encode(data).decode().rstrip("=")
    yield base64.urlsafe_b64encode(data).decode().rstrip("=")
    yield data.hex()
