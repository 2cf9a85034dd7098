"""Credentials that the daemon inserts into requests of agents. Neither a model nor a program in the sandbox sees them.

Each credential has a list of hosts, and the daemon never sends it to any other host. The daemon sends credentials only
over https, except to this machine.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus, urlsplit

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex

NAME = regex(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
#: The placeholders of a template for the value of the variable, and for its base64 form.
VALUE, BASE64 = "{value}", "{base64}"
MOST_CREDENTIALS = 200
MOST_HOSTS = 20

_HEADER = regex(r"[A-Za-z][A-Za-z0-9-]{0,63}", re.ASCII)
#: Headers that control the transport or the interpretation of a request. A credential must not replace them.
_RESERVED = frozenset(
    [
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
_TEMPLATE = regex(r"[\x20-\x7e]{1,500}")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = regex(rf"(?P<any>\*\.)?(?P<host>{_LABEL}(?:\.{_LABEL})*|\[[0-9a-f:]+\])(?::(?P<port>\d{{1,5}}))?", re.ASCII)
_LARGEST_PORT = 65_535
_PORTS = {"http": 80, "https": 443}
_SECRET = regex(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
#: The text that replaces a secret in the answer of a server.
DOTS = "••••••••"
#: The minimum length of a secret that is replaced in answers. A shorter secret could be a part of ordinary words.
_LEAST_REPLACED = 4


@dataclass(frozen=True, slots=True)
class Credential:
    """A rule that inserts one header with a secret into requests. Times in ms."""

    name: str
    #: The key of the secret variable.
    variable: str
    #: Hosts such as `api.example.com`, `api.example.com:8443` or `*.example.com`.
    hosts: tuple[str, ...]
    header: str = "Authorization"
    template: str = f"Bearer {VALUE}"
    created_at: int = 0
    updated_at: int = 0

    def applies_to(self, url: str) -> bool:
        """Return True if a request to this address carries the credential."""
        try:
            parts = urlsplit(url)
            host, port = (parts.hostname or "").rstrip("."), parts.port
        except ValueError:
            return False
        if parts.scheme not in _PORTS or (parts.scheme != "https" and not _is_this_machine(host)):
            return False
        return any(_matches(each, host, port or _PORTS[parts.scheme], parts.scheme) for each in self.hosts)

    @property
    def plain_hosts(self) -> frozenset[str]:
        """The hosts without their ports. Patterns such as `*.example.com` are left out."""
        found = (_HOST.fullmatch(each) for each in self.hosts)
        return frozenset(each["host"].strip("[]") for each in found if each is not None and not each["any"])


@dataclass(frozen=True, slots=True)
class Insertion:
    """The header of a request, and all forms in which an answer may repeat its secret."""

    credential: str
    header: str
    value: str
    secret: str

    def __repr__(self) -> str:
        return f"Insertion({self.credential!r})"

    def hidden_in(self, text: str) -> str:
        """Return the text with `DOTS` in place of the secret."""
        for form in self._forms:
            text = text.replace(form, DOTS)
        return text

    def hidden_in_bytes(self, data: bytes) -> bytes:
        for form in self._forms:
            data = data.replace(form.encode(), DOTS.encode())
        return data

    @property
    def _forms(self) -> list[str]:
        encoded = base64.b64encode(self.secret.encode()).decode()
        forms = {self.secret, quote(self.secret, safe=""), quote_plus(self.secret), encoded, quote(encoded, safe="")}
        return sorted((form for form in forms if len(form) >= _LEAST_REPLACED), key=len, reverse=True)


def insertion_of(credential: Credential, secret: str) -> Insertion | None:
    """Return the header with the secret, or None if the secret contains characters that a header cannot contain."""
    secret = secret.rstrip("\r\n")
    if not _SECRET.fullmatch(secret):
        return None
    encoded = base64.b64encode(secret.encode()).decode()
    value = credential.template.replace(BASE64, encoded).replace(VALUE, secret)
    return Insertion(credential.name, credential.header, value, secret)


def flaws_of(credential: Credential) -> Iterator[tuple[str, str, str]]:
    """Yield each invalid field, the part of the error text after its name, and a sentence that says how to correct
    it."""
    if not NAME.fullmatch(credential.name):
        yield (
            "name",
            "must be 1 to 64 lower-case letters, digits, - and _, and begin with a letter or digit",
            "Write `github`.",
        )
    if not credential.hosts or len(credential.hosts) > MOST_HOSTS:
        yield "hosts", f"must name 1 to {MOST_HOSTS} hosts", "Write for example api.example.com."
    for host in credential.hosts:
        if (why := _flaw_of_host(host)) is not None:
            yield (
                "hosts",
                f"contains {host[:100]!r}, {why}",
                "Write for example api.example.com, *.example.com or localhost:8080.",
            )
    if not _HEADER.fullmatch(credential.header) or credential.header.lower() in _RESERVED:
        yield (
            "header",
            "must be the name of a header that a request may have",
            "Write for example Authorization or X-API-Key.",
        )
    placed = credential.template.count(VALUE) + credential.template.count(BASE64)
    if not _TEMPLATE.fullmatch(credential.template) or placed != 1:
        text = f"must be 1 to 500 printable ASCII characters with {VALUE} or {BASE64} once"
        yield "template", text, f"Write `Bearer {VALUE}`, or `Basic {BASE64}` for a variable with `user:password`."


def _flaw_of_host(host: str) -> str | None:
    found = _HOST.fullmatch(host)
    if found is None:
        return "which is not a host"
    if found["port"] is not None and not 0 < int(found["port"]) <= _LARGEST_PORT:
        return "whose port does not exist"
    if found["any"] and found["host"].count(".") < 1:
        return "which would match hosts of other people"
    return None


def normalised(hosts: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts in lower case and in the same order, without duplicates."""
    return tuple(dict.fromkeys(host.strip().lower().rstrip(".") for host in hosts))


def _matches(pattern: str, host: str, port: int, scheme: str) -> bool:
    found = _HOST.fullmatch(pattern)
    if found is None or port != int(found["port"] or _PORTS[scheme]):
        return False
    name = found["host"].strip("[]")
    return host.endswith(f".{name}") if found["any"] else host == name


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
