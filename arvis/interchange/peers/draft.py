"""Collects the records that are made from another program's home directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from arvis.domain.dataclass import dataclass
from arvis.domain.memory import Category
from arvis.domain.regex import regex
from arvis.domain.taint import Label
from arvis.domain.text import storable
from arvis.interchange import format as records
from arvis.interchange.archive import Contents
from arvis.interchange.format import KINDS, Conversation, Manifest, PersonRef, Record, Schedule
from arvis.interchange.peers.home import Home

#: The platforms for which Arvis has connectors, and the default name of a bot that `arvis bots create` makes.
SUPPORTED = ("discord", "slack", "telegram")
BOT = "main"
#: The providers of models that have the same name in Arvis and in other programs.
PROVIDERS = ("anthropic", "google", "ollama", "openai", "openrouter")

_BATCH = 40_000_000
_SLUG = regex(r"[^a-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Choice:
    """The choices of the person who imports. `owner` is the person whom private memories are about. If it is None, the
    reader determines the owner from the home."""

    now: int
    owner: PersonRef | None = None


class Draft:
    """The records that are made from a home, and the bots and model accounts that these records need."""

    def __init__(self, home: Home, program: str, choice: Choice) -> None:
        self.home = home
        self.program = program
        self.choice = choice
        #: The platforms whose bots need a token, and the providers whose accounts need a key.
        self.bots: set[str] = set()
        self.providers: set[str] = set()
        self._records: dict[str, list[Record]] = {kind: [] for kind in KINDS}
        self._seen = set[object]()

    def add(self, kind: str, label: str, /, **fields: Any) -> bool:
        """Add a record and return True. If the format does not allow the record, add a remark and return False."""
        try:
            record = KINDS[kind].model_validate(_storable(fields))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            self.home.leave(kind, label, f"its field {where} cannot be stored: {first['msg']}")
            return False
        self._records[kind].append(record)
        return True

    def add_bot(self, platform: str) -> bool:
        """Record that the platform needs a bot, and return True. If Arvis has no connector for the platform, add a
        remark and return False."""
        if platform in SUPPORTED:
            self.bots.add(platform)
            return True
        if self.once("channels", platform):
            why = "Arvis has no connector for this platform; you can read its conversations but not continue them"
            self.home.leave("channels", platform, why)
        return False

    def once(self, kind: str, key: str) -> bool:
        """Return True only at the first call with this kind and key."""
        new = (kind, key) not in self._seen
        self._seen.add((kind, key))
        return new

    def person(self, platform: str, user_id: str, name: str = "") -> PersonRef:
        """Add the person unless the draft already contains them, and return a reference to the person."""
        if self.once("people", f"{platform}:{user_id}"):
            self.add("people", f"{platform}:{user_id}", platform=platform, user_id=user_id, name=name[:300])
        return PersonRef(platform=platform, user_id=user_id)

    def fact(self, agent: str, category: Category, content: str, person: PersonRef | None, at: int) -> None:
        """Add a fact unless the draft already contains it. A model wrote the fact, so the fact has the taint of another
        agent's text."""
        if not self.once("memory", f"{agent} {person} {content}"):
            return
        fact = {"agent": agent, "category": category, "content": content, "taint": [Label.AGENTS], "created_at": at}
        self.add("memory", f"{agent}: {content[:60]}", person=person, author=None, **fact)

    def model(self, agent: str, name: Any) -> str | None:
        """Return the model if Arvis has a provider for its vendor, and record that this provider needs an account. If
        there is no such provider, add a remark and return None. Also return None if `name` is empty."""
        if not isinstance(name, str) or not name:
            return None
        provider, slash, rest = name.partition("/")
        provider = {"gemini": "google"}.get(provider, provider)
        if slash and rest and provider in PROVIDERS:
            self.providers.add(provider)
            return f"{provider}/{rest}"
        why = f"{name[:100]} is not a model of {', '.join(PROVIDERS)}; choose a model with `arvis agents update {agent} --model`"
        self.home.leave("models", agent, why)
        return None

    def batches(self) -> Iterator[Contents]:
        """Yield archives that are small enough for one request. All archives after the first one contain only
        conversations, and the people and agents to which these refer."""
        manifest = Manifest(program=self.program, source=self.program.split()[0].lower(), exported_at=self.choice.now)
        for number, talks in enumerate(_parts(self._newest_first())):
            kinds = KINDS if number == 0 else ("people", "agents")
            found = {kind: list(self._records[kind]) if kind in kinds else [] for kind in KINDS}
            yield Contents(manifest, found | {"conversations": talks}, {})

    def _newest_first(self) -> list[Conversation]:
        """Return the conversations, newest first, because the first conversation of a place is the one that Arvis
        continues there."""
        talks = [each for each in self._records["conversations"] if isinstance(each, Conversation)]
        return sorted(talks, key=lambda talk: (-talk.messages[-1].created_at, talk.id))

    def schedules(self) -> list[Schedule]:
        return [each for each in self._records["schedules"] if isinstance(each, Schedule)]


def slug_of(text: str) -> str:
    """Return a slug that is made from a name."""
    return _SLUG.sub("-", text.lower()).strip("-_")[:64].rstrip("-_")


def agent_slug(program: str, agent: str) -> str:
    """Return the slug of an imported agent. The slug of the program's main agent is the name of the program."""
    return program if agent in {"main", "default"} else slug_of(f"{program}-{agent}")


def place_in(platform: str, channel: str, thread: str = "") -> records.Place:
    """Return the place of a chat. Its bot has the default name that `arvis bots create` uses."""
    return records.Place(
        platform=platform, connector=BOT if platform in SUPPORTED else "", channel=channel, thread=thread
    )


def _parts(talks: Sequence[Conversation]) -> Iterator[list[Record]]:
    part, size = list[Record](), 0
    for talk in talks:
        length = sum(4 * len(message.content) + 400 for message in talk.messages)
        if part and size + length > _BATCH:
            yield part
            part, size = [], 0
        part.append(talk)
        size += length
    yield part


def _storable(value: Any) -> Any:
    match value:
        case str():
            return storable(value)
        case list():
            return [_storable(each) for each in value]
        case dict():
            return {key: _storable(each) for key, each in value.items()}
        case _:
            return value
