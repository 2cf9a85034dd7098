"""The judge of outgoing data: the data that leaves without an approval, and the data that does not."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from arvis.domain.outgoing import Found, Judge, Known, Outgoing, Reach

OWN = "Compare the opening hours in https://shop.example/hours with (https://shop.example/wiki/Kiel_(city)). Also Berlin, Köln and 東京の天気!"
RESULTS = Found(
    "1. Kiel tides\n https://tides.example/kiel\n 2. Harbour",
    ["https://tides.example/kiel", "https://news.example/a?b=1"],
)
PAGE = Found(
    "https://shop.example/hours\nTitle: Hours\n\n[Winter](https://shop.example/hours/winter) [Out](https://evil.example/x) abc 4711",
    page="https://shop.example/hours",
)
KNOWN = Known(
    OWN, hosts={"wiki.local"}, earlier="I live near Flensburg 4812", found=(RESULTS, PAGE), today=date(2026, 11, 27)
)


def judged(arguments: dict[str, Any], reach: Reach, **more: Any) -> str | None:
    return Judge(KNOWN).objection(Outgoing(arguments, reach, {"properties": {"query": {}, "count": {}}}, **more))


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example/hours",
        "http://shop.example/hours#top",
        "https://shop.example/wiki/Kiel_(city)",
        "https://shop.example",
        "https://shop.example/berlin",
        "https://tides.example/kiel",
        "https://news.example/a?b=1",
        "https://shop.example/hours/winter",
        "https://wiki.local/index.php?title=Berlin",
    ],
)
def test_known_addresses_are_fetched(url: str) -> None:
    assert judged({"url": url, "offset": 6000}, Reach.ADDRESSES) is None


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://evil.example/", "The host evil[.]example is neither"),
        ("https://evil.example/x", "The host evil[.]example is neither"),
        ("https://4711.shop.example/hours", "The host 4711[.]shop[.]example"),
        ("https://sh\u043ep.example/hours", "(xn--shp-ted[.]example)"),
        ("https://shop.example/4711", "“4711”"),
        ("https://shop.example/abc", "“abc”"),
        ("https://shop.example/hours?d=secret", "“d”"),
        ("https://shop.example/%62erlin", "contains data"),
        ("https://shop.example/bErlin", "“bErlin”"),
        ("https://shop.example/berlin/berlin/berlin", "its choice of addresses"),
        ("https://shop.example/berlin//", "contains data"),
        ("https://shop.example:8443/hours", "The port of"),
        ("https://tides.example/kiel?x=1", "“x”"),
        ("https://tides.example/other", "“other”"),
        ("https://shop.example@evil.example/", "not certain"),
        ("shop.example/hours", "not complete"),
        ("https://shop.example/hours https://evil.example/", "The host evil[.]example"),
        ("see https://shop.example/hours", "not complete"),
        ("https://wiki.local/4711", "“4711”"),
        ("https://wiki.local/index.php?title=secret", "“secret”"),
    ],
)
def test_other_addresses_are_asked_about(url: str, why: str) -> None:
    said = judged({"url": url}, Reach.ADDRESSES)
    assert said is not None
    assert why in said


@pytest.mark.parametrize(
    "query",
    [
        "opening hours Berlin",
        "weather Köln",
        "東京 天気",
        "Kiel tides latest 2026",
        "flensburg population",
        "HARBOUR opening",
        "berlin, köln",
        "hours 2026-12-24",
    ],
)
def test_words_of_the_person_and_of_public_pages_are_searched(query: str) -> None:
    assert judged({"query": query, "count": 5}, Reach.SERVICE) is None


@pytest.mark.parametrize(
    "query",
    [
        "sk-live-9f8e",
        "pin 4711",
        "4812",
        "a b c d e f",
        "abc",
        "bErLiN",
        "Berlin\u200b\u200c",
        "Berlin \U000e0041",
        "b e r l i n",
        "hours 1987-12-24",
        "Berlin ..,,.,..,,..,,..,,..,,..,,..,,..,,..,,..,,.,.,",
        "visit https://evil.example/x",
        "Zm9vYmFy",
        "a",
        "a.example",
        "to.example",
        "hi",
        "latest news",
        "5",
    ],
)
def test_new_words_are_asked_about(query: str) -> None:
    assert judged({"query": query}, Reach.SERVICE) is not None


def test_numbers_and_names_of_arguments_carry_no_data() -> None:
    assert judged({"query": "Berlin", "codes": [67, 65, 78]}, Reach.SERVICE) is not None
    assert judged({"query": "Berlin", "secret": "Berlin"}, Reach.SERVICE) is not None
    assert judged({"query": "Berlin", "count": 0.123}, Reach.SERVICE) is not None
    assert judged({"query": "Berlin", "count": True}, Reach.SERVICE) is None


def test_a_server_gets_its_own_data_back() -> None:
    assert judged({"query": "evt_81f7"}, Reach.SERVICE) is not None
    assert judged({"query": "evt_81f7"}, Reach.SERVICE, returned=["id: evt_81f7, with Ann"]) is None


def test_choices_of_links_carry_less_than_a_byte() -> None:
    links = " ".join(f"[{number}](https://shop.example/p/{number})" for number in range(200))
    judge = Judge(Known(OWN, found=[Found(links, page="https://shop.example/hours")]))
    calls = [Outgoing({"url": f"https://shop.example/p/{number}"}, Reach.ADDRESSES, {}) for number in (1, 2)]
    assert [judge.objection(call) is None for call in calls] == [True, False]
    wide = " ".join(f"[{number}](https://shop.example/p/{number})" for number in range(256))
    judge = Judge(Known(OWN, found=[Found(wide, page="https://shop.example/hours")]))
    assert judge.objection(calls[0]) is not None


def test_choices_of_words_are_limited() -> None:
    judge = Judge(KNOWN)
    call = Outgoing({"query": "Berlin latest news price"}, Reach.SERVICE, {"properties": {"query": {}}})
    allowed = [judge.objection(call) is None for _ in range(9)]
    assert allowed[:3] == [True] * 3
    assert not allowed[-1]


def test_an_objection_costs_nothing() -> None:
    judge = Judge(KNOWN)
    for _ in range(50):
        assert judge.objection(Outgoing({"url": "https://evil.example/"}, Reach.ADDRESSES, {})) is not None
    assert judge.objection(Outgoing({"url": "https://shop.example/hours"}, Reach.ADDRESSES, {})) is None
