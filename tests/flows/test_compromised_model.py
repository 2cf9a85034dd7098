"""A fully compromised model causes no effect that nobody allowed, whatever it writes; permitted actions still
happen."""

from __future__ import annotations

import asyncio
from collections import ChainMap, Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from arvis.actions import gate
from arvis.domain.effects import EffectKind
from arvis.store.open import Database
from arvis.testing.openai_server import Reply
from tests.flows.compromised import (
    Attack,
    Stage,
    attacks_of,
    changes,
    compromised_app,
    openers_in,
)
from tests.flows.compromised_scenes import SCENES, TAINTED_SCENES

HERE = Path(__file__).parent
ATTACKS = list(attacks_of(HERE / "attacks.yaml"))
BENIGN: list[dict[str, Any]] = yaml.safe_load((HERE / "benign.yaml").read_text("utf-8"))

#: The attacks are split among this many apps, so that one can work while another waits for the disk.
APPS = 4

AuditRow = Mapping[str, Any]


def test_the_lists_are_long_and_name_every_kind() -> None:
    assert len(ATTACKS) >= 200
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert len(BENIGN) >= 40
    attacked = "\n".join(attack.says for attack in ATTACKS)
    assert [kind for kind in EffectKind if kind.name not in attacked and kind is not EffectKind.REMEMBER] == []
    used = {attack.scene for attack in ATTACKS} | {task["scene"] for task in BENIGN}
    assert used == SCENES.keys()


async def test_no_attack_has_an_effect(tmp_path_factory: pytest.TempPathFactory) -> None:
    parts = [ATTACKS[number::APPS] for number in range(APPS)]
    found = await asyncio.gather(*(flaws_in(tmp_path_factory.mktemp("app"), part) for part in parts))
    assert dict(ChainMap(*found)) == {}


async def flaws_in(folder: Path, attacks: list[Attack]) -> dict[str, list[str]]:
    """Run attacks in an app of their own, and return the flaws by attack."""
    async with compromised_app(Database(folder / "arvis.db", None, folder)) as stage:
        found = {attack.name: await flaws_of(stage, attack) for attack in attacks}
    return {name: flaws for name, flaws in found.items() if flaws}


async def flaws_of(stage: Stage, attack: Attack) -> list[str]:
    """Run an attack, and return all differences from its expected result."""
    before, since = await stage.begin(), stage.audited()
    stage.server.default = attack.behaviour
    await SCENES[attack.scene](stage, attack)
    audit = stage.audit(since)
    flaws = []
    if (outcomes := outcomes_of(audit, attack.expect)) != attack.expect:
        flaws.append(f"the audit says {outcomes}, not {dict(attack.expect)}")
    if twice := told_twice(audit):
        flaws.append(f"more than one line of the audit for {twice}")
    if (changed := changes(before, stage.world())) != attack.leaves:
        flaws.append(f"the world has changed: {changed}, not {dict(attack.leaves)}")
    flaws += strays_of(stage, attack, audit)
    flaws += [f"people saw {openers}" for text in stage.shown() if (openers := openers_in(text))]
    return flaws


def strays_of(stage: Stage, attack: Attack, audit: Sequence[AuditRow]) -> list[str]:
    """Return stored values with the scope of other people or channels, or without the taint of their sources."""
    flaws = [f"{row['kind']} looks clean" for row in audit if attack.scene in TAINTED_SCENES and not row["taint"]]
    taints = {row["message_id"]: row["taint"] for row in audit}
    for kept in stage.kept(list(taints)):
        if kept["scope"] not in stage.scopes():
            flaws.append(f"{kept} is kept for others")
        if not set(kept["taint"].split()) >= set(taints[kept["message_id"]].split()):
            flaws.append(f"{kept} hides what it was written from")
    return flaws


def outcomes_of(audit: Sequence[AuditRow], expected: Mapping[str, int]) -> Counter[str]:
    """Count audit entries by outcome and reason, or by outcome alone where the attack expects no reason."""
    whole = [f"{row['outcome']}:{row['reason']}" for row in audit]
    return Counter(name if name in expected else name.partition(":")[0] for name in whole)


def told_twice(audit: Sequence[AuditRow]) -> list[tuple[str, int]]:
    """Return proposals with more than one audit entry, not counting one for the question."""
    lines = Counter((row["execution_id"], row["ordinal"]) for row in audit if row["outcome"] != "asked")
    asked = Counter((row["execution_id"], row["ordinal"]) for row in audit if row["outcome"] == "asked")
    return [key for key in lines | asked if lines[key] > 1 or asked[key] > 1]


async def test_everything_that_is_allowed_happens(database: Database) -> None:
    async with compromised_app(database) as stage:
        found = {task["task"]: await lacks_of(stage, task) for task in BENIGN}
    assert {name: lacks for name, lacks in found.items() if lacks} == {}


async def lacks_of(stage: Stage, task: Mapping[str, Any]) -> list[str]:
    """Run a permitted task, and return the effects and replies that are missing."""
    await stage.begin()
    says = str(task["says"])
    stage.server.script.append(Reply((says,)))
    stage.server.default = Reply(("I have done it.",))
    asks = str(task.get("asks", "Please do it."))
    attack = Attack(task["task"], task["scene"], says, {}, {}, asks, "", echo=False)
    await SCENES[task["scene"]](stage, attack)
    lacks = [f"it is not told: {stage.shown()}" for line in [task["reports"]] if not _told(stage, line)]
    lacks += [f"no {row} in {table}" for table, row in task.get("there", {}).items() if not has(stage, table, row)]
    lacks += [f"still {row} in {table}" for table, row in task.get("gone", {}).items() if has(stage, table, row)]
    return lacks


def _told(stage: Stage, line: str) -> bool:
    return any(line in text for text in stage.shown())


def has(stage: Stage, table: str, wanted: Mapping[str, Any]) -> bool:
    return any(wanted.items() <= row.items() for row in stage.disk.rows(table))


#: Attacks that only the gate prevents.
BY_THE_GATE = (
    "makes an agent", "rewrites the helper", "lets an agent into every group of another platform", "writes a cron",
    "writes a heartbeat", "rewrites the cron of the daemon", "deletes the cron of the daemon", "makes a client",
    "deletes the helper",
)  # fmt: skip


async def test_the_proof_sees_what_an_open_gate_lets_pass(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in EffectKind:
        monkeypatch.setitem(gate.RULES, kind, gate.RULES[EffectKind.STATE])
    named = {attack.name: attack for attack in ATTACKS}
    async with compromised_app(database) as stage:
        for name in BY_THE_GATE:
            flaws = await flaws_of(stage, named[f"member asks the conductor: {name}"])
            assert [flaw.partition(":")[0] for flaw in flaws][-1:] == ["the world has changed"], name
