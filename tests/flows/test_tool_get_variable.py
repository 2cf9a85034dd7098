"""`get_variable` over a real store: plain values, secrets, and unknown keys."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import cast

import pytest

from arvis.domain.accounts import Variable
from arvis.domain.errors import ToolError
from arvis.domain.tools import Risk
from arvis.ports.store import Store
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.process.secrets import SealedBox, secrets_key_file
from arvis.store.open import Database
from arvis.tools.get_variable import create
from tests.conformance.databases import NOW, opened

#: The tool does not use them.
UNUSED = cast("Caller", None)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(Database(tmp_path / "arvis.db", None, tmp_path)) as store:
        yield store


@pytest.fixture
async def tool(store: Store, tmp_path: Path) -> Tool:
    box = SealedBox(file=secrets_key_file(tmp_path), given=None, tell=lambda _: None)
    sealed = box.seal("hidden")
    for variable in (Variable("city", "Rome"), Variable("token", sealed, True), Variable("old", "v1.00.AA", True)):
        await store.write(lambda tx, one: tx.variables.put(one, NOW), variable)
    return create(services(store, box))


def services(store: Store, box: SealedBox) -> ToolServices:
    absent = cast("ToolServices", None)
    parts = dict.fromkeys(("clock", "fetcher", "http", "sandbox", "search", "reader"), absent)
    return ToolServices(store=store, secrets=box, **parts)  # type: ignore[arg-type]


async def test_values_are_given_by_key(tool: Tool) -> None:
    assert await tool.call({"key": "city"}, UNUSED) == "Rome"
    assert await tool.call({"key": "token"}, UNUSED) == "hidden"


async def test_an_unknown_key_names_those_that_are_not_secret(tool: Tool, store: Store) -> None:
    with pytest.raises(ToolError, match="Variables: city\\.") as raised:
        await tool.call({"key": "town"}, UNUSED)
    assert "token" not in str(raised.value)
    await store.write(lambda tx: tx.variables.remove("city"))
    with pytest.raises(ToolError, match="There are no variables that may be listed"):
        await tool.call({"key": "town"}, UNUSED)


async def test_what_does_not_open_is_told_to_the_model(tool: Tool) -> None:
    with pytest.raises(ToolError, match="old cannot be decrypted"):
        await tool.call({"key": "old"}, UNUSED)


@pytest.mark.parametrize("arguments", [{}, {"key": ""}, {"key": 1}, {"key": "a", "more": 1}, {"key": "a" * 101}])
def test_arguments_that_do_not_fit(tool: Tool, arguments: dict[str, object]) -> None:
    with pytest.raises(ToolError):
        tool.check(arguments)


def test_what_the_model_is_told(tool: Tool) -> None:
    assert (tool.spec.name, tool.risk, tool.repeatable) == ("get_variable", Risk.READ, True)
    assert tool.spec.description.startswith("Get the value of a variable")
    assert tool.spec.parameters["required"] == ["key"]


def test_it_is_found_by_its_entry_point() -> None:
    [point] = entry_points(group="arvis.tools", name="get_variable")
    assert point.load() is create
