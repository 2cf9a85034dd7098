"""Write conversations as the file of an import, and their questions as cases of evaluations, so that a daemon with a real embedding
account can be measured: `arvis import`, `arvis evals import` and `arvis evals run`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from arvis.domain.evaluations import Case, Retrieval, Searched
from arvis.domain.memory import Category
from arvis.domain.messages import Role
from arvis.interchange.archive import Writer
from arvis.interchange.format import Agent, Conversation, Fact, Manifest, Message, Person, PersonRef, Place
from bench.recall.talks import Talk

#: The agent to which the conversations belong, and the name of the archive.
AGENT, ARCHIVE = "recall", "talks.zip"
_PLATFORM = "web"


def write(folder: Path, talks: Sequence[Talk]) -> None:
    """Write the archive, and a folder of cases for each kind of search, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ARCHIVE).open("wb") as file:
        _write_archive(Writer(file), talks)
    for searched in Searched:
        below = folder / searched.value
        below.mkdir(exist_ok=True)
        for case in _cases(talks, searched):
            text = json.dumps(case.to_json(), ensure_ascii=False, indent=2)
            (below / f"{case.name}.json").write_text(f"{text}\n", encoding="utf-8")


def _write_archive(archive: Writer, talks: Sequence[Talk]) -> None:
    for talk in talks:
        archive.add("people", Person(platform=_PLATFORM, user_id=talk.name, name=talk.name))
    archive.add("agents", Agent(slug=AGENT, name="Recall"))
    for talk in talks:
        person = PersonRef(platform=_PLATFORM, user_id=talk.name)
        for said in talk.messages:
            archive.add(
                "memory",
                Fact(
                    agent=AGENT,
                    person=person,
                    category=Category.LEARNED_PATTERN,
                    content=f"{said.speaker}: {said.text}",
                    created_at=said.at,
                ),
            )
    for talk in talks:
        archive.add("conversations", _conversation(talk))
    last = max(said.at for talk in talks for said in talk.messages)
    archive.close(Manifest(program="bench.recall", source="bench.recall", exported_at=last))


def _conversation(talk: Talk) -> Conversation:
    person = PersonRef(platform=_PLATFORM, user_id=talk.name)
    messages = [
        Message(
            id=said.id,
            role=Role.USER,
            content=said.text,
            created_at=said.at,
            person=person,
            name=said.speaker,
            turn=turn,
        )
        for turn, said in enumerate(talk.messages, start=1)
    ]
    place = Place(platform=_PLATFORM, channel=f"recall-{talk.name}")
    return Conversation(id=talk.name, agent=AGENT, place=place, created_at=talk.messages[0].at, messages=messages)


def _cases(talks: Sequence[Talk], searched: Searched) -> Iterator[Case]:
    for talk in talks:
        texts = {said.id: said.text for said in talk.messages}
        for number, asked in enumerate(talk.questions, start=1):
            evidence = tuple(sorted(texts[each] for each in asked.evidence))
            wanted = Retrieval(asked.text, evidence, searched, f"{_PLATFORM}:{talk.name}")
            yield Case(f"{talk.name}-{number:04}", wanted)
