"""Embeddings: the vectors that a model computes for texts. Texts with a similar meaning have similar vectors, even if
they have no word in common.

A vector is stored in two forms (docs/adr/0081): one byte for each number, to compare two vectors, and the sign of each
number as one bit, to find the vectors to compare. Vectors that differ in few signs are similar, and signs are compared
so fast that no other index is needed.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from enum import StrEnum
from operator import mul

from arvis.domain.dataclass import dataclass

#: The maximum number of characters of a text that are embedded. Models read a limited number of tokens, and most
#: messages are shorter.
MOST_TEXT = 4_000
#: The minimum length of an embedded message. Shorter messages, such as "ok", are not embedded.
SHORTEST_TEXT = 12
#: The maximum number of texts of one request. It limits the size of the answer (`providers/exchange.py`).
MOST_TEXTS = 16
#: The accepted numbers of dimensions.
SIZES = range(8, 8_193)
#: The largest value of one number in a stored vector.
_LARGEST = 127


class Purpose(StrEnum):
    """The use of a vector. Some models compute different vectors for texts and for the queries that find them."""

    DOCUMENT = "document"
    QUERY = "query"


class SubjectKind(StrEnum):
    """The rows whose texts are embedded."""

    MESSAGE = "message"
    FACT = "fact"
    #: A part of a document of a knowledge base.
    CHUNK = "chunk"


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The account and the model that embed texts. `dimensions` is the requested number of dimensions (None: the
    number that the model chooses)."""

    account: str
    model: str
    dimensions: int | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """A request for the vectors of up to `MOST_TEXTS` texts."""

    texts: Sequence[str]
    model: str
    dimensions: int | None
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class EmbeddingResult:
    """A vector for each text of a request, and the tokens of the texts; None if the vendor does not report them."""

    vectors: Sequence[Sequence[float]]
    input_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector in its stored form: a signed byte for each number. The norm of the vector has no meaning."""

    numbers: bytes

    @classmethod
    def of(cls, values: Sequence[float]) -> Vector:
        most = max(map(abs, values))
        return cls(array("b", [round(value / most * _LARGEST) if most else 0 for value in values]).tobytes())

    @property
    def signs(self) -> bytes:
        """Return a bit for each number, which is 1 if the number is above 0. Unused bits of the last byte are 0."""
        bits = "".join("1" if number > 0 else "0" for number in memoryview(self.numbers).cast("b"))
        size = -(-len(bits) // 8)
        return int(bits.ljust(size * 8, "0"), 2).to_bytes(size)

    def similarity(self, other: Vector) -> float:
        """Return the cosine of the angle between the vectors, which is 1 for the same direction. Return 0 if the
        vectors have different sizes."""
        if len(self.numbers) != len(other.numbers):
            return 0.0
        one, two = memoryview(self.numbers).cast("b"), memoryview(other.numbers).cast("b")
        lengths = sum(map(mul, one, one)) * sum(map(mul, two, two))
        return sum(map(mul, one, two)) / math.sqrt(lengths) if lengths else 0.0


@dataclass(frozen=True, slots=True)
class Meaning:
    """The vector of a query, and the name of the model that computed the vector. Only vectors of the same model can be
    compared."""

    model: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Subject:
    """A text to embed, and the row that contains it. `area` limits searches: it is the id of the person who may read a
    message, the agent and the scope of a fact, or the collection of a chunk."""

    kind: SubjectKind
    id: str
    area: str
    text: str


def differing_signs(one: bytes, other: bytes) -> int:
    """Return the number of signs in which two vectors of the same size differ."""
    return (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()
