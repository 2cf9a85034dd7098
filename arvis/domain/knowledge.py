"""Knowledge bases: collections of documents that agents search.

A collection belongs to no person: an agent searches the collections that its settings name. A document is divided into
chunks. A search returns chunks, and a reply cites them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from arvis.domain.agents import SLUG, Flaw
from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.domain.taint import CLEAN, Label, Taint

#: The tools for searching and reading collections. Every agent with collections has them, even if its `tools` do not
#: name them.
SEARCH_KNOWLEDGE, READ_KNOWLEDGE = "search_knowledge", "read_knowledge"

MOST_COLLECTIONS = 200
MOST_DOCUMENTS = 50_000
#: The maximum number of bytes of a document.
LARGEST_DOCUMENT = 20_000_000
#: The maximum number of characters of the text of a document. The end of a longer text is left out.
LONGEST_DOCUMENT = 4_000_000
#: The shortest and the longest time (ms) between two fetches of a page.
SHORTEST_REFRESH, LONGEST_REFRESH = 300_000, 366 * 86_400_000
#: The name extensions of the files in a folder that are documents.
ENDINGS = frozenset(
    [
        *(".pdf", ".docx", ".html", ".htm", ".md", ".markdown", ".txt", ".rst", ".org", ".adoc"),
        *(".csv", ".tsv", ".json", ".yaml", ".yml", ".xml"),
    ]
)
LONGEST_LOCATION, LONGEST_TITLE = 1_000, 300
LONGEST_NAME, LONGEST_DESCRIPTION = 100, 500


class DocumentKind(StrEnum):
    """The origin of a document."""

    #: A person has sent the file.
    FILE = "file"
    #: A web page, which may be fetched again on a schedule.
    PAGE = "page"
    #: A file in a folder of the configuration.
    FOLDER = "folder"


class DocumentStatus(StrEnum):
    #: The document waits to be indexed, for the first time or after a change.
    PENDING = "pending"
    INDEXED = "indexed"
    #: The last attempt failed. An earlier version stays in the index.
    FAILED = "failed"
    #: The document is being deleted. Pages and searches leave it out.
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Collection:
    """A knowledge base. Times in ms."""

    id: str
    slug: str
    name: str
    description: str = ""
    #: True if an owner has declared that the documents contain no instructions of other people. Otherwise their texts taint a
    #: turn.
    trusted: bool = False
    created_at: int = 0
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a collection. Times in ms."""

    id: str
    collection_id: str
    kind: DocumentKind
    #: The name of the file, the address of the page, or the path in the folder.
    location: str
    #: The SHA-256 of the bytes; "" if they are not known.
    sha256: str = ""
    #: The SHA-256 of the stored blob with the compressed bytes of a `FILE`; "" for others.
    blob: str = ""
    #: The size and the modification time of a file in a folder. A different value shows that the file has changed.
    stamp: str = ""
    size: int = 0
    title: str = ""
    #: True if a person gave the title. Otherwise the title comes from the content.
    named: bool = False
    content_type: str = ""
    status: DocumentStatus = DocumentStatus.PENDING
    #: The reason for a failure, or a description of unreadable parts, as a part of a sentence.
    problem: str = ""
    #: The version whose chunks a search can return; 0: none. Chunks of other versions are being written or deleted.
    version: int = 0
    #: The number of chunks of this version.
    chunks: int = 0
    #: A number that increases with each change by a person and with each change of the file in a folder.
    revision: int = 1
    #: The time (ms) between two fetches of a page; None: the page is fetched only once.
    refresh: int | None = None
    #: The time (ms) of the next work on the document; None: no work is left.
    due_at: int | None = None
    #: The number of failed attempts since the last success.
    failures: int = 0
    checked_at: int | None = None
    indexed_at: int | None = None
    created_at: int = 0
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A part of a document. `heading` is the title of the document and the headings above the part."""

    position: int
    heading: str
    content: str
    #: The number of the page on which the part begins, if the document has pages.
    page: int | None = None

    @property
    def text(self) -> str:
        """The text for searches and embeddings."""
        return f"{self.heading}\n{self.content}"


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A stored chunk with its document and collection, and its result in a search."""

    number: int
    chunk: NewChunk
    document_id: str
    kind: DocumentKind
    location: str
    #: The slug of the collection.
    collection: str
    trusted: bool
    score: float = 0.0
    #: The rank of the chunk among the results by words; None if the chunk contains no word of the question.
    place: int | None = None
    #: The similarity between the meanings of the chunk and of the question; None if meanings were not compared, or if
    #: the similarity is too low.
    similarity: float | None = None

    @property
    def mark(self) -> str:
        return f"K{self.number}"

    @property
    def taint(self) -> Taint:
        if self.trusted:
            return CLEAN
        return frozenset({Label.TOOLS if self.kind is DocumentKind.PAGE else Label.FILES})

    @property
    def source(self) -> str:
        """The source as one line of plain text: title, page, headings and location."""
        title, *headings = self.chunk.heading.split(PATH)
        parts = [_plain(title, 100)]
        if self.chunk.page is not None:
            parts.append(f"page {self.chunk.page}")
        if headings:
            parts.append(f"“{_plain(': '.join(headings), 150)}”")
        location = _plain(self.location, 200)
        if self.kind is DocumentKind.PAGE:
            location = self.location.replace("[", "%5B").replace("]", "%5D").replace("<", "%3C")
        return ", ".join(parts) if location == parts[0] else f"{', '.join(parts)} – {location}"


#: The separator of the title and the headings in a path.
PATH = "\n"

_MARK = regex(r"\[K(\d{1,12})(?:\s*[,;]\s*K?\d{1,12})*\]")
_NUMBER = regex(r"\d{1,12}")
_REFERENCE = regex(r"\[?K?(\d{1,12})\]?", re.IGNORECASE)
#: Characters that could form a tag, a link or a mention of people.
_ODD = regex(r"(?:[\[\]<>`*|@\\]|://)+")
_BLANKS = regex(r"\s+")


def number_of(reference: str) -> int | None:
    """Return the number in a citation mark such as `K12` or `[K12]`. Return None for other texts."""
    found = _REFERENCE.fullmatch(reference.strip())
    return int(found[1]) if found else None


def cited_in(text: str) -> Sequence[int]:
    """Return the numbers of the chunks that a reply cites, in order and without duplicates."""
    numbers = [int(number) for found in _MARK.finditer(text) for number in _NUMBER.findall(found[0])]
    return [*dict.fromkeys(numbers)]


def _plain(text: str, most: int) -> str:
    """Return a text of a document as one line without formatting, because the text is untrusted."""
    line = _BLANKS.sub(" ", _ODD.sub(" ", "".join(each if each.isprintable() else " " for each in text))).strip()
    return line if len(line) <= most else f"{line[: most - 1]}…"


def flaws_of(collection: Collection) -> Iterator[Flaw]:
    """Yield the invalid fields of a collection."""
    if not SLUG.fullmatch(collection.slug):
        text = "must be 1 to 64 lower-case letters, digits, - and _, and begin with a letter or digit"
        yield Flaw("slug", text, "Write for example `handbook`.")
    name = collection.name
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and name.strip()):
        yield Flaw("name", f"must be 1 to {LONGEST_NAME} printable characters", "Shorten it to one line.")
    if len(collection.description) > LONGEST_DESCRIPTION:
        yield Flaw("description", f"must have at most {LONGEST_DESCRIPTION} characters", "Shorten it.")


def flaws_of_document(document: Document) -> Iterator[Flaw]:
    """Yield the invalid fields of a document that a person adds."""
    location = document.location
    if not (0 < len(location) <= LONGEST_LOCATION and location.isprintable() and location.strip()):
        field = "url" if document.kind is DocumentKind.PAGE else "name"
        yield Flaw(field, f"must be 1 to {LONGEST_LOCATION} printable characters", "Shorten it to one line.")
    if document.kind is DocumentKind.FILE and (location.startswith("/") or "://" in location):
        # Such a name could be equal to the address of a web page, or to the path of a file in a folder.
        yield Flaw("name", "must be a file name, not an absolute path or an address", "Write for example `leave.md`.")
    if len(document.title) > LONGEST_TITLE or not (document.title.isprintable() or not document.title):
        yield Flaw("title", f"must be at most {LONGEST_TITLE} printable characters", "Shorten it to one line.")
    if document.refresh is not None and document.kind is not DocumentKind.PAGE:
        yield Flaw("refresh", "is only for web pages", "Leave it out, and send the file again when it has changed.")
    elif document.refresh is not None and not SHORTEST_REFRESH <= document.refresh <= LONGEST_REFRESH:
        yield Flaw("refresh", "must be from 5 minutes to 366 days", "Write for example 86400000, which is a day.")
