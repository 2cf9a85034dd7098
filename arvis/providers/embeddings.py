"""Read the vectors in the answers of vendors. No value is trusted to have the documented type."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.embeddings import SIZES, EmbeddingRequest, EmbeddingResult
from arvis.domain.errors import ProviderError
from arvis.domain.runs import Account
from arvis.providers import failures
from arvis.providers.reply import token_count

#: Every component of a vector must be smaller than this number. NaN is not smaller, so it is refused, too.
_TOO_LARGE = 1e30


def in_data(document: object, request: EmbeddingRequest, account: Account) -> EmbeddingResult:
    """Return the vectors of an answer in OpenAI's format: objects with an `index` and an `embedding`, in any order."""
    match document:
        case {"error": error} if error:
            raise failures.from_error_object(account, error)
        case {"data": [*entries], **others}:
            found: dict[object, object] = {}
            for place, entry in enumerate(entries):
                match entry:
                    case {"embedding": values, "index": index}:
                        found[index if isinstance(index, int) else place] = values
                    case {"embedding": values}:
                        found[place] = values
                    case _:
                        raise _wrong_type(account)
            usage = others.get("usage")
            tokens = token_count(usage.get("prompt_tokens")) if isinstance(usage, dict) else None
            return _result([found.get(place) for place in range(len(entries))], tokens, request, account)
    raise _wrong_type(account)


def in_embeddings(document: object, request: EmbeddingRequest, account: Account) -> EmbeddingResult:
    """Return the vectors of an answer of Ollama (lists of numbers) or of Google (objects with `values`), in the order
    of the texts."""
    match document:
        case {"error": error} if error:
            raise failures.from_error_object(account, error)
        case {"embeddings": [*entries], **others}:
            vectors = [entry.get("values") if isinstance(entry, dict) else entry for entry in entries]
            return _result(vectors, token_count(others.get("prompt_eval_count")), request, account)
    raise _wrong_type(account)


def _result(
    found: Sequence[object], tokens: int | None, request: EmbeddingRequest, account: Account
) -> EmbeddingResult:
    if len(found) != len(request.texts):
        raise failures.unreadable(account, f"it has {len(found)} vectors for {len(request.texts)} texts")
    vectors = [_vector(each, account) for each in found]
    if len({len(vector) for vector in vectors}) > 1:
        raise failures.unreadable(account, "its vectors have different sizes")
    return EmbeddingResult(vectors, tokens)


def _vector(found: object, account: Account) -> Sequence[float]:
    if not isinstance(found, list) or not all(type(number) in {int, float} for number in found):
        raise _wrong_type(account)
    if len(found) not in SIZES:
        raise failures.unreadable(account, f"a vector has {len(found)} numbers, which is not a supported size")
    if not all(abs(number) < _TOO_LARGE for number in found):
        raise failures.unreadable(account, "a vector contains numbers that are too large")
    return found


def _wrong_type(account: Account) -> ProviderError:
    return failures.unreadable(account, "its vectors have a wrong type")
