"""Decide which IP addresses are public: the half of the guard that names cannot deceive (reliability.md §5.6).

The standard library's `is_global` follows the registry of special addresses only up to its own version, and ignores
addresses that contain another one. Both gaps are closed here, without any lookup.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

IPAddress = IPv4Address | IPv6Address

#: Networks that are refused on every version of Python, and public numbers that only internal hosts answer.
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
#: The only part of IPv6 from which public addresses are assigned, and the special networks inside it.
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
#: By prefix: the number of bits after the IPv4 address that it contains.
_CARRIERS = (
    (IPv6Network("::ffff:0:0/96"), 0),  # IPv4-mapped
    (IPv6Network("::/96"), 0),  # IPv4-compatible, long out of use but still understood by some
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
)
#: The beginning of the interface part of an ISATAP address, with or without the bit for "globally unique".
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def special_use(address: IPAddress) -> str | None:
    """Return the special use of an address in a few words; None for a public one."""
    inner = carried(address)
    if isinstance(inner, IPv6Address):
        return _special_v6(inner)
    for network, meaning in _SPECIAL_V4:
        if inner in network:
            return meaning
    return None if inner.is_global else "not public"


def carried(address: IPAddress) -> IPAddress:
    """Return the IPv4 address inside a mapped, compatible, NAT64 or 6to4 address; any other address unchanged."""
    if isinstance(address, IPv6Address):
        for network, behind in _CARRIERS:
            if address in network:
                return IPv4Address(int(address) >> behind & 0xFFFFFFFF)
    return address


def read_address(text: str) -> IPAddress | None:
    """Read an address as resolvers write it; None for anything else, and for one with a zone, which is never public."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def _special_v6(address: IPv6Address) -> str | None:
    # Teredo, site-local, unique-local, link-local, multicast and the local NAT64 prefix all fail one of these checks.
    for network, meaning in _SPECIAL_V6:
        if address in network:
            return meaning
    if address not in _UNICAST or not address.is_global:
        return "not public"
    if int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        return special_use(IPv4Address(int(address) & 0xFFFFFFFF))
    return None
