"""Spoken replies: the reply to a voice message is also sent as a sound file, if a speech engine is configured."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from arvis.domain.markup import visible
from arvis.domain.messages import OutgoingFile
from arvis.domain.regex import regex
from arvis.engine.graph import NodeContext
from arvis.ports.store import Store, Transaction
from arvis.ports.transcriber import Speaker, SpeechError
from arvis.tasks.access import PlacedState

#: The maximum number of characters of a reply that are spoken (some minutes of speech).
_LONGEST = 4_000

_CODE = regex(r"^ {0,3}(```|~~~).*?^ {0,3}\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = regex(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_MARKS = regex(r"^ {0,3}(?:#{1,6} |> ?|[-*+] )|[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}", re.MULTILINE)


class SpokenReply:
    """Makes spoken replies. Without a `speaker`, all replies are text only."""

    def __init__(self, *, store: Store, speaker: Speaker | None) -> None:
        self._store = store
        self._speaker = speaker

    async def of(self, context: NodeContext, reply: str) -> tuple[OutgoingFile, ...]:
        """Return the reply as a sound file. If speech fails, return no file and record an incident for the agent."""
        words = speakable(reply)
        if self._speaker is None or not words:
            return ()
        speaker = self._speaker

        async def speak() -> dict[str, Any]:
            try:
                sound = await speaker.speak(words)
            except SpeechError as failed:
                return {"problem": str(failed)}
            sha256 = await self._store.put_blob(sound.data)
            return asdict(OutgoingFile(sound.filename, sound.content_type, len(sound.data), sha256))

        spoken = await context.once("spoken", speak)
        if (problem := spoken.get("problem")) is None:
            return (OutgoingFile(**spoken),)
        text = f"Your last answer was sent as text only, because no voice message could be made of it: {problem}."
        context.record(_note, PlacedState.from_json(context.state).conversation, text, context.now())
        return ()


def speakable(reply: str) -> str:
    """Return the part of a reply that can be spoken, without tags, code blocks and Markdown marks."""
    text = _CODE.sub(" ", visible(reply))
    return _MARKS.sub("", _LINK.sub(r"\1", text)).strip()[:_LONGEST]


def _note(tx: Transaction, conversation_id: str, text: str, now: int) -> None:
    tx.incidents.add(conversation_id, text, now)
