"""The use of a model by a tool server during a call of its tool (sampling).

The model gets only the texts of the server and no tools. The person for whom the agent works pays, and the audit log has
an entry for each use.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effects import Access, AccessKind, access_entry
from arvis.domain.errors import BudgetReached
from arvis.domain.forms import ACCEPT
from arvis.domain.model_requests import ModelRequest
from arvis.domain.runs import RunRequest, RunResult, Turn
from arvis.engine.graph import NodeContext
from arvis.graphs.agent.tool_calls import AnsweredPart
from arvis.graphs.model import ModelCaller
from arvis.llm.attempts import RunFailed
from arvis.ports.store import Store, Transaction
from arvis.tasks.access import spender_of

#: The maximum number of tokens of an answer.
_MOST_TOKENS = 4_096


@dataclass(frozen=True, slots=True)
class ServerModels:
    """The model calls for tool servers in the visit of a node."""

    store: Store
    caller: ModelCaller

    async def answered(
        self, context: NodeContext, agent: Agent, answers: Mapping[int, AnsweredPart]
    ) -> dict[int, AnsweredPart]:
        """Return the answered questions. Add a model's answer to each permitted request for a model."""
        return {index: await self._with_models(context, agent, index, each) for index, each in answers.items()}

    async def _with_models(self, context: NodeContext, agent: Agent, index: int, each: AnsweredPart) -> AnsweredPart:
        responses = dict(each.answers.responses)
        for number, (key, request) in enumerate(each.answers.samples.items(), 1):
            given = responses.get(key)
            if given is None or given.get("action") == ACCEPT:
                name = f"model {index + 1}.{each.part + 1}.{number}"
                call = partial(self._response, context, agent, request)
                responses[key] = await context.once(name, call)
                if "role" in responses[key]:
                    # The entry of the audit log is not a part of the effect, so that a visit that is repeated after a
                    # crash also writes the entry.
                    details = {"model": responses[key]["model"], "agent": agent.slug, "characters": len(request.text)}
                    used = Access(AccessKind.SERVER_USED_MODEL, each.tool, details)
                    context.record_of_step(_note, used, context.execution.principal_id, context.now())
        return replace(each, answers=replace(each.answers, responses=responses))

    async def _response(self, context: NodeContext, agent: Agent, request: ModelRequest) -> dict[str, Any]:
        execution = context.execution
        spender = await self.store.read(spender_of, execution, agent_id=agent.id)
        asked = RunRequest(
            system=request.system,
            turns=tuple(Turn(role, text) for role, text in request.turns),
            model=None,
            agent_name=agent.name,
            max_tokens=min(request.max_tokens, _MOST_TOKENS),
            sampling=request.parameters,
        )
        try:
            answer = await self.caller.call(
                context, asked, spender=spender, model=agent.model, fallbacks=agent.fallbacks
            )
        except RunFailed as failed:
            return {"action": "decline", "why": f"no model answered the server's request: {failed.what}"}
        except BudgetReached:
            return {"action": "decline", "why": "the budget for models is used up"}
        result = RunResult.from_json(answer)
        return {
            "role": "assistant",
            "content": {"type": "text", "text": result.content},
            "model": result.model or "unknown",
            "stopReason": "maxTokens" if result.truncated else "endTurn",
        }


def _note(tx: Transaction, access: Access, by: str | None, now: int) -> None:
    tx.audit.add(access_entry(tx.new_id(), access, now, by))
