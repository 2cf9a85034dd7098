"""The rules of the `Plugin` port as tests: subclass `PluginConformance` and override `plugin`.

A plugin passes if every hook answers within a second and within its limits, even in a conversation without any data,
and if the plugin can reset the same conversation twice. The cases need pytest-asyncio in its auto mode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from arvis.domain.agents import Agent
from arvis.domain.messages import Address, MessageStatus, Role, StoredMessage
from arvis.domain.plugins import AgentInput, CommandReply, NextMessage
from arvis.plugins import Guarded, bounds
from arvis.ports.plugin import Plugin, PluginTurn

_NOW = 1_795_329_600_000
_PLACE = Address("chat", "main", "room")


async def _nobody() -> Sequence[str]:
    return ()


def plugin_turn(workspace: Path, *, after_tools: bool = False) -> PluginTurn:
    """Return a turn of an agent in a direct chat with one person."""
    agent = Agent(id="a", slug="helper", name="Helper", helpers=("other",))
    return PluginTurn(
        agent=agent,
        conversation_id="c",
        address=_PLACE,
        workspace=workspace,
        zone="Europe/Berlin",
        execution_id="e",
        principal_id="p",
        agents=[agent, Agent(id="o", slug="other", name="Other")],
        working=_nobody,
        direct=True,
        next_message=NextMessage.TOOL_RESPONSE if after_tools else NextMessage.USER_MESSAGE,
        now=_NOW,
    )


def plugin_message(text: str) -> StoredMessage:
    return StoredMessage(
        id="m",
        conversation_id="c",
        role=Role.USER,
        content=text,
        tokens=1,
        status=MessageStatus.ACCEPTED,
        address=_PLACE,
        principal_id="p",
        user_name="Ann",
        agent_id="a",
        execution_id="e",
        turn=None,
        created_at=_NOW,
    )


class PluginConformance(ABC):
    """The cases for plugins. Override `plugin`."""

    @abstractmethod
    def plugin(self) -> Plugin:
        """Return a new plugin."""

    @pytest.mark.parametrize("after_tools", [False, True])
    async def test_every_hook_answers_in_its_second_and_within_its_bounds(
        self, tmp_path: Path, *, after_tools: bool
    ) -> None:
        plugin, turn = Guarded(name="it", plugin=self.plugin()), plugin_turn(tmp_path / "w", after_tools=after_tools)
        with capture_logs() as failures:
            assert await plugin.init()
            await plugin.ready(turn)
            blocks, attributes = await plugin.blocks(turn), await plugin.attributes(turn)
            assert sum(len(block.content) for block in blocks) < bounds.LONGEST
            assert len({spec.name for spec in attributes}) == len(attributes)
            await plugin.addition(turn, plugin_message("hello"))
            await plugin.read_response(turn, {}, "")
            await plugin.read_response(turn, {spec.name: "[DELEGATE:x] ../../x" for spec in attributes}, "hi")
            await plugin.tools()
        assert failures == []

    async def test_the_same_state_gives_the_same_words(self, tmp_path: Path) -> None:
        """If a plugin returned different texts for the same state, no provider could cache the prompt."""
        plugin, turn = self.plugin(), plugin_turn(tmp_path)
        await plugin.init()
        assert list(await plugin.blocks(turn)) == list(await plugin.blocks(turn))
        assert await plugin.addition(turn, plugin_message("x")) == await plugin.addition(turn, plugin_message("x"))

    async def test_every_command_gives_words(self, tmp_path: Path) -> None:
        plugin, turn = Guarded(name="it", plugin=self.plugin()), plugin_turn(tmp_path)
        with capture_logs() as failures:
            for command in await plugin.commands():
                assert command.description
                assert isinstance(await plugin.command(turn, command.name, ""), AgentInput | CommandReply)
        assert failures == []

    async def test_a_conversation_is_forgotten_twice_without_harm(self, tmp_path: Path) -> None:
        plugin, turn = Guarded(name="it", plugin=self.plugin()), plugin_turn(tmp_path)
        with capture_logs() as failures:
            await plugin.reset(turn)
            await plugin.reset(turn)
        assert failures == []
