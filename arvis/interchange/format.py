"""The records of an export. The importers of other programs make the same records.

A record refers to other records by names that do not depend on one installation: to an agent by its slug, to a person
by the platform and the user id there, to a file by the SHA-256 of its bytes. Times are milliseconds since the epoch
(UTC). No record contains a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from arvis.domain.agents import Permission
from arvis.domain.memory import Category
from arvis.domain.messages import Role
from arvis.domain.quotations import QuotationKind, Writer
from arvis.domain.reactions import Rating
from arvis.domain.schedules import Missed, ScheduleKind

_Name = Annotated[str, Field(min_length=1, max_length=300)]
_Text = Annotated[str, Field(max_length=1_000_000)]
_Time = Annotated[int, Field(ge=0, le=2**48 - 1)]
#: A time in the years 1600 to 9998.
_Moment = Annotated[int, Field(ge=-11_676_096_000_000, le=253_370_764_800_000)]
_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Record(BaseModel):
    """The base of all records: fields are snake_case in Python and camelCase in the file; unknown fields are errors."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class Manifest(Record):
    """The file `manifest.json`."""

    format: Literal["arvis-export"] = "arvis-export"
    version: Literal[1] = 1
    #: The name and version of the program that wrote the file, such as `arvis 0.2.0`.
    program: _Name
    #: The name of the installation from which the records come. The ids of imported conversations depend on this name.
    source: _Name
    exported_at: _Time
    #: The numbers of records, by kind.
    counts: dict[str, int] = {}


class Place(Record):
    """A channel, or a thread in it."""

    platform: _Name
    #: The name of the bot. An empty name means the only bot of the platform.
    connector: str = ""
    channel: _Name
    thread: str = ""


class PersonRef(Record):
    platform: _Name
    user_id: _Name


class Person(Record):
    """A person. Rights are not part of an export."""

    platform: _Name
    user_id: _Name
    name: Annotated[str, Field(max_length=300)] = ""


class Binding(Record):
    platform: _Name
    channel: _Name
    permission: Permission = Permission.FULL


class Agent(Record):
    slug: _Name
    name: _Name
    role: _Name = "custom"
    description: _Text = ""
    prompt: _Text = ""
    #: A model as PROVIDER/MODEL. The account for it is not part of an export.
    model: str | None = None
    fallbacks: list[str] = []
    tools: list[str] = []
    graph: _Name = "agent"
    completion: _Name = "implicit"
    context_tokens: int | None = None
    timezone: str | None = None
    #: The platform user ids of the people who may use the agent. Null means everybody.
    allow_users: list[str] | None = None
    status: Literal["active", "paused"] = "active"
    on_new_message: str | None = None
    plugins: list[str] = []
    helpers: list[str] = []
    skills: list[str] = []
    #: The slugs of the knowledge bases that the agent may search.
    knowledge: list[str] = []
    effort: str | None = None
    bindings: list[Binding] = []


class Skill(Record):
    slug: _Name
    #: A Markdown text with a front matter.
    text: _Text


class Workflow(Record):
    slug: _Name
    name: _Name
    description: _Text = ""
    enabled: bool = True
    #: The diagram, as `arvis workflows export` writes it.
    document: dict[str, Any]


class Document(Record):
    """A document of a knowledge base. The bytes of a file are in the archive under `files/HASH`, unless they were lost."""

    kind: Literal["file", "page"]
    #: The name of the file, or the address of the web page.
    location: Annotated[str, Field(min_length=1, max_length=1_000)]
    #: The title that a person gave. Empty means that the title comes from the content.
    title: Annotated[str, Field(max_length=300)] = ""
    #: The time (ms) between two fetches of a web page. Null means that the page is fetched only once.
    refresh: Annotated[int, Field(ge=0)] | None = None
    #: The hash of a file.
    sha256: _Hash | None = None


class KnowledgeBase(Record):
    slug: _Name
    name: _Name
    description: _Text = ""
    #: True if an owner has declared that the documents contain no instructions of other people.
    trusted: bool = False
    documents: list[Document] = []


class Schedule(Record):
    kind: ScheduleKind
    #: The slug of the agent.
    agent: _Name
    name: _Name
    #: The times, such as `0 8 * * *`, `every 2 h` or `@daily`.
    schedule: _Name
    timezone: str | None = None
    prompt: _Text = ""
    place: Place
    missed: Missed = Missed.SKIP
    #: A script without its headers, which may contain secrets.
    script: dict[str, Any] | None = None
    graph: str | None = None
    max_cycles: Annotated[int, Field(ge=1)] = 1
    #: The model and the reasoning effort of the work. Null means the agent's model and effort.
    model: str | None = None
    effort: str | None = None
    enabled: bool = True
    person: PersonRef | None = None


class Fact(Record):
    """An entry of an agent's memory. It is about a person or about a place. Without both, it applies to all
    conversations."""

    agent: _Name
    person: PersonRef | None = None
    place: Place | None = None
    category: Category
    content: Annotated[str, Field(min_length=1, max_length=10_000)]
    #: The labels of the sources of the text other than the person, such as `tools`. Empty means no other source.
    taint: list[str] = []
    author: PersonRef | None = None
    created_at: _Time
    #: The time from which the fact is true, the time until which it is true, and the time at which it expires. Null
    #: means that the time is unknown, or, for `expires_at`, that the category determines it.
    valid_from: _Moment | None = None
    valid_until: _Moment | None = None
    expires_at: _Time | None = None


class Value(Record):
    """A value that an agent stores under a key, beside its facts. It belongs to a person or to a place. Without both, it
    applies to all conversations."""

    agent: _Name
    person: PersonRef | None = None
    place: Place | None = None
    key: _Name
    value: Annotated[str, Field(max_length=10_000)]
    taint: list[str] = []
    author: PersonRef | None = None
    updated_at: _Time


class File(Record):
    """A file of a message. Its bytes are in the archive under `files/HASH`, unless they were lost."""

    filename: _Name
    content_type: _Name
    size: Annotated[int, Field(ge=0)]
    sha256: _Hash


class ToolCall(Record):
    """A tool call of an agent, and its output."""

    name: _Name
    arguments: dict[str, Any] = {}
    #: The output. A long output has a mark where its middle is missing.
    output: _Text = ""
    failed: bool = False
    #: True if the output was secret. `output` is then empty.
    secret: bool = False


class Round(Record):
    """A text of an agent with tool calls, before its reply."""

    text: _Text = ""
    calls: list[ToolCall]


class Quotation(Record):
    """A message that a message answers, quotes or forwards."""

    kind: QuotationKind
    writer: Writer
    #: The text. It is empty for a forwarded message whose text is the content of the message itself.
    text: _Text = ""
    author: Annotated[str, Field(max_length=300)] = ""
    #: The id of the author on the platform.
    author_id: Annotated[str, Field(max_length=300)] = ""
    #: The id of the quoted message in the conversation.
    message: str | None = None
    partial: bool = False
    #: The labels that the message has only because of this quotation.
    adds: list[str] = []


class Feedback(Record):
    """A person's rating of a reply."""

    person: PersonRef
    rating: Rating
    at: _Time


class Message(Record):
    """One message. The messages of a conversation are in the order in which they were written."""

    #: An id that is unique in the conversation.
    id: _Name
    role: Role
    content: _Text
    created_at: _Time
    person: PersonRef | None = None
    name: Annotated[str, Field(max_length=300)] = ""
    #: The id of the message that this message answers.
    reply_to: str | None = None
    #: The number of the turn in the conversation. Without numbers, each message of a person after a reply begins a
    #: turn.
    turn: Annotated[int, Field(ge=1)] | None = None
    taint: list[str] = []
    files: list[File] = []
    #: The tool calls before this reply.
    rounds: list[Round] = []
    #: The messages that this message answers, quotes or forwards.
    quotations: list[Quotation] = []
    #: The ratings of this reply.
    feedback: list[Feedback] = []
    #: True for a message of an inactive version. Only exports of a person or channel contain such messages, and an import
    #: ignores them.
    inactive: bool = False


class Summary(Record):
    """A text that replaces the messages of some turns in prompts."""

    first_turn: Annotated[int, Field(ge=1)]
    last_turn: Annotated[int, Field(ge=1)]
    text: _Text
    created_at: _Time


class Conversation(Record):
    #: An id that is unique in the source.
    id: _Name
    agent: _Name
    place: Place
    #: True if only one person writes in it.
    direct: bool = False
    created_at: _Time
    messages: list[Message] = []
    summaries: list[Summary] = []


class Overheard(Record):
    """A message in a channel that was not for the bot, stored as context for a few days."""

    #: The id of the event on the platform, which is unique in the channel.
    id: _Name
    place: Place
    #: The id of the author on the platform of the place.
    user_id: _Name
    name: Annotated[str, Field(max_length=300)] = ""
    content: _Text
    created_at: _Time


class Suite(Record):
    """A suite of cases that evaluate an agent."""

    name: _Name
    #: The slug of the agent.
    agent: _Name
    #: True if a changed prompt of the agent is stored only after the suite has passed with the new prompt.
    gate: bool = False
    #: The documents of the cases, as `arvis evals export` writes them.
    cases: list[dict[str, Any]] = []


#: The kinds of records, by the name of their file without `.jsonl`, in the order in which they are imported.
KINDS: Mapping[str, type[Record]] = {
    "people": Person,
    "skills": Skill,
    "workflows": Workflow,
    "knowledge": KnowledgeBase,
    "agents": Agent,
    "schedules": Schedule,
    "memory": Fact,
    "values": Value,
    "conversations": Conversation,
    "overheard": Overheard,
    "evaluations": Suite,
}
