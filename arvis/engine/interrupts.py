"""Questions of the engine itself to people: about an effect that may have happened, and about a step that its graph
no longer has.

Such a question interrupts a visit and does not end it: the visit continues with the answer that it had before. The
engine must never decide by itself a matter that only a person can know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from arvis.domain.executions import Answer, Cursor, Effect, EffectState, Wait, WaitKind
from arvis.engine.context import Memory
from arvis.engine.decisions import Graph, Pause

#: The answers to a question about an effect that may have happened.
RUN_AGAIN, SKIP = "run again", "skip"
#: And about a step that is gone.
LOOK_AGAIN, START_OVER = "look again", "start over"

_STEP = "step:"


def about_effect(name: str, about: str = "") -> Pause:
    what = f"{about}\n\n" if about else ""
    return Pause(
        WaitKind.REVIEW,
        f"{what}“{name}” was begun when the process died: it may already have happened. Run it again, or skip it?",
        choices=(RUN_AGAIN, SKIP),
        subject=name,
    )


def about_lost_step(graph: Graph, node: str) -> Pause:
    return Pause(
        WaitKind.REVIEW,
        f"The graph “{graph.name}” was changed while this slept, and its step “{node}” is gone. Put the step back and "
        f"look again, or start over from “{graph.start}”: then what was done before is done again.",
        choices=(LOOK_AGAIN, START_OVER),
        subject=_STEP + node,
    )


def answer_seen(wait: Wait | None, waits: Mapping[str, Wait]) -> Answer | None:
    """Return the answer for the node: a question of the engine itself hands down the answer before it."""
    while wait is not None and wait.subject is not None:
        wait = waits.get(wait.resumes or "")
    return wait.answer if wait is not None else None


def starts_over(cursor: Cursor, waits: Mapping[str, Wait]) -> bool:
    """Return True if a person chose to start again because the step of this position no longer exists."""
    word = _words(cursor, waits).get(_STEP + cursor.node)
    return word is not None and _text(word) == START_OVER


def remember(cursor: Cursor, effects: Iterable[Effect], waits: Mapping[str, Wait]) -> Memory:
    """Return the `effects` of this position's visit with the answers of people about the interrupted ones. An answer
    is good for one start: that start carries the id of the question (as `result`), and if it is interrupted too, a
    new question follows."""
    words = _words(cursor, waits)
    known, allowed, skipped = dict[str, Effect](), dict[str, str](), list[Effect]()
    for effect in effects:
        word = words.get(effect.name)
        if effect.state is EffectState.FINISHED or word is None or effect.result == word.id:
            known[effect.name] = effect
        elif _says_again(word):
            allowed[effect.name] = word.id
        else:
            skipped.append(replace(effect, state=EffectState.FINISHED, result=None))
            known[effect.name] = skipped[-1]
    return Memory(known, allowed, tuple(skipped))


def _words(cursor: Cursor, waits: Mapping[str, Wait]) -> dict[str, Wait]:
    """By subject, the newest answered question of the engine about the visit that this position is in."""
    words = dict[str, Wait]()
    wait = waits.get(cursor.wait_id or "")
    while wait is not None and wait.subject is not None:
        if wait.answer is not None:
            words.setdefault(wait.subject, wait)
        wait = waits.get(wait.resumes or "")
    return words


def _says_again(word: Wait) -> bool:
    said = word.answer.value if word.answer is not None else None
    return (said or {}).get("decision") == "approve" or _text(word) == RUN_AGAIN


def _text(word: Wait) -> str | None:
    said = word.answer.value if word.answer is not None else None
    text: str | None = (said or {}).get("text")
    return text
