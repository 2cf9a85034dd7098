"""What an agent says without having been asked there: appended to its conversation in that place, so that answers to it make
sense, and marked with what had it say so (behaviour.md 1.12)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from arvis.agents.saying import deliver
from arvis.conversations import estimate_tokens
from arvis.domain.agents import Agent
from arvis.domain.messages import Address, Attachment, MessageStatus, OutgoingFile, Role, StoredMessage
from arvis.domain.taint import Taint
from arvis.ports.store import Transaction

#: At its beginning or its end: what stands in between may be quoted from others, who would silence the agent with it.
_SILENT = re.compile(r"\A\s*\[SILENT\]|\[SILENT\]\s*\Z", re.IGNORECASE)


def is_silent(text: str) -> bool:
    """Whether the agent says that nobody needs to read it."""
    return _SILENT.search(text) is not None


def unsilenced(text: str) -> str:
    """What is to be said: nothing where the agent says that it is not worth telling."""
    return "" if is_silent(text) else text


def post(
    tx: Transaction,
    *,
    agent: Agent,
    address: Address,
    text: str,
    source: str,
    taint: Taint,
    priority: int,
    now: int,
    execution_id: str | None = None,
    files: Sequence[OutgoingFile] = (),
) -> StoredMessage:
    """`source` is that of a schedule or a web hook; `execution_id` the run that wrote it, which posts once."""
    conversation = tx.conversations.open(agent.id, address, now, direct=False)
    message = StoredMessage(
        id=tx.new_id(),
        conversation_id=conversation.id,
        role=Role.ASSISTANT,
        content=text,
        tokens=estimate_tokens(text),
        status=MessageStatus.ANSWERED,
        address=address,
        principal_id=None,
        user_name=agent.name,
        agent_id=agent.id,
        execution_id=execution_id,
        turn=tx.conversations.next_turn(conversation.id, now),
        created_at=now,
        route=source.partition(":")[0],
        taint=taint,
        source=source,
    )
    tx.messages.add(message)
    tx.files.add(message.id, [Attachment(each.filename, each.content_type, each.size, each.sha256) for each in files])
    deliver(tx, message, agent=agent, answers=(), priority=priority, now=now, files=files)
    return message
