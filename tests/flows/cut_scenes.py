"""Plays of `test_workflow_cut_scenes.py`: workflows with all their consequences, and the data that must be equal at
their ends."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from arvis.domain.executions import ExecutionStatus
from arvis.domain.messages import Address, IncomingMessage, PrincipalRole, Sender
from arvis.ports.store import Store, Transaction
from arvis.services.workflow_runs import NewWorkflowRun, begin
from arvis.store.repositories.executions import execution_of
from arvis.store.repositories.workflows import SqlWorkflowRuns
from arvis.turns.turns import begin_turn
from arvis.turns.workflow_results import STARTER
from arvis.workflows.reruns import rerun
from arvis.workflows.service import triggers_of
from tests.flows.drawn_kit import MOST_LINES, Play, WorkflowStage
from tests.flows.engine_kit import Cut, Death

#: Ids differ in every run.
_OTHER = re.compile(r"\b[0-9a-f]{32}\b|\b[0-9A-HJKMNP-TV-Z]{26}\b")


@dataclass
class Told(Play):
    """A play that begins with a message. The triggers of `others` match it; if several do, a model chooses."""

    words: str = "Do it"

    def __post_init__(self) -> None:
        """Add the play's mark to the message and the triggers, so that no workflow matches a message of another
        play."""
        super().__post_init__()
        self.words = f"{self.words} {self.mark}"
        texts = {slug: json.dumps(document) for slug, document in self.others.items()}
        self.others = {slug: json.loads(text.replace("MARK", self.mark)) for slug, text in texts.items()}

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


class Started(Play):
    """A play that an agent started in a conversation: its results are the agent's next turn."""

    def begin(self, tx: Transaction, now: int) -> str:
        workflow = self.lay(tx, now)
        place = Address("chat", "main", self.mark)
        talk = tx.conversations.open(self.agent.id, place, now, direct=False)
        starter = {"execution": "turn", "agent": self.agent.id, "conversation": talk.id, "starts": 1, "standing": {}}
        wanted = NewWorkflowRun(
            workflow=workflow, agent=self.agent, address=place, source="agent:turn", more={STARTER: starter}
        )
        return begin(tx, wanted, now).id


class Repeated(Play):
    """A play in which an ended run is rerun from step `b`."""

    def begin(self, tx: Transaction, now: int) -> str:
        first = super().begin(tx, now)
        execution = tx.executions.get(first)
        assert execution is not None
        kept = {"out:a": {"output": "from a", "label": "A", "at": 1, "handle": None}}
        ended = replace(
            execution, status=ExecutionStatus.DONE, result={"output": ""}, state={**execution.state, **kept}
        )
        tx.executions.save(ended)
        tx.executions.drop_cursors(first)
        for job in tx.jobs.live_of_execution(first):
            tx.jobs.cancel(job.id, now)
        tx.workflow_runs.log(first, [("system", "run_end", "completed")], now)
        return rerun(tx, first, "b", now, by=None).id


def trace(tx: Transaction, play: Play) -> dict[str, Any]:
    """Return the runs of a play with their logs, and its messages."""
    session = cast(SqlWorkflowRuns, tx.workflow_runs)._session
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
    """Return the messages of its conversation."""
    address = Address("chat", "main", play.mark)
    conversation = tx.conversations.open(play.agent.id, address, 0, direct=False)
    said = tx.messages.history(conversation.id, 100)
    return Counter(f"{each.role} {_plain(each.content, play)}" for each in said)


def _plain(text: str, play: Play) -> str:
    return re.sub(r'"at": \d+', "", _OTHER.sub("ID", re.sub(play.mark, "MARK", text, flags=re.IGNORECASE)))


async def outlived(store: Store, play: Play, *cuts: Death) -> tuple[dict[str, Any], int]:
    """Return everything that is left of a play after these deaths, and the number of writes of its last process."""
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
