"""The resources and the prompt that Arvis offers to other programs. They use the tools, so the access rules are the same.

The list of agents is a resource, and each conversation has an address. The prompt asks the program's model to forward a
message to an agent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import NotFound
from arvis.web.http.identity import SEND, Identity
from arvis.web.http.requests import unusable
from arvis.web.mcp.tools import ArvisTools

AGENTS = "arvis://agents"
CONVERSATION = "arvis://conversations/{id}"
ASK_AGENT = "ask_agent"
_PREFIX = CONVERSATION.partition("{")[0]
_LONGEST_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class ArvisResources:
    """The resources and the prompt for a credential. The methods raise `ArvisError`."""

    tools: ArvisTools

    async def read(self, identity: Identity, uri: str) -> str:
        """Return the content of a resource as JSON. Raise `NotFound` if there is none with this address."""
        if uri == AGENTS:
            found = await self.tools.call(identity, "list_agents", {})
        elif (conversation := uri.removeprefix(_PREFIX)) not in {uri, ""}:
            found = await self.tools.call(identity, "read_conversation", {"id": conversation})
        else:
            raise NotFound("There is no such resource.", fix="List the resources and their templates.")
        return json.dumps(found.data, ensure_ascii=False)

    def may_prompt(self, identity: Identity) -> bool:
        """Return whether this credential gets the prompt, which needs the right to send messages."""
        return identity.role in SEND

    def prompt(self, arguments: Mapping[str, Any]) -> str:
        """Return the text of the prompt. Raise `Unprocessable` if an argument is missing or too long."""
        text, agent = arguments.get("text", ""), arguments.get("agent", "")
        if not text.strip() or len(text) > _LONGEST_TEXT or len(agent) > _LONGEST_TEXT:
            raise unusable("text", f"must have from 1 to {_LONGEST_TEXT:,} characters")
        whom = f"the agent {json.dumps(agent, ensure_ascii=False)}" if agent.strip() else "the default agent"
        return f"Call the tool send_message with {whom} and this text, and show me the answer:\n\n{text}"
