"""The shipped daemon embeds texts as its configuration says, and finds facts by their meaning."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import aiohttp
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.acceptance.daemon import Daemon
from tests.acceptance.place import Place
from tests.fixtures.embedding_server import embedding_server, texts_of

CLERK = {"slug": "clerk", "name": "Clerk", "model": "demo/demo", "channels": ["web:ann"]}


async def test_facts_are_found_by_their_meaning_and_the_timeline_shows_it(tmp_path: Path) -> None:
    async with embedding_server() as server, aiohttp.ClientSession() as http:
        account = {"name": "vendor", "provider": "custom", "base_url": server.base_url, "model": "chat"}
        settings = {"ARVIS__AGENTS": json.dumps([CLERK]), "ARVIS__ACCOUNTS": json.dumps([account])}
        daemon = Daemon(tmp_path, settings=settings)
        place = Place(daemon, server, http)
        try:
            await asyncio.to_thread(daemon.start)
            for number in range(20):
                await remember(place, f"Book number {number} of the list is read.")
            kept = await remember(place, "Our physician is called Winter.")
            assert await found(place) == []
            await place.ask("My automobile is red, by the way.", "ann")
            assert server.requests == [], "nothing is sent before a model for embeddings is configured"
            await asyncio.to_thread(daemon.stop)

            daemon.settings |= {"ARVIS__EMBEDDINGS__ACCOUNT": "vendor", "ARVIS__EMBEDDINGS__MODEL": "embed-1"}
            await asyncio.to_thread(daemon.start)
            async with asyncio.timeout(60):
                while len({text for request in server.requests for text in texts_of(request)}) < 22:
                    server.arrived.clear()
                    await server.arrived.wait()
                while not await found(place):  # noqa: ASYNC110 no event of the API says that a vector is stored
                    await asyncio.sleep(0.05)
            assert (await found(place))[0] == "Our physician is called Winter."
            asked = await place.post("Who is our doctor?", "ann")
            timeline = await place.wait(asked)
            prepared = next(step for step in timeline["steps"] if step["step"] == "node" and "prompt" in step)
            assert prepared["prompt"]["recalled"][0]["fact"] == kept
            explained = await asyncio.to_thread(daemon.arvis, "explain", asked)
            assert f"facts found for the message: #21 {kept} (score" in explained.stdout
            assert "automobile is red" in await searched(daemon, "Which car?")
        finally:
            await asyncio.to_thread(daemon.close)


async def remember(place: Place, content: str) -> str:
    status, fact = await place.call("POST", "/api/memory", json={"agent": "clerk", "content": content})
    assert status == 201, fact
    return str(fact["id"])


async def found(place: Place) -> list[str]:
    _, page = await place.call("GET", "/api/memory", params={"q": "doctor"})
    return [fact["content"] for fact in page["items"]]


async def searched(daemon: Daemon, query: str) -> str:
    """Return the result of `search_conversations`."""
    key = {"Authorization": f"Bearer {daemon.api_key}"}
    async with (
        httpx2.AsyncClient(headers=key, timeout=60) as http,
        Client(streamable_http_client(f"{daemon.url}/mcp", http_client=http)) as client,
    ):
        return str(await client.call_tool("search_conversations", {"query": query}))
