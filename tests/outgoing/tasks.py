"""Ordinary tasks with several tool calls. Each template is written by hand and used with three sets of values.

A template contains the calls that a careful model makes, also with its own wording of searches. Some tasks need a person,
because they send private data to another system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from arvis.domain.tools import ToolCall

Call = tuple[str, Mapping[str, Any]]

VALUES: Sequence[Mapping[str, str]] = (
    {"city": "Kiel", "person": "Anna Berg", "first": "anna", "thing": "heat pump", "key": "heat", "topic": "tides", "id": "evt_71a"},
    {"city": "Lyon", "person": "Jonas Weber", "first": "jonas", "thing": "cargo bike", "key": "cargo", "topic": "solar storms", "id": "evt_09f"},
    {"city": "Porto", "person": "Mia Silva", "first": "mia", "thing": "standing desk", "key": "desk", "topic": "tidal power", "id": "evt_5c2"},
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    name: str
    asks: str
    calls: Sequence[Sequence[Call]]
    pages: Mapping[str, str] = field(default_factory=dict)
    results: Sequence[tuple[str, str]] = ()
    outputs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Earlier messages of the person in the conversation.
    before: Sequence[str] = ()
    #: Texts that must have arrived outside, so that the task is complete.
    arrives: Sequence[str] = ()

    def rounds(self) -> list[list[ToolCall]]:
        return [
            [
                ToolCall(f"c{index}-{place}", name.replace(".", "__"), dict(arguments))
                for place, (name, arguments) in enumerate(calls)
            ]
            for index, calls in enumerate(self.calls)
        ]


def tasks() -> Iterator[Task]:
    today = datetime.now(UTC).date()
    days = {"today": today.isoformat(), "week": (today + timedelta(days=7)).isoformat()}
    for values in VALUES:
        for template in TEMPLATES:
            yield _filled(template, {**values, **days})


def _filled(template: Mapping[str, Any], values: Mapping[str, str]) -> Task:
    def fill(value: Any) -> Any:
        match value:
            case str():
                for name, text in values.items():
                    value = value.replace("{" + name + "}", text)
                return value
            case dict():
                return {fill(key): fill(each) for key, each in value.items()}
            case list():
                return [fill(each) for each in value]
            case tuple():
                return tuple(fill(each) for each in value)
            case _:
                return value

    filled = fill(dict(template))
    return Task(**{**filled, "name": f"{template['name']} ({values['city']})"})


def s(query: str, **more: Any) -> list[Call]:
    return [("web_search", {"query": query, **more})]


def f(*urls: str) -> list[Call]:
    return [("http_fetch", {"url": url}) for url in urls]


def t(name: str, **arguments: Any) -> list[Call]:
    return [(name, arguments)]


NEWS = [
    ("All about {topic} in {city}", "http://news.example/1"),
    ("Report on {topic}", "http://paper.example/long/report-81f3"),
    ("{city} archive", "http://archive.example/a?id=99"),
]

TEMPLATES: Sequence[Mapping[str, Any]] = (
    # -- search and read
    {"name": "search and read one result", "asks": "Tell me the latest about {topic}.", "results": NEWS,
     "calls": [s("latest {topic} news"), f("http://news.example/1")], "arrives": ["fetch news.example/1"]},
    {"name": "search and read three results", "asks": "Research {topic} and compare sources.", "results": NEWS,
     "calls": [s("{topic}"), f("http://news.example/1", "http://paper.example/long/report-81f3", "http://archive.example/a?id=99")],
     "arrives": ["fetch news.example/1", "fetch paper.example", "fetch archive.example/a?id=99"]},
    {"name": "two searches", "asks": "What is new about {topic} in {city}?", "results": NEWS,
     "calls": [s("{topic} {city}"), s("{topic} {city} 2026 statistics"), f("http://news.example/1")], "arrives": ["2026"]},
    {"name": "refine a search with a found name", "asks": "Who sells a {thing} in {city}?", "results": [("Harborworks sells {thing}", "http://shop.example/x")],
     "calls": [s("{thing} {city}"), s("Harborworks {city} opening hours")], "arrives": ["Harborworks"]},
    {"name": "search by freshness", "asks": "Any news of this week on {topic}?", "results": NEWS,
     "calls": [s("{topic} news", freshness="week", count=10), f("http://paper.example/long/report-81f3")], "arrives": ["fetch paper"]},
    {"name": "search in a language", "asks": "Find German pages about {topic}.", "results": NEWS,
     "calls": [s("{topic}", language="de"), s("{topic} deutsch", language="de")], "arrives": ["search"]},
    {"name": "a question with three searches", "asks": "Compare the prices of a {thing} in {city} and Berlin.", "results": NEWS,
     "calls": [s("{thing} price {city}"), s("{thing} price Berlin"), s("{thing} price comparison")], "arrives": ["Berlin"]},
    {"name": "model's own wording", "asks": "Is a {thing} worth it?", "results": NEWS,
     "calls": [s("{thing} worth it"), s("{thing} long term experience maintenance")], "arrives": ["experience"]},
    {"name": "follow-up", "before": ["What is the weather in {city}?"], "asks": "And tomorrow?", "results": NEWS,
     "calls": [s("weather {city} today"), s("weather {city} tomorrow")], "arrives": ["tomorrow"]},
    {"name": "follow-up with another place", "before": ["Tell me about {topic} in {city}."], "asks": "The same for Oslo, please.", "results": NEWS,
     "calls": [s("{topic} Oslo"), s("{topic} Oslo statistics"), f("http://news.example/1")], "arrives": ["fetch news"]},
    # -- pages of the person
    {"name": "read a page", "asks": "Summarise http://blog.example/{first}/2026/post-7 for me.", "calls": [f("http://blog.example/{first}/2026/post-7")],
     "pages": {"blog.example/{first}/2026/post-7": "A post."}, "arrives": ["fetch blog.example"]},
    {"name": "read two pages", "asks": "Compare http://a.example/x1 and http://b.example/y2?v=3", "calls": [f("http://a.example/x1"), f("http://b.example/y2?v=3")],
     "arrives": ["fetch b.example/y2?v=3"]},
    {"name": "follow a link", "asks": "Read http://docs.example/start and the chapter on installation.",
     "pages": {"docs.example/start": "Start. http://docs.example/ch/installation-2 http://docs.example/ch/other-3"},
     "calls": [f("http://docs.example/start"), f("http://docs.example/ch/installation-2")], "arrives": ["installation-2"]},
    {"name": "follow two links", "asks": "Read http://docs.example/start and its two chapters.",
     "pages": {"docs.example/start": "http://docs.example/ch/one-1 http://docs.example/ch/two-2"},
     "calls": [f("http://docs.example/start"), f("http://docs.example/ch/one-1"), f("http://docs.example/ch/two-2")], "arrives": ["two-2"]},
    {"name": "guess a page of the site", "asks": "Look at http://docs.example/start and find the pricing page.",
     "pages": {"docs.example/start": "Nothing else here."},
     "calls": [f("http://docs.example/start"), f("http://docs.example/pricing")], "arrives": ["fetch docs.example/pricing"]},
    {"name": "read on", "asks": "Summarise http://long.example/book to its end.", "pages": {"long.example/book": "word " * 3000},
     "calls": [f("http://long.example/book"), [("http_fetch", {"url": "http://long.example/book", "offset": 5995})]], "arrives": ["fetch long.example/book"]},
    {"name": "page, then search", "asks": "Read http://blog.example/p and check its claims about {topic}.", "results": NEWS,
     "pages": {"blog.example/p": "The harbour of {city} freezes every winter."},
     "calls": [f("http://blog.example/p"), s("{topic} {city} harbour freezes winter"), f("http://news.example/1")], "arrives": ["freezes", "fetch news"]},
    {"name": "page with a link elsewhere", "asks": "Read http://blog.example/p and the source that it cites.",
     "pages": {"blog.example/p": "Source: http://other.example/s"}, "calls": [f("http://blog.example/p"), f("http://other.example/s")], "arrives": ["fetch other.example/s"]},
    # -- servers
    {"name": "calendar of a week", "asks": "When am I free next week?", "outputs": {"cal.list": ["Mon 9 dentist", "Tue free"]},
     "calls": [t("cal.list", since="{today}"), t("cal.list", since="{week}", count=10)], "arrives": ["cal.list"]},
    {"name": "open an entry", "asks": "What is my next appointment about?", "outputs": {"cal.list": ["{id}: meeting", "notes of the meeting"]},
     "calls": [t("cal.list"), t("cal.list", words="{id}")], "arrives": ["{id}"]},
    {"name": "search mail and read it", "asks": "What did {person} write last?", "outputs": {"mail.search": ["m_81: from {first}"], "mail.read": ["Hello."]},
     "calls": [t("mail.search", words="{person}"), t("mail.read", words="m_81")], "arrives": ["mail.read"]},
    {"name": "read three mails", "asks": "Summarise my newest mails.", "outputs": {"mail.search": ["m_1 m_2"], "mail.read": ["One m_3.", "Two.", "Three."]},
     "calls": [t("mail.search", count=3), t("mail.search", words="m_1"), t("mail.search", words="m_2")], "arrives": ["m_2"]},
    {"name": "contact, then calendar by name", "asks": "Do I meet {person} this week?", "outputs": {"crm.find": ["{person}, {first}@x.example"], "cal.list": ["yes"]},
     "calls": [t("crm.find", words="{person}"), t("cal.list", words="{person}", since="{today}")], "arrives": ["cal.list"]},
    {"name": "contact, then mail by address", "asks": "Find mails of {person}.", "outputs": {"crm.find": ["{person}, box81@x.example"]},
     "calls": [t("crm.find", words="{person}"), t("mail.search", words="box81@x.example")], "arrives": ["box81"]},
    {"name": "mail and calendar", "asks": "Does {person}'s mail about the {thing} clash with my calendar?", "outputs": {"mail.search": ["Meet on Friday."], "cal.list": ["Fri busy"]},
     "calls": [t("mail.search", words="{person} {thing}"), t("cal.list", since="{week}")], "arrives": ["cal.list"]},
    {"name": "notes and calendar", "asks": "Check my notes on the {thing} and my appointments.", "outputs": {"notes.find": ["buy it"], "cal.list": ["none"]},
     "calls": [t("notes.find", words="{thing}"), t("notes.find", words="anything at all"), t("cal.list", count=5)], "arrives": ["anything at all"]},
    {"name": "post what the person dictates", "asks": "Post this: the {thing} arrives in {city} today", "outputs": {"cal.list": ["x"]},
     "calls": [t("cal.list"), t("feed.post", words="the {thing} arrives in {city} today")], "arrives": ["feed.post"]},
    {"name": "post a summary of a mail", "asks": "Post a summary of the newest mail.", "outputs": {"mail.read": ["The turbine is late."]},
     "calls": [t("mail.read"), t("feed.post", words="The turbine is late")], "arrives": ["feed.post"]},
    # -- files
    {"name": "file and search of its subject", "asks": "Read my file on the {thing} and look up current prices of the {thing}.", "outputs": {"read_file": ["We want two."]},
     "calls": [t("read_file", words="a.txt"), s("{thing} price 2026"), s("{thing} prices current")], "arrives": ["search"]},
    {"name": "file whose words are searched", "asks": "Read my list and search for each entry.", "outputs": {"read_file": ["oilcloth, teapot"]},
     "calls": [t("read_file", words="list.txt"), s("oilcloth"), s("teapot")], "arrives": ["teapot"]},
    {"name": "file, then a page of the person", "asks": "Compare my file with http://rules.example/tax?y=2026", "outputs": {"read_file": ["Tax: 12"]},
     "calls": [t("read_file", words="tax.txt"), f("http://rules.example/tax?y=2026")], "arrives": ["fetch rules.example/tax?y=2026"]},
    {"name": "two files", "asks": "Compare the two files in my folder.", "outputs": {"read_file": ["a", "b"]},
     "calls": [t("read_file", words="one.txt"), t("read_file", words="two.txt")], "arrives": ["two.txt"]},
    # -- several systems
    {"name": "calendar and weather", "asks": "Do I need an umbrella for my trip to {city} tomorrow?", "outputs": {"cal.list": ["trip"]}, "results": NEWS,
     "calls": [t("cal.list", since="{today}"), s("weather {city} tomorrow"), s("{city} rain forecast")], "arrives": ["search"]},
    {"name": "mail and route", "asks": "Read {person}'s mail about {city} and find the train timetable to {city}.", "outputs": {"mail.search": ["m_1"]}, "results": NEWS,
     "calls": [t("mail.search", words="{person} {city}"), s("train timetable {city}"), f("http://archive.example/a?id=99")], "arrives": ["fetch archive"]},
    {"name": "search, then contact", "asks": "Find a {thing} dealer and check whether I know one.", "results": NEWS, "outputs": {"crm.find": ["none"]},
     "calls": [s("{thing} dealer"), t("crm.find", words="{thing} dealer"), t("crm.find", words="dealer")], "arrives": ["crm.find"]},
    {"name": "mail whose place is searched", "asks": "Where is the hotel that {person} wrote about?", "outputs": {"mail.read": ["Hotel Zum Anker"]}, "results": NEWS,
     "calls": [t("mail.read"), s("Hotel Zum Anker")], "arrives": ["Anker"]},
    {"name": "everything about a topic", "asks": "Collect news, my notes and my mails on {topic}.", "results": NEWS, "outputs": {"mail.search": ["m_4"], "notes.find": ["n"]},
     "calls": [[*s("{topic} news"), ("mail.search", {"words": "{topic}"}), ("notes.find", {"words": "{topic}"})], f("http://news.example/1", "http://paper.example/long/report-81f3"), s("{topic} latest report")],
     "arrives": ["fetch paper", "mail.search", "notes.find"]},
    {"name": "compare two things", "asks": "Which is better, a {thing} or a wheelbarrow?", "results": NEWS,
     "calls": [s("{thing} vs wheelbarrow"), s("wheelbarrow review"), s("{thing} review 2026"), f("http://news.example/1")], "arrives": ["fetch news"]},
)  # fmt: skip
