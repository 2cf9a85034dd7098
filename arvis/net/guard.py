"""The rules for the addresses that may be fetched for users and models. This module looks up no names and opens no
connections.

A URL is parsed once into a `Target`, and only the target is used afterwards, so that no second parser can understand
the text differently. Host names are converted to one form: every text that a resolver would read as an address becomes
an address, whether decimal, octal, hexadecimal, short, in full-width digits or percent-encoded. The standard library's
`is_global` knows only the special addresses that were registered when that version of Python was released, and ignores
IPv4 addresses inside IPv6 addresses. The lists below close both gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NoReturn
from urllib.parse import quote, unquote_to_bytes

import idna

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError, FetchRefused
from arvis.domain.regex import regex

#: The maximum length of a name. Longer names cannot be looked up, and some conversions take quadratic time.
_LONGEST = 253
_LONGEST_WRITTEN = 1000
_NAME = regex(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = regex(r"[0-9]+|0x[0-9a-f]*")
_IPV6 = regex(r"[0-9A-Fa-f:.]+")
#: The number of bytes that the last part of an IPv4 address fills, by the number of parts. For example, the last part
#: of `127.1` fills three bytes: `127.0.0.1`.
_LAST_PART_BYTES = {1: 4, 2: 3, 3: 2, 4: 1}
#: Endings of names that are never public hosts, even if a resolver returns a public address.
_LOCAL_ENDINGS = ("localhost", "localdomain", "local", "internal", "intranet", "lan", "home.arpa", "onion")


class BadHost(ValueError):
    """The error for a text that is not a host. The message is the reason, as the second half of a sentence."""


def canonical_host(written: str) -> str:
    """Return a host in canonical form: a name in lower-case ASCII without a final dot, an IPv4 address with four
    decimal parts, or an IPv6 address in its shortest form without brackets. Raise `BadHost`."""
    if len(written) > _LONGEST_WRITTEN:
        raise BadHost("its host is too long")
    if written.startswith("["):
        return _ipv6(written)
    name = _ascii(_decoded(written)).lower().removesuffix(".")
    if not name:
        raise BadHost("it contains no host")
    if len(name) > _LONGEST:
        raise BadHost("its host is too long")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return _ipv4(name)
    if not _NAME.fullmatch(name):
        raise BadHost("its host is not a name that can be looked up")
    return name


def is_local_name(host: str) -> bool:
    """Return whether a canonical name has the form of a name of this machine or its network."""
    return "." not in host or any(f".{host}".endswith(f".{ending}") for ending in _LOCAL_ENDINGS)


def _ipv6(written: str) -> str:
    inner = written[1:-1]
    if "%" in inner:
        raise BadHost("its address has a zone, which exists only on a local network")
    if not written.endswith("]") or not _IPV6.fullmatch(inner):
        raise BadHost("its host is not a valid IPv6 address")
    try:
        return str(IPv6Address(inner))
    except AddressValueError:
        raise BadHost("its host is not a valid IPv6 address") from None


def _decoded(written: str) -> str:
    if "%" not in written:
        return written
    try:
        return unquote_to_bytes(written).decode("utf-8")
    except UnicodeError:
        raise BadHost("its host is not text") from None


def _ascii(name: str) -> str:
    """Convert a name to ASCII as browsers do (UTS 46). Full-width digits and non-ASCII dots become plain digits and
    dots before any check."""
    if name.isascii():
        return name
    try:
        mapped = idna.uts46_remap(name, std3_rules=False, transitional=False)
        return mapped if mapped.isascii() else idna.encode(mapped).decode("ascii")
    except UnicodeError:
        raise BadHost("its host is not a valid international name") from None


def _ipv4(name: str) -> str:
    """Return the address that `inet_aton` reads from one to four numbers. Raise `BadHost` if `inet_aton` would refuse
    the text."""
    parts = name.split(".")
    if len(parts) not in _LAST_PART_BYTES or not all(_NUMBER.fullmatch(part) for part in parts):
        raise BadHost("its host is not a valid IPv4 address")
    *first, last = [_number(part) for part in parts]
    room = 8 * _LAST_PART_BYTES[len(parts)]
    if any(part > 255 for part in first) or last >= 1 << room:  # noqa: PLR2004 the largest byte
        raise BadHost("its host is not a valid IPv4 address")
    high = sum(part << 24 - 8 * place for place, part in enumerate(first))
    return str(IPv4Address(high + last))


def _number(part: str) -> int:
    try:
        if part.startswith("0x"):
            return int(part[2:] or "0", 16)
        return int(part, 8 if part.startswith("0") else 10)
    except ValueError:  # the digit 8 or 9 in an octal number
        raise BadHost("its host is not a valid IPv4 address") from None


IPAddress = IPv4Address | IPv6Address

#: Networks that are refused whatever `is_global` returns. They include a public address that only the internal hosts of
#: a cloud use.
_SPECIAL_V4 = tuple(
    (IPv4Network(network), meaning)
    for network, meaning in (
        ("0.0.0.0/8", "this machine"),
        ("10.0.0.0/8", "a private network"),
        ("100.64.0.0/10", "the inside of a provider's network"),
        ("127.0.0.0/8", "this machine"),
        ("168.63.129.16/32", "a cloud's metadata service"),
        ("169.254.0.0/16", "a link-local or metadata address"),
        ("172.16.0.0/12", "a private network"),
        ("192.0.0.0/24", "a protocol's own address"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "a relay"),
        ("192.168.0.0/16", "a private network"),
        ("198.18.0.0/15", "a benchmark's network"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "a multicast group"),
        ("240.0.0.0/4", "a reserved address"),
    )
)
#: The only range of IPv6 from which public addresses are assigned, and the special networks in this range.
_UNICAST = IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(
    (IPv6Network(network), meaning)
    for network, meaning in (
        ("2001::/32", "a Teredo tunnel"),
        ("2001::/23", "a protocol's own address"),
        ("2001:db8::/32", "documentation"),
        ("3fff::/20", "documentation"),
    )
)
#: Networks whose IPv6 addresses contain an IPv4 address, with the number of bits after the IPv4 address.
_CARRIERS = (
    (IPv6Network("::ffff:0:0/96"), 0),  # IPv4-mapped
    (IPv6Network("::/96"), 0),  # deprecated, but some systems still use it
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
)
#: The first half of the interface part of an ISATAP address, with or without the bit for "globally unique".
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def special_use(address: IPAddress) -> str | None:
    """Return the special use of an address in a few words; None for a public address."""
    inner = carried(address)
    if isinstance(inner, IPv6Address):
        return _special_v6(inner)
    for network, meaning in _SPECIAL_V4:
        if inner in network:
            return meaning
    return None if inner.is_global else "not public"


def carried(address: IPAddress) -> IPAddress:
    """Return the IPv4 address inside a mapped, compatible, NAT64 or 6to4 address; return any other address
    unchanged."""
    if isinstance(address, IPv6Address):
        for network, behind in _CARRIERS:
            if address in network:
                return IPv4Address(int(address) >> behind & 0xFFFFFFFF)
    return address


def read_address(text: str) -> IPAddress | None:
    """Parse an address in the form that resolvers return. Return None for any other text and for an address with a
    zone, which is never public."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def _special_v6(address: IPv6Address) -> str | None:
    # Teredo, site-local, unique-local, link-local, multicast and the local NAT64 prefix each fail one of these checks.
    for network, meaning in _SPECIAL_V6:
        if address in network:
            return meaning
    if address not in _UNICAST or not address.is_global:
        return "not public"
    if int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        return special_use(IPv4Address(int(address) & 0xFFFFFFFF))
    return None


_PORTS = {"http": 80, "https": 443}
_LONGEST_URL = 8000
#: The maximum number of addresses to try for a name.
_MOST_ADDRESSES = 8
_URL = regex(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_AUTHORITY = regex(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{0,5}))?")
_CONTROL = regex(r"[\x00-\x1f\x7f\\]")
_SURROGATE = regex(r"[\ud800-\udfff]")
#: The characters that stay unchanged in a path or a query. `%` is one of them, so that text that is already encoded is
#: not encoded again.
_PLAIN = "%/?:@!$&'()*+,;=~[]|^"


@dataclass(frozen=True, slots=True)
class FetchRules:
    """The operator's rules."""

    #: Canonical hosts whose addresses are not checked, each with a port (None: all of `ports`).
    allow: frozenset[tuple[str, int | None]] = frozenset()
    #: The ports that may be used at all other hosts.
    ports: frozenset[int] = frozenset(_PORTS.values())


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that passed all rules that need no lookup."""

    scheme: str
    #: The host in canonical form.
    host: str
    port: int
    #: The path and the query, in ASCII. The path begins with a slash.
    path: str
    #: True: the operator allowed this host, so its addresses are not checked.
    trusted: bool

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"


def read_rules(*, allow: Iterable[str] = (), ports: Iterable[int] = _PORTS.values()) -> FetchRules:
    """Return the rules. The entries of `allow` have the form `host` or `host:port`. Raise `ConfigError` if an entry is
    invalid."""
    return FetchRules(allow=frozenset(_exception(entry) for entry in allow), ports=frozenset(ports))


def read_url(text: str, rules: FetchRules) -> Target:
    """Return the target of a URL. Raise `FetchRefused` if its text shows that it is not a public web address."""
    scheme, authority, path, query = _split(text.strip())
    try:
        host, port = _host_and_port(authority)
    except BadHost as bad:
        _refuse(str(bad))
    port = _PORTS[scheme] if port is None else port
    trusted = (host, port) in rules.allow or ((host, None) in rules.allow and port in rules.ports)
    if not trusted:
        if port not in rules.ports:
            usual = " and ".join(str(known) for known in sorted(rules.ports))
            _refuse(f"port {port} is not one of {usual}")
        _check_host(host)
    tail = _quoted(path or "/") + ("" if query is None else "?" + _quoted(query))
    return Target(scheme=scheme, host=host, port=port, path=tail, trusted=trusted)


def checked_addresses(target: Target, found: Sequence[str]) -> tuple[IPAddress, ...]:
    """Return the addresses of a name, but at most `_MOST_ADDRESSES`. Raise `FetchRefused` if one of the addresses found
    is not public. The error does not name the address, because it must not reveal the internal network."""
    addresses = [read_address(text) for text in found]
    known = tuple(address for address in addresses if address is not None)
    if len(known) < len(addresses):
        _refuse(f"{target.host} has an address with a zone, which exists only on a local network")
    if not target.trusted and any(special_use(address) for address in known):
        _refuse(f"{target.host} has an address that is not public")
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
    """Return the host and the port (None if the text has no port). Raise `BadHost`."""
    if "@" in authority:
        raise BadHost("it contains a user name")
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise BadHost("its host or port is invalid")
    return canonical_host(found[1]), int(found[2]) if found[2] else None


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
            f"The entry {entry!r} of `tools.allow_hosts` cannot be read",
            why=str(bad),
            fix="Write a host or host:port, for example nas.local or 192.168.1.20:8080.",
        ) from None


def _refuse(reason: str) -> NoReturn:
    raise FetchRefused(f"Arvis does not fetch this address: {reason}.", fix="Give a public http or https address.")
