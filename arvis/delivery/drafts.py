"""Drafts: messages that show a running turn in a chat, with its text so far or its current step.

The row of a draft is written before the draft is shown, so that after a crash the next process can find it. Nothing
depends on a draft: the answer is sent as a delivery, and errors of drafts are ignored.
"""

from __future__ import annotations

import asyncio

from arvis.delivery.late_replies import ChannelBackoff
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.messages import Address, Button
from arvis.domain.platforms import Draft, DraftState
from arvis.engine import lifecycle
from arvis.messaging.messages import stop_button
from arvis.ports.clock import Clock
from arvis.ports.connector import Connector, FindsDrafts, SendError, ShowsDrafts
from arvis.ports.store import Store, Transaction
from arvis.tasks.rounds import Rounds


async def locate(connector: Connector | None, draft: Draft) -> Draft:
    """Return the draft with the platform id of its message, if the connector can find the message. The id is missing if
    the process ended before the platform's answer arrived. Raise `SendError` if the message may be found later."""
    if draft.state is not DraftState.SENDING or not isinstance(connector, FindsDrafts):
        return draft
    try:
        return replace(draft, platform_id=await connector.find_draft(draft))
    except SendError as error:
        if error.permanent:
            return draft
        raise


@dataclass(frozen=True, slots=True)
class OpenedDraft:
    """A draft to show."""

    draft: Draft
    #: The platform id of the message that showed this draft before a restart of the process; None for a new draft.
    seen: str | None


def open_draft(tx: Transaction, execution_id: str, address: Address, now: int) -> OpenedDraft | None:
    """Open the draft of a turn. Return None if the turn has ended, if its draft was removed, or if a message with an
    unknown id may already show the draft."""
    execution = tx.executions.get(execution_id)
    if execution is None or execution.status not in lifecycle.LIVE:
        return None
    draft = Draft(execution_id, tx.new_id(), address, DraftState.SENDING, None, now)
    if tx.drafts.add(draft):
        return OpenedDraft(draft, None)
    known = tx.drafts.get(execution_id)
    if known is None or known.state is not DraftState.SHOWN or known.platform_id is None:
        return None
    return OpenedDraft(known, known.platform_id)


def may_be_shown(tx: Transaction, address: Address) -> bool:
    """Return True if no delivery to this address is waiting. A waiting delivery would appear below the draft."""
    return tx.jobs.head_of_lane(address.lane) is None


def of_turn(tx: Transaction, execution_id: str) -> Draft | None:
    return tx.drafts.get(execution_id)


def mark_shown(tx: Transaction, draft: Draft, platform_id: str | None, now: int) -> None:
    tx.drafts.put(draft.execution_id, DraftState.SHOWN, platform_id=platform_id, now=now)


def mark_removed(tx: Transaction, draft: Draft, now: int) -> None:
    tx.drafts.put(draft.execution_id, DraftState.GONE, platform_id=None, now=now)


def is_shown(tx: Transaction, execution_id: str) -> bool:
    draft = tx.drafts.get(execution_id)
    return draft is not None and draft.state is DraftState.SHOWN


def abandoned(tx: Transaction, limit: int) -> list[Draft]:
    """Return at most `limit` drafts that no turn updates and no delivery will replace."""
    return [draft for draft in tx.drafts.open(limit) if _is_abandoned(tx, draft)]


def abandoned_of_turn(tx: Transaction, execution_id: str) -> Draft | None:
    """Return the draft of a turn if it is abandoned, else None."""
    draft = tx.drafts.get(execution_id)
    return draft if draft is not None and draft.state is not DraftState.GONE and _is_abandoned(tx, draft) else None


def _is_abandoned(tx: Transaction, draft: Draft) -> bool:
    """Return True if no delivery will replace the draft and its turn is not running. A turn that waits for people is
    not running."""
    turn = tx.executions.get(draft.execution_id)
    working = turn is not None and turn.status is ExecutionStatus.RUNNING
    return not working and not tx.drafts.awaited(draft.execution_id)


def execution_of(tx: Transaction, message_id: str) -> str | None:
    message = tx.messages.get(message_id)
    return message.execution_id if message is not None else None


#: The step of an agent that uses no tool.
_THINKING = "Thinking"


def current_step(tx: Transaction, execution_id: str) -> str | None:
    """Return the current step of a turn's agent in a few words; None if the turn has ended."""
    execution = tx.executions.get(execution_id)
    if execution is None or execution.status not in lifecycle.LIVE:
        return None
    names = _tools_at_work(execution)
    return f"Using {', '.join(names)}" if names else _THINKING


def _tools_at_work(execution: Execution) -> list[str]:
    rounds = Rounds.from_json(execution.state)
    if not rounds.count or rounds.last.finished:
        return []
    return list(dict.fromkeys(call.name for call in rounds.last.tool_calls()))


#: The maximum number of characters of a text in a draft.
LONGEST = 1500


@dataclass(frozen=True, slots=True)
class Pace:
    """The timing of drafts. All times are in seconds."""

    #: The time from the beginning of a turn until its text may be shown.
    first: float = 1.0
    #: The text is shown only if it has at least this number of characters.
    characters: int = 40
    #: The time after which a turn without text gets a status line, and the interval between two updates of this line.
    status: float = 30.0
    status_every: float = 10.0
    #: The interval of the checks whether an update is due.
    look: float = 0.5


@dataclass(frozen=True, slots=True)
class DraftContent:
    """The text and the buttons of a draft."""

    text: str
    buttons: tuple[Button, ...] = ()


class DraftStream:
    """The draft of one running turn. `run` shows and updates it until `stop`. `add_text` adds to its text, and
    `add_progress` to its current step."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        connector: ShowsDrafts,
        address: Address,
        message_id: str,
        execution_id: str,
        pace: Pace,
        backoff: ChannelBackoff,
    ) -> None:
        self._store = store
        self._clock = clock
        self._connector = connector
        self._address = address
        self._message_id = message_id
        self._pace = pace
        self._backoff = backoff
        self.execution_id = execution_id
        self._text = ""
        self._step = ""
        self._progress = ""
        #: True if progress was reported after the last status line.
        self._is_new = False
        self._began = clock.monotonic()
        self._changed_at = 0.0
        self._content: DraftContent | None = None
        self._draft: Draft | None = None
        self._platform_id: str | None = None
        self._recorded = False
        self._over = False
        self._stopped = asyncio.Event()
        self._busy = asyncio.Lock()

    def add_text(self, offset: int, text: str) -> None:
        """Add a piece of the text at its offset. A piece at offset 0 replaces the whole text."""
        self._text = self._text[:offset] + text

    def add_progress(self, text: str) -> None:
        self._progress, self._is_new = f" ({text})", True

    async def run(self) -> None:
        """Show the turn until it ends, `stop` is called, or the draft cannot be shown."""
        while not self._stopped.is_set():
            async with self._busy:
                if not self._stopped.is_set() and not await self._keep_up():
                    return
            await self._pause()

    async def stop(self) -> None:
        """Make no more changes, and wait for the end of a running request to the platform."""
        self._stopped.set()
        async with self._busy:
            return

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self._pace.look):
                await self._stopped.wait()
        except TimeoutError:
            return

    async def _keep_up(self) -> bool:
        """Update the draft if it is due. Return False if no further updates will be made."""
        content = await self._due()
        if self._over:
            return False
        if content is None or content == self._content:
            return True
        if self._draft is None and not await self._store.read(may_be_shown, self._address):
            return True
        try:
            await self._put(content)
        except SendError as error:
            return await self._failed(error)
        self._content, self._changed_at = content, self._clock.monotonic()
        return self._draft is not None

    async def _due(self) -> DraftContent | None:
        now = self._clock.monotonic()
        if self._backoff.remaining(self._address):
            return None
        age, since_change = now - self._began, now - self._changed_at
        text = self._text.strip()
        if len(text) >= self._pace.characters and age >= self._pace.first:
            return (
                DraftContent(_beginning(text))
                if self._pause_is_over(since_change, self._connector.draft_seconds)
                else None
            )
        if text or age < self._pace.status:
            return None
        every = max(self._pace.status_every, self._connector.draft_seconds)
        return await self._status(age) if self._pause_is_over(since_change, every) else None

    def _pause_is_over(self, since_change: float, required: float) -> bool:
        return self._content is None or since_change >= required

    async def _status(self, age: float) -> DraftContent | None:
        minutes, seconds = divmod(int(age), 60)
        step = await self._store.read(current_step, self.execution_id)
        if step is None:  # another process ended the turn
            self._over = True
            return None
        if step == _THINKING or (step != self._step and not self._is_new):
            # The reported progress belongs to an earlier step.
            self._progress = ""
        self._step, self._is_new = step, False
        return DraftContent(f"{step}{self._progress}… {minutes}:{seconds:02}", (stop_button(self._message_id),))

    async def _put(self, content: DraftContent) -> None:
        if self._draft is None:
            opened = await self._store.write(open_draft, self.execution_id, self._address, self._clock.now())
            if opened is None:
                return
            self._draft, self._platform_id = opened.draft, opened.seen
            self._recorded = opened.seen is not None
        if self._platform_id is not None:
            await self._connector.change_draft(self._address, self._platform_id, content.text, content.buttons)
            return
        self._platform_id = await self._connector.show_draft(
            self._address, self._draft.id, content.text, content.buttons
        )
        if not self._recorded:
            await self._store.write(mark_shown, self._draft, self._platform_id, self._clock.now())
            self._recorded = True

    async def _failed(self, error: SendError) -> bool:
        """Handle an error of the platform. Return True if the platform only asked for a pause. Any other error ends the
        draft; the answer does not depend on the draft."""
        if error.retry_after is not None and not error.permanent:
            self._backoff.note(self._address, error.retry_after)
            return True
        if self._draft is not None and not self._recorded and not error.uncertain:
            await self._store.write(mark_removed, self._draft, self._clock.now())
        return False


def _beginning(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()}…"
