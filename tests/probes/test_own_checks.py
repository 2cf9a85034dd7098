"""Checks of probes that no other test makes (`tests/probes/table.py`)."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from arvis.domain.messages import Address
from arvis.ports.store import Transaction
from arvis.store.open import Database
from arvis.web.monitoring import DatabaseMetrics
from tests.flows.app_harness import open_app
from tests.flows.test_web_completions import answered, asked
from tests.flows.test_web_figures import GivenFigures
from tests.flows.web_server import CHAT_KEY, OWNER_KEY, MovableClock, Site, running_site

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def test_equal_users_of_two_keys_share_no_conversation(site: Site) -> None:
    for key in (CHAT_KEY, OWNER_KEY, CHAT_KEY):
        await answered(site, asked("Hello", user="ann"), key=key)
    first, other, again = [message.address for message in site.inbox.received]
    assert first == again != other


async def test_thousands_of_ranges_cost_no_more_than_the_file(site: Site) -> None:
    made = (await site.call("POST", "/api/backups")).json()
    whole = made["bytes"]
    for count in (2, 500, 10_000):
        ranges = ",".join(f"{number}-{number + 1}" for number in range(count))
        headers = {"Authorization": f"Bearer {OWNER_KEY}", "Range": f"bytes={ranges}"}
        began = time.process_time()
        async with site.http.get(f"{site.url}/api/backups/{made['name']}/file", headers=headers) as response:
            body = await response.read()
        assert response.status in {200, 206, 400, 416, 431}
        assert len(body) <= whole + 1_000
        assert time.process_time() - began < 1


async def test_a_key_in_the_address_or_the_body_opens_nothing(site: Site) -> None:
    names = ("key", "api_key", "apiKey", "token", "access_token", "authorization", "password")
    for name in names:
        async with site.http.get(f"{site.url}/api/agents", params={name: OWNER_KEY}) as response:
            assert response.status == 401
        async with site.http.post(f"{site.url}/api/messages", json={"content": "x", name: OWNER_KEY}) as response:
            assert response.status == 401
    for header in ("X-Api-Key", "Api-Key", "Proxy-Authorization"):
        async with site.http.get(f"{site.url}/api/agents", headers={header: OWNER_KEY}) as response:
            assert response.status == 401
    # The key itself is right.
    assert (await site.call("GET", "/api/agents", key=OWNER_KEY)).status == 200
    assert site.inbox.received == []


#: Names of channels that are equal on some file systems, or no names of files.
SIMILAR = (
    "room",
    "Room",
    "room.",
    "room ",
    "ro\u00f6m",
    "roo\u0308m",
    "../room",
    "room/../room",
    "con",
    "r" * 300,
    "r" * 301,
)


async def test_similar_channels_have_separate_folders(tmp_path: Path) -> None:
    def folders(tx: Transaction) -> list[str]:
        agent = tx.agents.all()[0].id
        return [tx.conversations.open(agent, Address("plain", "main", channel), 0).id for channel in SIMILAR]

    async with open_app(Database(tmp_path / "arvis.db", None, tmp_path)) as app:
        ids = await app.store.write(folders)
    # The folder of a conversation is named by its id.
    assert len({each.casefold() for each in ids}) == len(SIMILAR)
    assert all(each.isascii() and each.isalnum() and len(each) < 64 for each in ids)


#: Modules that the daemon or the interpreter imports early, and optional ones that are looked for.
HOSTILE = ("sitecustomize", "usercustomize", "structlog", "aiosqlite", "uvloop", "arvis", "connectors", "json", "yaml")


def test_no_module_of_the_data_folder_is_imported(tmp_path: Path) -> None:
    marker = tmp_path / "imported"
    for folder in (tmp_path, *(tmp_path / name for name in ("skills", "plugins", "sessions", "code"))):
        folder.mkdir(exist_ok=True)
        for name in HOSTILE:
            (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write(__name__)\n")
    program = Path(sys.executable).parent / "arvis"
    for arguments in (["version"], ["backup"], ["doctor"]):
        subprocess.run(
            [program, "--data", tmp_path, *arguments], cwd=tmp_path, capture_output=True, timeout=300, check=False
        )
        assert not marker.exists()
    # The marker works: an interpreter that imports from its working folder makes it.
    subprocess.run([sys.executable, "-c", "import structlog"], cwd=tmp_path, capture_output=True, check=False)
    assert marker.exists()


async def test_names_of_models_stay_inside_their_label() -> None:
    names = (
        'demo/a"} 1\narvis_forged_total{x="',
        "demo/b\\",
        "demo/c\r\n# TYPE x counter",
        "demo/\u202ed",
        "demo/" + "e" * 500,
    )
    registry, clock = CollectorRegistry(), MovableClock()
    figures = DatabaseMetrics(registry=registry, insights=GivenFigures(*names), clock=clock, since=clock.now())
    clock.shift_ms += 60_000
    await figures.look()
    families = list(text_string_to_metric_families(generate_latest(registry).decode()))
    assert families
    assert not any("forged" in family.name for family in families)
    labels = {label for family in families for sample in family.samples for label in sample.labels}
    assert "x" not in labels
