"""Convert host names to the one form in which they are checked and looked up, from any spelling.

A text that a resolver would read as an address is an address here: decimal, octal, hexadecimal, short, in full-width
digits or percent-encoded. Nothing is looked up.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import unquote_to_bytes

import idna

#: Longer names cannot be looked up, and some conversions take quadratic time.
_LONGEST = 253
_LONGEST_WRITTEN = 1000
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_IPV6 = re.compile(r"[0-9A-Fa-f:.]+")
#: By the number of parts: the number of bytes that the last part fills (`127.1` is `127.0.0.1`).
_LAST_PART_BYTES = {1: 4, 2: 3, 3: 2, 4: 1}
#: Names that never mean a public host, whatever a resolver returns.
_LOCAL_ENDINGS = ("localhost", "localdomain", "local", "internal", "intranet", "lan", "home.arpa", "onion")


class BadHost(ValueError):
    """The text is not a host; the message is half a sentence that says why."""


def canonical_host(written: str) -> str:
    """Return a lower-case ASCII name without a final dot, an IPv4 address in four decimal parts, or an IPv6 address
    in its shortest form without brackets. Raises `BadHost`."""
    if len(written) > _LONGEST_WRITTEN:
        raise BadHost("its host is too long")
    if written.startswith("["):
        return _ipv6(written)
    name = _ascii(_decoded(written)).lower().removesuffix(".")
    if not name:
        raise BadHost("it names no host")
    if len(name) > _LONGEST:
        raise BadHost("its host is too long")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return _ipv4(name)
    if not _NAME.fullmatch(name):
        raise BadHost("its host is not a name that can be looked up")
    return name


def is_local_name(host: str) -> bool:
    """Return whether the form of a canonical name alone shows that it means this machine or its network."""
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
    """Convert a name as browsers do (UTS 46): full-width digits and other dots become plain ones before any check."""
    if name.isascii():
        return name
    try:
        mapped = idna.uts46_remap(name, std3_rules=False, transitional=False)
        return mapped if mapped.isascii() else idna.encode(mapped).decode("ascii")
    except UnicodeError:
        raise BadHost("its host is not a valid international name") from None


def _ipv4(name: str) -> str:
    """Return the address that `inet_aton` reads from one to four numbers. Raises `BadHost` for any text that it would
    refuse."""
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
    except ValueError:  # an 8 or a 9 in an octal number
        raise BadHost("its host is not a valid IPv4 address") from None
