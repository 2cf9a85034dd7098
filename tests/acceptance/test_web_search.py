"""Web search and reading in the shipped daemon, with a search service and a site of the test."""

from __future__ import annotations

import json
from pathlib import Path

from tests.acceptance.place import opened
from tests.flows.search_kit import BRAVE, answer, service

PAGE = "<title>Moths</title><nav>Menu</nav><main><h1>Lantern moth</h1><p>It lives in upland meadows.</p></main>"


async def test_an_agent_searches_and_reads(tmp_path: Path) -> None:
    agent = {"slug": "helper", "name": "Helper", "model": "demo", "tools": ["web_search", "http_fetch"]}
    async with service(answer(BRAVE)) as brave, service(answer(PAGE)) as site:
        settings = {
            "ARVIS__AGENTS": json.dumps([agent]),
            "ARVIS__ROUTING__FALLBACK": "helper",
            "ARVIS__SEARCH__BRAVE__ADDRESS": brave.url,
            "BRAVE_API_KEY": "a-key-from-the-environment",
            "ARVIS__TOOLS__ALLOW_HOSTS": site.url.removeprefix("http://"),
        }
        async with opened(tmp_path, settings) as place:
            found = await place.ask('demo: tool web_search {"query": "moths"}', "search")
            assert "1. Lantern moth & others (2026-05-03)" in found["reply"]
            assert brave.asked[0].headers["x-subscription-token"] == "a-key-from-the-environment"
            read = await place.ask(f'demo: tool http_fetch {{"url": "{site.url}/moth"}}', "read")
            assert "It lives in upland meadows." in read["reply"]
            assert "Menu" not in read["reply"]
            log = "".join(file.read_text() for file in (place.daemon.data / "logs").iterdir())
            assert "a-key-from-the-environment" not in log
