"""Drafts of which nobody knows whether they stand in their chat: the process that showed them died before it heard."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.platforms import Draft, DraftState
from arvis.ports.connector import Connector, FindsDrafts, SendError


async def found(connector: Connector | None, draft: Draft) -> Draft:
    """With the id under which it stands there, as far as that can be told. Raises `SendError` when it can be told later."""
    if draft.state is not DraftState.SENDING or not isinstance(connector, FindsDrafts):
        return draft
    try:
        return replace(draft, platform_id=await connector.find_draft(draft))
    except SendError as error:
        if error.permanent:
            return draft
        raise
