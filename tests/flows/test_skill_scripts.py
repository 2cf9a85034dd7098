"""Skills with scripts: the agent reads them by `read_skill`, and programs in the sandbox find them, read-only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from arvis.domain.agents import Agent
from arvis.domain.dataclass import replace
from arvis.domain.errors import ToolError
from arvis.domain.tools import READ_SKILL, ToolCall
from arvis.ports.store import Store, Transaction
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.process.sandbox import Bubblewrap
from arvis.skills.files import StoredSkillFiles
from arvis.skills.registry import SkillRegistry
from arvis.store.open import Database
from arvis.testing.clock import SteppedClock
from arvis.tools import run_shell
from arvis.tools.code import PackageSets, Workbench, code_tool, daemons_interpreter
from arvis.tools.read_skill import SkillReader, tool
from tests.flows.app_harness import open_app
from tests.flows.scripted import asking
from tests.parts import refused, require

FILES = {
    "SKILL.md": "---\nname: pdf\ndescription: Reads PDF files.\n---\n# Steps\nRun scripts/count.py.\n",
    "references/FORMS.md": "Fields have names.\n" * 2_000,
    "scripts/count.py": "import sys\nprint(len(sys.argv), open('/skills/pdf/assets/n').read())\n",
    "assets/n": "7",
}


class Scene:
    def __init__(self, store: Store, folder: Path) -> None:
        self.folder = folder
        self.write(FILES)
        clock = SteppedClock()
        self.registry = SkillRegistry(store=store, clock=clock, folder=folder / "skills")
        self.files = StoredSkillFiles(
            skills=self.registry.look_again, store=store, folder=folder / "skill-files", clock=clock
        )
        self.sandbox = Bubblewrap(hidden=[folder])

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            file = self.folder / "skills" / "pdf" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")

    async def call(self, tool: Tool, skills: tuple[str, ...] = ("pdf",), **arguments: Any) -> str:
        agent = Agent("a", "helper", "Helper", tools=("run_shell",), skills=skills)
        caller = Caller(agent, None, "one", "e", None, "e-1-1", self.folder / "sessions/one/workspace", "UTC")
        tool.check(arguments)
        return await tool.call(arguments, caller)

    async def shell(self, command: str, skills: tuple[str, ...] = ("pdf",)) -> str:
        services = cast("ToolServices", SimpleNamespace(sandbox=self.sandbox, skills=self.files))
        return await self.call(run_shell.create(services), skills, command=command)


@pytest.fixture
async def scene(store: Store, tmp_path: Path) -> Scene:
    require("bwrap", "install bubblewrap (Debian: apt-get install bubblewrap)")
    scene = Scene(store, tmp_path)
    reason = await scene.sandbox.refusal()
    if reason is not None:
        refused(reason)
    return scene


def give_skill(tx: Transaction) -> None:
    agent = tx.agents.by_slug("helper")
    assert agent is not None
    tx.agents.update(replace(agent, skills=("pdf",)), 1)


async def test_an_agent_reads_a_skill_that_its_prompt_lists(database: Database, tmp_path: Path) -> None:
    async with open_app(database) as app:
        scene = Scene(app.store, tmp_path)
        app.skills = list((await scene.registry.look_again()).active)
        app.tools.more.append(tool(scene.files))
        call = asking(ToolCall("call-1", READ_SKILL, {"name": "pdf"}))
        app.provider.script.extend(["Hello.", call, "Done."])
        await app.ask("Hello")
        assert READ_SKILL not in repr(app.provider.asked[0])
        await app.store.write(give_skill)
        await app.ask("Read a file")
        first, second = app.provider.asked[1:]
        assert "- pdf: Reads PDF files." in first.changing
        assert "devops" not in first.changing
        assert [spec.name for spec in first.tools] == [READ_SKILL]
        assert "# Steps\\nRun scripts/count.py." in repr(second.turns)


async def test_a_skill_is_read_file_by_file(scene: Scene) -> None:
    (reader,) = await SkillReader(files=scene.files).find([READ_SKILL])
    instructions = await scene.call(reader, name="pdf")
    assert "Run scripts/count.py." in instructions
    assert "- scripts/count.py (" in instructions
    assert "/skills/pdf" in instructions
    part = await scene.call(reader, name="pdf", path="references/FORMS.md")
    assert "continue with offset=20000" in part
    assert (await scene.call(reader, name="pdf", path="references/FORMS.md", offset=37_981)) == "Fields have names.\n"
    for skills, wrong in (
        ((), {"name": "pdf"}),
        (("devops",), {"name": "pdf"}),
        (("*",), {"name": "pdf", "path": "../x"}),
    ):
        with pytest.raises(ToolError, match=r"You have no skill|has no file"):
            await scene.call(reader, skills, **wrong)


async def test_programs_find_the_files_and_cannot_change_them(scene: Scene) -> None:
    assert await scene.shell("python3 /skills/pdf/scripts/count.py a") == "2 7\n[exit code 0]"
    assert "Read-only" in await scene.shell("echo x > /skills/pdf/assets/n; touch /skills/y")
    assert "No such file" in await scene.shell("ls /skills", skills=())
    python = daemons_interpreter()
    packages = PackageSets(folder=scene.folder / "code", sandbox=scene.sandbox, interpreter=python, allowed=())
    code = code_tool(Workbench(scene.sandbox, python, packages, 20.0, scene.files), {})
    assert "\n7\n" in await scene.call(code, script="print(open('/skills/pdf/assets/n').read())")
    assert (scene.folder / "skills/pdf/assets/n").read_text("utf-8") == "7"
