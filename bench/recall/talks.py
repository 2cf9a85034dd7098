"""Conversations with questions about them: the reader for the public data set, and our own set.

The reader takes the JSON format of LoCoMo: a list of samples with `conversation` (sessions of turns, each with a `dia_id`)
and `qa` (questions with the ids of the turns that answer them). Photos are left out, because Arvis stores no captions.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import yaml

from arvis.domain.ids import encode, moment_of

OWN = Path(__file__).with_name("own.yaml")
#: Each template of our own set is used for this many different messages.
USES = 5
#: The chatter of our own set: this many other messages follow each message that answers a question.
_CHATTER = 3
_HOUR_MS = 3_600_000
_BEGIN = int(datetime(2025, 1, 6, 8, tzinfo=UTC).timestamp() * 1000)
_TURN = re.compile(r"D\d+:\d+")
_CATEGORIES = {1: "several turns", 2: "time", 3: "inference", 4: "one turn", 5: "false premise"}


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a conversation. `at` is its time in ms."""

    id: str
    speaker: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the ids of the messages that answer it."""

    text: str
    evidence: frozenset[str]
    kind: str


@dataclass(frozen=True, slots=True)
class Talk:
    name: str
    messages: Sequence[Said]
    questions: Sequence[Asked]


def read_locomo(file: Path) -> list[Talk]:
    """Return the conversations of a file in LoCoMo's format, with all questions whose evidence is in the conversation.
    Raise `SystemExit` with a text for the user if the file has another format."""
    try:
        return [
            _sample(f"locomo-{number}", sample) for number, sample in enumerate(json.loads(file.read_text("utf-8")))
        ]
    except OSError as error:
        raise SystemExit(
            f"{file} cannot be read: {error.strerror}. Name the file locomo10.json of the data set."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(
            f"{file} is not in LoCoMo's format ({error!r}). Name the file locomo10.json of the data set."
        ) from None


def _sample(name: str, sample: Mapping[str, Any]) -> Talk:
    messages = dict(_turns(name, sample["conversation"]))
    questions = []
    for entry in sample["qa"]:
        # Some entries name several turns in one text, or a turn that does not exist.
        named = _TURN.findall(" ".join(entry.get("evidence") or []))
        evidence = frozenset(messages[turn].id for turn in named if turn in messages)
        if evidence:
            questions.append(Asked(entry["question"], evidence, _CATEGORIES.get(entry["category"], "other")))
    return Talk(name, [*messages.values()], questions)


def _turns(name: str, conversation: Mapping[str, Any]) -> Iterator[tuple[str, Said]]:
    for number in range(1, len(conversation)):
        begun = str(conversation.get(f"session_{number}_date_time"))
        for place, turn in enumerate(conversation.get(f"session_{number}") or []):
            at = int(datetime.strptime(begun, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp() * 1000)
            at += place * 1000
            yield turn["dia_id"], Said(_id(name, at, place), turn["speaker"], turn["text"], at)


def _id(name: str, at: int, number: int) -> str:
    """Return an id with this time, as that of a real message. The ids of each conversation differ."""
    return encode(moment_of(at) + (crc32(name.encode()) << 32) + number)


def own_talks(file: Path = OWN) -> list[Talk]:
    """Return our own set: a conversation for each language, always with the same content."""
    return [_own_talk(part) for part in yaml.safe_load(file.read_text("utf-8"))]


def _own_talk(part: Mapping[str, Any]) -> Talk:
    name, people = f"own-{part['language']}", part["people"]
    chance = random.Random(name)
    uses = [(template, use) for template in part["templates"] for use in range(USES)]
    chance.shuffle(uses)
    messages, questions = list[Said](), list[Asked]()

    def say(speaker: str, text: str) -> str:
        at = _BEGIN + len(messages) * _HOUR_MS
        message = Said(_id(name, at, len(messages)), speaker, text, at)
        messages.append(message)
        return message.id

    for template, use in uses:
        # The people and words of the five uses of a template differ.
        place = (part["templates"].index(template) * 3 + use) % len(people)
        words = {
            key: part[key][(place * 7 + use) % len(part[key])]
            for key in ("name", "city", "thing", "dish", "day", "month")
        }
        words |= {"p": people[place], "n": str(chance.randrange(1_000, 10_000))}
        evidence = say(people[place], template["says"].format(**words))
        questions.append(
            Asked(template["asks"].format(**words), frozenset({evidence}), f"{part['language']} {template['kind']}")
        )
        for _ in range(_CHATTER):
            say(chance.choice(people), chance.choice(part["chatter"]))
    return Talk(name, messages, questions)
