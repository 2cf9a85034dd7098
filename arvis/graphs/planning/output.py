"""The node `output`: a model call with the agent's own prompt writes the answer to the person. The node removes plans
and briefs from the answer."""

from __future__ import annotations

import re
from collections.abc import Callable

from arvis.domain.dataclass import replace
from arvis.domain.events import Delta
from arvis.domain.outgoing_links import LinkStream, SafeLinks
from arvis.domain.regex import regex
from arvis.domain.runs import RunResult
from arvis.engine.graph import Decision, End, NodeContext
from arvis.engine.state import changes
from arvis.graphs.agent.files import is_voice
from arvis.graphs.agent.prompt import PromptBuilder, PromptInputs
from arvis.graphs.context import TurnContext
from arvis.graphs.model import unheard
from arvis.graphs.planning import prompts
from arvis.graphs.planning.documents import BRIEF, FINAL_PRD, without_documents
from arvis.graphs.planning.model import Adviser
from arvis.graphs.planning.state import REASONS, Evidence, PlanningState, clipped, evidence_of, known_runs
from arvis.graphs.planning.triage import Complexity
from arvis.messaging.notices import marked
from arvis.messaging.spoken_replies import SpokenReply
from arvis.messaging.streaming import Showing
from arvis.ports.store import Store
from arvis.prompt import Prompt
from arvis.tags import read
from arvis.tasks.state import WorkOutcome, WorkStatus, load_pictures, pictures_of, with_files, with_pictures

_OPENINGS = tuple(f"<{name}".casefold() for name in (FINAL_PRD, BRIEF))
_OPENING = regex("|".join(_OPENINGS), re.IGNORECASE)
_NO_WORDS = "The work is done; there is nothing to add."
_NO_WORDS_STOPPED = "I could not finish this: {}."


class OutputNode:
    def __init__(self, *, store: Store, adviser: Adviser, prompt_builder: PromptBuilder, spoken: SpokenReply) -> None:
        self._store = store
        self._adviser = adviser
        self._prompt_builder = prompt_builder
        self._spoken = spoken

    async def output(self, context: NodeContext) -> Decision:
        turn, evidence = await self._adviser.turn(context), await evidence_of(self._store, context)
        limits = self._prompt_builder.limits(turn)
        notes = clipped(_notes(PlanningState.from_json(context.state), evidence), limits.budget.usable)
        brought = PromptInputs(skills=(), tools=(), rounds=(), rules=notes, shrunk=False, now=context.now())
        prompt = self._prompt_builder.prompt(turn, brought, limits)
        links = await self._adviser.links(context, turn, evidence, prompt, notes)
        result = await self._ask(context, turn, prompt, links, most=limits.budget.reply)
        state = PlanningState.from_json(context.state)
        written = without_documents(result.content) or _fallback(state)
        words = written if links is None else links.safe(written)
        voiced = any(is_voice(message) for message in turn.current)
        files = await self._spoken.of(context, words) if voiced else ()
        value = replace(result, content=words, calls=()).to_json() | {"outcome": _outcome(state, words).to_json()}
        taint = state.taint | evidence.taint | prompt.taint
        sent = with_files(context.state, (*evidence.files, *files))
        return End(value, **sent, **changes(PlanningState, taint=taint, read=prompt.read))

    async def _ask(
        self, context: NodeContext, turn: TurnContext, prompt: Prompt, links: SafeLinks | None, *, most: int
    ) -> RunResult:
        *earlier, newest = await with_pictures(self._store, prompt.turns)
        pictures = await load_pictures(self._store, pictures_of(turn.current))
        request = self._adviser.request(
            context,
            turn,
            system=prompt.system,
            changing=prompt.changing,
            now=prompt.now,
            turns=(*earlier, replace(newest, images=(*newest.images, *pictures))),
            most=most,
        )
        send = _sender(context, turn)
        stream = LinkStream(links=links, send=send) if send is not None and links is not None else None
        shown = stream.add if stream is not None else send
        showing = Showing(send=shown) if shown is not None else None
        on_text = unheard if showing is None else Guard(showing.add).add
        try:
            result = await self._adviser.call(context, turn, request, on_text)
        finally:
            if showing is not None:
                showing.close()
            if stream is not None:
                stream.close()
        return marked(result) if result is not None else RunResult("", "", "", "")


def _notes(state: PlanningState, evidence: Evidence) -> str:
    """Return the notes for the report, or "" if the complexity is low and no child worked."""
    if state.plan["complexity"] == Complexity.LOW and not evidence.works:
        return ""
    stopped, last = REASONS.get(state.stopped, ""), state.last or WorkOutcome(WorkStatus.DONE)
    return prompts.joined(
        prompts.REPORT,
        f"The work was stopped before it was complete: {stopped}. Say so clearly." if stopped else "",
        prompts.section("Goal", state.goal),
        prompts.section("Latest result", last.result or last.visible),
        prompts.section("Blocker", prompts.joined(last.reason, last.requirements)),
        prompts.section("Missing, according to the check", "\n".join(state.feedbacks[-1:] if stopped else [])),
        prompts.section("Tool calls", known_runs(evidence.runs)),
    )


def _fallback(state: PlanningState) -> str:
    """Return the answer that replaces an empty reply."""
    stopped = REASONS.get(state.stopped, "")
    if stopped:
        return _NO_WORDS_STOPPED.format(stopped)
    last = state.last or WorkOutcome(WorkStatus.DONE)
    return without_documents(str(last.result or last.visible)) or _NO_WORDS


def _outcome(state: PlanningState, words: str) -> WorkOutcome:
    visible, last = read(words).visible, state.last
    if state.stopped:
        return WorkOutcome(WorkStatus.EXHAUSTED, visible, reason=REASONS[state.stopped])
    if last is not None and last.status is WorkStatus.BLOCKED:
        return replace(last, visible=visible, attributes={})
    return WorkOutcome(WorkStatus.DONE, visible, result=last.result if last is not None else "")


# -- streaming ---------------------------------------------------------------------------------------------------------


class Guard:
    """A filter for streamed text: it forwards the text up to the beginning of a plan or a brief."""

    def __init__(self, show: Callable[[int, str], None]) -> None:
        self._show = show
        self._rest = ""
        self._shown = 0
        self._shut = False

    def add(self, offset: int, piece: str) -> None:
        """Forward the harmless part of the text that has arrived. Offset 0 starts a new text."""
        if offset == 0:
            self._rest, self._shown, self._shut = "", 0, False
        if self._shut:
            return
        text = self._rest + piece
        upto = _harmless_length(text)
        if upto:
            self._show(self._shown, text[:upto])
            self._shown += upto
        self._rest = text[upto:]
        self._shut = _OPENING.match(self._rest) is not None


def _harmless_length(text: str) -> int:
    """Return the length of the text before the first tag of a document. An incomplete tag at the end also counts as a
    tag."""
    if found := _OPENING.search(text):
        return found.start()
    start = text.rfind("<")
    begun = text[start:].casefold() if start >= 0 else ""
    return start if begun and any(opening.startswith(begun) for opening in _OPENINGS) else len(text)


def _sender(context: NodeContext, turn: TurnContext) -> Callable[[int, str], None] | None:
    """Return the function that streams the answer: to the sender of the newest message, or in a run to the audience of the
    task. Return None if the answer is not streamed."""
    state = PlanningState.from_json(context.state)
    audience = state.run.audience if state.run is not None else turn.current[-1].id
    if audience is None:
        return None
    return lambda offset, text: context.publish_now(Delta(state.address, audience, offset, text))
