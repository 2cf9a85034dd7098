"""What is cut in `test_workflow_cut_scenes.py`: drawn workflows with all that follows on them, and what must be the same at their ends."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from arvis.agents.turns import begin_turn
from arvis.domain.messages import Address, IncomingMessage, PrincipalRole, Sender
from arvis.ports.store import Store, Transaction
from arvis.store.executions import execution_of
from arvis.workflows.desk import triggers_of
from tests.flows.drawn_kit import MOST_LINES, Play, WorkflowStage
from tests.flows.engine_kit import Cut, Death

#: Ids and times are others in every run.
_OTHER = re.compile(r"\b[0-9a-f]{32}\b|\b[0-9A-HJKMNP-TV-Z]{26}\b")


@dataclass
class Told(Play):
    """A play that begins with a message; `others` may take it, and where several could, a model says which."""

    words: str = "Do it"

    def begin(self, tx: Transaction, now: int) -> str:
        self.lay(tx, now)
        for slug in self.others:
            workflow = tx.workflows.by_slug(f"{slug}-{self.mark}")
            version = tx.workflows.version(workflow.id, 1) if workflow is not None else None
            assert workflow is not None
            assert version is not None
            tx.workflows.set_triggers(workflow.id, triggers_of(workflow, version.document))
        address = Address("chat", "main", self.mark)
        principal = tx.principals.seen("chat", "ann", "Ann", PrincipalRole.OWNER, 0)
        incoming = IncomingMessage(address=address, sender=Sender("ann", "Ann"), content=self.words, event_id=self.mark)
        message = begin_turn(tx, incoming, agent=self.agent, route="test", principal=principal, attachments=(), now=0)
        return message.execution_id or ""


def trace(tx: Transaction, play: Play) -> dict[str, Any]:
    """All that there is of a play: its runs, their logs, its messages, its deliveries."""
    session = tx.workflow_runs._session
    runs = Counter[str]()
    lines = Counter[str]()
    names = {f"id-{slug}-{play.mark}": slug for slug in ("main", *play.others)}
    for workflow_id, name in names.items():
        found = session.rows("list_executions", before="~", graph=f"workflow:{workflow_id}", status=None, limit=1000)
        for execution in map(execution_of, found):
            row = tx.workflow_runs.get(execution.id)
            if row is None:
                assert isinstance(play, Told)
                continue
            entries = tx.workflow_runs.entries(execution.id, 0, MOST_LINES)
            kinds = [each.type for each in entries]
            assert [each.number for each in entries] == list(range(1, row.entries + 1)), kinds
            assert kinds.count("run_end") == 1, kinds
            assert kinds[-1] == "run_end", kinds
            lines.update(f"{name} {each.node_id} {each.type} {_plain(each.content, play)}" for each in entries)
            output = json.dumps((execution.result or {}).get("output"), sort_keys=True)
            runs[f"{name} {execution.status} {row.source.partition(':')[0]} {_plain(output, play)}"] += 1
    return {"runs": runs, "lines": lines, "said": _said(tx, play)}


def _said(tx: Transaction, play: Play) -> Counter[str]:
    """The messages of its talk."""
    address = Address("chat", "main", play.mark)
    conversation = tx.conversations.open(play.agent.id, address, 0, direct=False)
    rows = tx.workflow_runs._session.rows("history", conversation_id=conversation.id, limit=100)
    return Counter(f"{each['role']} {each['status']} {_plain(each['content'], play)}" for each in rows)


def _plain(text: str, play: Play) -> str:
    return re.sub(r'"at": \d+', "", _OTHER.sub("ID", text.replace(play.mark, "MARK")))


async def outlived(store: Store, play: Play, *cuts: Death) -> tuple[dict[str, Any], int]:
    """All that is left of a play after these deaths, and how many writes its last process made."""
    stage = WorkflowStage(store, play)
    await stage.begin()
    for death in cuts:
        with pytest.raises(Cut):
            await stage.play(death)
    writes = await stage.play()
    await stage.walk()
    found = await store.read(trace, play)
    found["sent"] = Counter(_plain(each.content, play) for each in {each.id: each for each in stage.sent}.values())
    return found, writes
