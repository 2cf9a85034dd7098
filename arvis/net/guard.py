"""Decide which addresses of users and models may be fetched, by pure rules (reliability.md §5.6).

No name is looked up or dialled here. A URL is parsed once into a `Target`, and only the target is used afterwards, so
that no second parser can understand the text differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import quote

from arvis.domain.errors import ConfigError, FetchRefused
from arvis.net.addresses import IPAddress, read_address, special_use
from arvis.net.hosts import BadHost, canonical_host, is_local_name

_PORTS = {"http": 80, "https": 443}
_LONGEST_URL = 8000
#: Names with more addresses exist, but there is no need to try more.
_MOST_ADDRESSES = 8
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{0,5}))?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
#: All characters that a path or a query may contain unchanged; `%` too, because encoded text stays encoded.
_PLAIN = "%/?:@!$&'()*+,;=~[]|^"


@dataclass(frozen=True, slots=True)
class FetchRules:
    """The rules of an operator. `allow`: pairs of a canonical host and a port (None for the usual ports) whose
    addresses are not checked; `ports`: those that may be used at any other host."""

    allow: frozenset[tuple[str, int | None]] = frozenset()
    ports: frozenset[int] = frozenset(_PORTS.values())


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that passed all rules that need no lookup. `host` is canonical; `path` is ASCII, begins with a slash and
    includes the query. `trusted`: the operator named this host, so its addresses are not checked."""

    scheme: str
    host: str
    port: int
    path: str
    trusted: bool

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"


def read_rules(*, allow: Iterable[str] = (), ports: Iterable[int] = _PORTS.values()) -> FetchRules:
    """Read `allow` as the operator writes it: `host` or `host:port`. Raises `ConfigError`."""
    return FetchRules(allow=frozenset(_exception(entry) for entry in allow), ports=frozenset(ports))


def read_url(text: str, rules: FetchRules) -> Target:
    """Parse a URL. Raises `FetchRefused` if its text shows that it is not a public web address."""
    scheme, authority, path, query = _split(text.strip())
    try:
        host, port = _host_and_port(authority)
    except BadHost as bad:
        _refuse(str(bad))
    port = _PORTS[scheme] if port is None else port
    trusted = (host, port) in rules.allow or ((host, None) in rules.allow and port in rules.ports)
    if not trusted:
        _check_port(port, rules)
        _check_host(host)
    tail = _quoted(path or "/") + ("" if query is None else "?" + _quoted(query))
    return Target(scheme=scheme, host=host, port=port, path=tail, trusted=trusted)


def checked_addresses(target: Target, found: Sequence[str]) -> tuple[IPAddress, ...]:
    """Return the addresses of a name once all of them are found public. Raises `FetchRefused`, which does not repeat
    the addresses, because internal addresses must not leak."""
    addresses = [read_address(text) for text in found]
    known = tuple(address for address in addresses if address is not None)
    if len(known) < len(addresses):
        _refuse(f"{target.host} has an address with a zone, which exists only on a local network")
    if not target.trusted and any(special_use(address) for address in known):
        _refuse(f"{target.host} leads into a network that is not public")
    return known[:_MOST_ADDRESSES]


def _split(text: str) -> tuple[str, str, str, str | None]:
    if len(text) > _LONGEST_URL:
        _refuse(f"it is longer than {_LONGEST_URL:,} characters")
    if _CONTROL.search(text):
        _refuse("it contains a backslash or a control character")
    if _SURROGATE.search(text):
        _refuse("it contains a lone surrogate")
    found = _URL.fullmatch(text)
    if found is None or found[1].lower() not in _PORTS:
        _refuse("only complete addresses that begin with http:// or https:// are fetched")
    return found[1].lower(), found[2], found[3], found[4]


def _host_and_port(authority: str) -> tuple[str, int | None]:
    """Split host and port. Raises `BadHost`."""
    if "@" in authority:
        raise BadHost("it contains a user name")
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise BadHost("its host or port is invalid")
    return canonical_host(found[1]), int(found[2]) if found[2] else None


def _check_port(port: int, rules: FetchRules) -> None:
    if port not in rules.ports:
        usual = " and ".join(str(known) for known in sorted(rules.ports))
        _refuse(f"port {port} is not one of {usual}")


def _check_host(host: str) -> None:
    address = read_address(host)
    if address is None:
        if is_local_name(host):
            _refuse(f"{host} is a name of the local network")
    elif use := special_use(address):
        _refuse(f"{host} is not a public address ({use})")


def _quoted(text: str) -> str:
    return quote(text, safe=_PLAIN)


def _exception(entry: str) -> tuple[str, int | None]:
    bare_ipv6 = entry.count(":") > 1 and not entry.startswith("[")
    try:
        return _host_and_port(f"[{entry}]" if bare_ipv6 else entry)
    except BadHost as bad:
        raise ConfigError(
            f"The exception {entry!r} for fetched addresses cannot be read",
            why=str(bad),
            fix="Write a host or host:port, for example nas.local or 192.168.1.20:8080.",
        ) from None


def _refuse(reason: str) -> NoReturn:
    raise FetchRefused(f"This address is not fetched: {reason}.", fix="Give a public http or https address.")
