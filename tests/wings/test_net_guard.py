"""The guard refuses every address of the list, and allows the others."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.errors import ConfigError, FetchFailed, FetchRefused
from arvis.net.fetcher import GuardedFetcher
from arvis.net.guard import BadHost, FetchRules, canonical_host, read_rules, read_url, special_use
from tests.wings.address_list import PUBLIC, Names, Probe, Signpost, attempt, probes, standing
from tests.wings.dialling import Dialled

FOUND = {
    "example.com": ["93.184.216.34"],
    "two.example.com": ["93.184.216.34", "2606:2800:220:1::1"],
    "xn--bcher-kva.example": ["93.184.216.34"],
    "xn--strae-oqa.example": ["93.184.216.34"],
    "under_score.example.com": ["93.184.216.34"],
    "nat.example.com": ["64:ff9b::5db8:d822"],
    "mapped.example.com": ["::ffff:93.184.216.34"],
    "localhost.example.com": ["93.184.216.34"],
    "internal.example.com": ["93.184.216.34"],
    "nothing.example.com": [],
}


async def look_up(host: str, port: int) -> Sequence[str]:
    return FOUND[host]


async def dialled(url: str, rules: FetchRules | None = None) -> list[tuple[str, int]]:
    dial = Dialled()
    fetcher = GuardedFetcher(rules=rules or read_rules(), resolve=look_up, dial=dial)
    with pytest.raises(FetchFailed):
        await fetcher.fetch(url)
    return dial.peers


async def test_nothing_of_the_list_is_dialled() -> None:
    signpost = Signpost()
    wrong: list[str] = []
    async with standing(signpost, "127.0.0.1", 0) as port:
        for probe in probes():
            signpost.point(probe)
            wrong += await tried(probe, Dialled(port=port))
    assert wrong == []


async def tried(probe: Probe, dial: Dialled) -> list[str]:
    names = Names(probe=probe)
    fetcher = GuardedFetcher(rules=read_rules(), resolve=names.resolve, dial=dial)
    wrong = await attempt(fetcher, probe)
    allowed = {(PUBLIC, 80)} if probe.reaches_public else set()
    if set(dial.peers) != allowed:
        return [f"{probe.line}: dialled {dial.peers}"]
    if any(count > 1 for count in names.asked.values()):
        return [f"{probe.line}: looked up {names.asked}"]
    return [wrong] if wrong else []


@pytest.mark.parametrize(
    "url",
    [
        "http://router/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://foo.localhost/",
        "http://db.internal/",
        "http://nas.local/",
        "http://nas.home.arpa/",
        "http://example.com/\r\nX-Injected: 1",
        "http://example.com/a\tb",
        "http://exam\nple.com/",
        "http://example.com\\.example.com/",
        "http://example.com/a\\b",
        "http://example.com/\x00",
        "http://user@example.com/",
        "http://example.com:8080/",
    ],
)
async def test_some_are_refused_without_a_lookup(url: str) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise AssertionError(f"{host} must not be looked up")

    with pytest.raises(FetchRefused):
        await GuardedFetcher(rules=read_rules(), resolve=resolve).fetch(url)


def test_the_list_is_long_and_varied() -> None:
    found = probes()
    assert len({probe.line for probe in found}) == len(found) >= 800
    assert sum(bool(probe.codes) for probe in found) >= 60
    assert sum(len(probe.answers) > 1 for probe in found) >= 8


@pytest.mark.parametrize(
    ("url", "peers"),
    [
        ("http://example.com/", [("93.184.216.34", 80)]),
        ("https://example.com", [("93.184.216.34", 443)]),
        ("HTTPS://EXAMPLE.COM:443/", [("93.184.216.34", 443)]),
        ("http://example.com:443/", [("93.184.216.34", 443)]),
        ("http://example.com:/", [("93.184.216.34", 80)]),
        ("http://example.com./a?b#c", [("93.184.216.34", 80)]),
        ("http://ex%61mple.com/", [("93.184.216.34", 80)]),
        ("http://example\u3002com/", [("93.184.216.34", 80)]),
        ("http://\uff45xample.com/", [("93.184.216.34", 80)]),
        ("http://bücher.example/ä?ö=ü", [("93.184.216.34", 80)]),
        ("http://BÜCHER.example/", [("93.184.216.34", 80)]),
        ("http://straße.example/", [("93.184.216.34", 80)]),
        ("http://under_score.example.com/", [("93.184.216.34", 80)]),
        ("http://localhost.example.com/", [("93.184.216.34", 80)]),
        ("http://internal.example.com/", [("93.184.216.34", 80)]),
        ("http://two.example.com/", [("93.184.216.34", 80), ("2606:2800:220:1::1", 80)]),
        ("http://nat.example.com/", [("64:ff9b::5db8:d822", 80)]),
        ("http://mapped.example.com/", [("::ffff:5db8:d822", 80)]),
        ("http://nothing.example.com/", []),
        ("http://93.184.216.34/", [("93.184.216.34", 80)]),
        ("http://1572395042/", [("93.184.216.34", 80)]),
        ("http://0x5db8d822/", [("93.184.216.34", 80)]),
        ("http://0135.0270.0330.042/", [("93.184.216.34", 80)]),
        ("http://1.1/", [("1.0.0.1", 80)]),
        ("http://02130706433/", [("17.99.141.27", 80)]),
        ("http://8.8.8.8/", [("8.8.8.8", 80)]),
        ("http://11.0.0.1/", [("11.0.0.1", 80)]),
        ("http://172.15.255.255/", [("172.15.255.255", 80)]),
        ("http://172.32.0.0/", [("172.32.0.0", 80)]),
        ("http://100.63.255.255/", [("100.63.255.255", 80)]),
        ("http://100.128.0.0/", [("100.128.0.0", 80)]),
        ("http://169.253.255.255/", [("169.253.255.255", 80)]),
        ("http://223.255.255.255/", [("223.255.255.255", 80)]),
        ("http://192.31.196.1/", [("192.31.196.1", 80)]),
        ("https://[2606:2800:220:1::1]/", [("2606:2800:220:1::1", 443)]),
        ("http://[2606:2800:0220:0001::0001]:443/", [("2606:2800:220:1::1", 443)]),
        ("http://[2001:200::1]/", [("2001:200::1", 80)]),
        ("http://[2a00:1450:4001:80b::200e]/", [("2a00:1450:4001:80b::200e", 80)]),
        ("http://[64:ff9b::8.8.8.8]/", [("64:ff9b::808:808", 80)]),
        ("http://[::ffff:8.8.8.8]/", [("::ffff:808:808", 80)]),
        ("http://[2002:808:808::1]/", [("2002:808:808::1", 80)]),
    ],
)
async def test_the_public_is_dialled(url: str, peers: list[tuple[str, int]]) -> None:
    assert sorted(await dialled(url)) == sorted(peers)


@pytest.mark.parametrize(
    ("allow", "url", "peer"),
    [
        ("127.0.0.1", "http://127.1/", ("127.0.0.1", 80)),
        ("127.0.0.1:5070", "http://127.0.0.1:5070/", ("127.0.0.1", 5070)),
        ("nas.local", "https://NAS.local./", ("192.168.1.9", 443)),
        ("nas.local:8080", "http://nas.local:8080/", ("192.168.1.9", 8080)),
        ("[fd00::9]:8080", "http://[fd00::9]:8080/", ("fd00::9", 8080)),
        ("fd00::9", "http://[fd00:0::9]/", ("fd00::9", 80)),
    ],
)
async def test_what_the_operator_excepts_is_dialled(
    monkeypatch: pytest.MonkeyPatch, allow: str, url: str, peer: tuple[str, int]
) -> None:
    monkeypatch.setitem(FOUND, "nas.local", ["192.168.1.9"])
    assert await dialled(url, read_rules(allow=[allow])) == [peer]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.0.0.1:5071/",
        "http://nas.local:8080/",
        "http://x.nas.local/",
        "http://nas.local.example.com:5070/",
        "http://user@nas.local/",
        "ftp://nas.local/",
    ],
)
async def test_an_exception_is_exactly_one_host(url: str) -> None:
    with pytest.raises(FetchRefused):
        read_url(url, read_rules(allow=["127.0.0.1:5070", "nas.local"]))


async def test_further_ports_can_be_opened() -> None:
    rules = read_rules(ports=[80, 443, 8080])
    assert await dialled("http://example.com:8080/", rules) == [("93.184.216.34", 8080)]
    with pytest.raises(FetchRefused):
        read_url("http://127.0.0.1:8080/", rules)


@pytest.mark.parametrize("entry", ["", "http://nas.local", "nas.local:x", "user@nas", "10.0.0.0/8", "[::1", "a b"])
def test_an_exception_that_cannot_be_read_says_so(entry: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_rules(allow=[entry])


@pytest.mark.parametrize("url", ["http://secret:word@example.com/", "http://10.0.0.1/?key=word", "gopher://word/"])
def test_a_refusal_repeats_no_secret(url: str) -> None:
    with pytest.raises(FetchRefused) as caught:
        read_url(url, read_rules())
    assert "word" not in f"{caught.value} {caught.value.why} {caught.value.fix}"


async def test_a_refusal_says_nothing_of_the_network_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FOUND, "inside.example.com", ["10.1.2.3"])
    fetcher = GuardedFetcher(rules=read_rules(), resolve=look_up)
    with pytest.raises(FetchRefused, match="not public") as caught:
        await fetcher.fetch("http://inside.example.com/")
    assert "10.1.2.3" not in str(caught.value)


@given(st.integers(0, 2**32 - 1))
def test_all_ways_to_write_an_address_are_the_same_address(number: int) -> None:
    plain = str(IPv4Address(number))
    a, b, c, d = number >> 24, number >> 16 & 255, number >> 8 & 255, number & 255
    ways = [str(number), hex(number), f"0{number:o}", f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{number & 0xFFFF}"]
    ways += [f"0{a:o}.0x{b:x}.{c}.0{d:o}", f"%3{plain[0]}{plain[1:]}", plain.replace(".", "\u3002") + "."]
    assert {canonical_host(way) for way in ways} == {plain}


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_what_is_public_here_is_public_to_the_standard_library(address: IPv4Address | IPv6Address) -> None:
    if special_use(address) is None and not (isinstance(address, IPv6Address) and int(address) >> 96 == 0x64FF9B):
        assert address.is_global or (isinstance(address, IPv6Address) and address.ipv4_mapped is not None)


@given(st.integers(0, 2**32 - 1))
def test_a_wrapped_address_is_judged_by_what_it_wraps(number: int) -> None:
    inner = IPv4Address(number)
    for wrapped in (0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80 | 1):
        assert special_use(ip_address(wrapped)) == special_use(inner)


@given(st.text(max_size=60))
def test_any_text_is_a_target_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"http://example.com/{text}"):
        try:
            target = read_url(url, read_rules())
        except FetchRefused:
            continue
        assert target.url.isascii()
        assert read_url(target.url, read_rules()) == target


@given(st.text(alphabet="0123456789abcdefx.%[]:-_ \u3002\uff11\u2460\u00ad", max_size=30))
def test_a_canonical_host_stays_as_it_is(text: str) -> None:
    try:
        host = canonical_host(text)
    except BadHost:
        return
    assert canonical_host(f"[{host}]" if ":" in host else host) == host


def test_long_texts_are_refused_at_once() -> None:
    for url in (
        "http://" + "a." * 100_000,
        "http://" + "\u3002" * 7000,
        "http://" + "1" * 5000,
        "http://[" + "1" * 900,
    ):
        with pytest.raises(FetchRefused):
            read_url(url, read_rules())
