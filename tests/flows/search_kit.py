"""A search service of the tests: a real server that records the requests and answers with prepared bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.wings.listening import listening


@dataclass(frozen=True)
class Asked:
    """A request as the service received it."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass
class Service:
    """The answers are sent in their order; the last one is repeated. An answer of None never comes."""

    answers: list[bytes | None]
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.asked.append(Asked(method, parts.path, query, headers, json.loads(body) if body else None))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            await asyncio.Event().wait()
        else:
            writer.write(answer)
            await writer.drain()


@asynccontextmanager
async def service(*answers: bytes | None) -> AsyncIterator[Service]:
    made = Service(list(answers))
    async with listening(made.talk) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made


def answer(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> bytes:
    """Return an HTTP answer. A body that is neither text nor bytes is sent as JSON."""
    match body:
        case bytes():
            data, kind = body, "text/html"
        case str():
            data, kind = body.encode(), "text/html"
        case _:
            data, kind = json.dumps(body).encode(), "application/json"
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(data)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


# -- answers in the formats of the services ----------------------------------------------------------------------------

BRAVE = {
    "type": "search",
    "query": {"original": "moths", "more_results_available": True},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "Lantern moth &amp; others",
                "url": "https://moths.example/lantern",
                "description": "The <strong>lantern moth</strong> lives in\n upland meadows.",
                "page_age": "2026-05-03T10:20:30",
                "age": "May 3, 2026",
                "language": "en",
            },
            {"title": "Moth", "url": "https://en.example/Moth", "description": "About moths."},
        ],
    },
}
TAVILY = {
    "query": "moths",
    "follow_up_questions": None,
    "answer": None,
    "images": [],
    "results": [
        {
            "title": "Lantern moth & others",
            "url": "https://moths.example/lantern",
            "content": "The lantern moth lives in upland meadows.",
            "score": 0.9,
            "raw_content": None,
            "published_date": "Sun, 03 May 2026 10:20:30 GMT",
        },
        {
            "title": "Moth",
            "url": "https://en.example/Moth",
            "content": "About moths.",
            "score": 0.5,
            "raw_content": None,
        },
    ],
    "response_time": "0.83",
    "request_id": "123e4567",
}
EXA = {
    "requestId": "b5947044c4b78efa9552a7c89b306d95",
    "resolvedSearchType": "neural",
    "results": [
        {
            "title": "Lantern moth & others",
            "url": "https://moths.example/lantern",
            "publishedDate": "2026-05-03T10:20:30.000Z",
            "author": None,
            "id": "https://moths.example/lantern",
            "highlights": ["The lantern moth lives in upland meadows."],
            "highlightScores": [0.46],
        },
        {
            "title": "Moth",
            "url": "https://en.example/Moth",
            "publishedDate": None,
            "author": "",
            "id": "https://en.example/Moth",
            "highlights": ["About moths."],
        },
    ],
    "costDollars": {"total": 0.005},
}
SEARXNG = {
    "query": "moths",
    "number_of_results": 0,
    "results": [
        {
            "url": "https://moths.example/lantern",
            "title": "Lantern moth & others",
            "content": "The lantern moth lives in upland meadows.",
            "publishedDate": "2026-05-03T00:00:00",
            "engine": "brave",
            "engines": ["brave"],
            "score": 4.0,
            "category": "general",
        },
        {
            "url": "https://en.example/Moth",
            "title": "Moth",
            "content": "About moths.",
            "publishedDate": None,
            "engine": "bing",
        },
    ],
    "answers": [],
    "corrections": [],
    "infoboxes": [],
    "suggestions": ["moth trap"],
    "unresponsive_engines": [["duckduckgo", "timeout"]],
}
MEDIAWIKI = {
    "batchcomplete": True,
    "query": {
        "general": {
            "sitename": "Example Wiki",
            "server": "https://wiki.example",
            "articlepath": "/wiki/$1",
            "lang": "en",
        },
        "searchinfo": {"totalhits": 2},
        "search": [
            {
                "ns": 0,
                "title": "Lantern moth & others",
                "pageid": 7,
                "snippet": 'The <span class="searchmatch">lantern moth</span> lives in upland meadows.',
                "timestamp": "2026-05-03T10:20:30Z",
            },
            {"ns": 0, "title": "Moth", "pageid": 8, "snippet": "About moths.", "timestamp": "2026-01-01T00:00:00Z"},
        ],
    },
}
