"""Limits of models: the context window, the longest reply, and the ability to read images.

`ModelLimits` keeps the calls of this process within these limits. The caller stores newly learned windows and token
counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.regex import regex
from arvis.domain.runs import Measure
from arvis.llm.selection import Choice
from arvis.llm.tokens import estimator_of, learn
from arvis.ports.conversations import Calibration
from arvis.ports.store import Transaction

# -- windows -----------------------------------------------------------------------------------------------------------
#
# A context window contains the prompt and the reply together. If a window in the table below is too small, prompts get
# less context. If a window is too large, the vendor refuses a call, and the error usually names the right window.


#: The window of a model that matches no rule.
DEFAULT_WINDOW = 200_000
#: The window of a model on Ollama before its first reply, which reports the real window. The window cannot be derived
#: from the model's name.
_OLLAMA = 8_192

#: Windows by the beginning of a model's name in lower case; the first matching rule counts.
_RULES: Sequence[tuple[re.Pattern[str], int]] = tuple(
    (regex(beginning), window)
    for beginning, window in (
        (r"claude-[a-z]+-[5-9]", 1_000_000),
        (r"claude", 200_000),
        (r"gpt-4\.1", 1_000_000),
        (r"gpt-4o|chatgpt-4o|gpt-4-turbo|gpt-5[^/]*-chat|gpt-oss", 128_000),
        (r"gpt-5", 272_000),  # 128,000 of the model's 400,000 tokens are only for replies
        (r"gpt-4-32k", 32_768),
        (r"gpt-4", 8_192),
        (r"gpt-3\.5", 16_385),
        (r"o1-mini|o1-preview", 128_000),
        (r"o[134]\b", 200_000),
        (r"gemini-1\.0|gemini-pro", 32_768),
        (r"gemini", 1_000_000),
        (r"deepseek|llama-3\.[1-3]|mistral-(large|medium|small)|command-r", 128_000),
    )
)


def window_of(provider: str, model: str, own: Mapping[str, int], learnt: int | None) -> int:
    """Return the window in tokens. `model` may have prefixes in the form that OpenRouter uses (`openai/gpt-4.1`). `own`
    are the configured windows, by `model` or `provider/model`; `learnt` is the window that the vendor reported."""
    if (said := own_of(provider, model, own)) is not None:
        return said
    if learnt is not None:
        return learnt
    if provider == "ollama":
        return _OLLAMA
    return _by_rule(model.rpartition("/")[2].lower())


def own_of(provider: str, model: str, own: Mapping[str, int]) -> int | None:
    """Return the configured value of a model, by `model` or `provider/model`; prefixes do not matter."""
    plain = model.rpartition("/")[2]
    names = (f"{provider}/{model}", model, f"{provider}/{plain}", plain)
    return next((own[name] for name in names if name in own), None)


@lru_cache(maxsize=256)
def _by_rule(plain: str) -> int:
    return next((window for rule, window in _RULES if rule.match(plain)), DEFAULT_WINDOW)


# -- images ------------------------------------------------------------------------------------------------------------
#
# Images are sent to an unknown model. If it cannot read them, its server refuses the request once, and the runner
# remembers that. No images are sent to families of models that are known to read only text.


#: The beginnings of the names, in lower case, of models that read images.
_SEEING = regex(
    r"claude-(?!1|2|instant)|(chatgpt-)?gpt-4o|gpt-4\.[15]|gpt-4-(turbo|vision)|gpt-[5-9]|o[13](?!-mini|-preview)\b|o4\b"
    r"|gemini-(?!1\.0|pro$)|gemma-?3|llava|bakllava|moondream|minicpm-v|pixtral|mistral-small-?3|mistral-medium-?3"
    r"|llama-?4|llama-?3\.2-(11b|90b)?-?vision|granite[\d.]*-vision|qwen[\d.]*-?vl|internvl|grok-4|phi-4-multimodal"
)
#: Models whose names contain one of these parts cannot read images, even if `_SEEING` matches.
_BLIND = regex(r"audio|realtime|transcribe|tts|embedding|gemma-?3n?[:-](270m|1b)")
#: The providers whose models all read images.
_SEEING_PROVIDERS = frozenset({"claude_cli"})


#: The beginnings of the names of families that read only text, unless `_SEEING` matches.
_TEXT_ONLY = regex(
    r"gpt-3|gpt-4\b|gpt-oss|o1-|o3-mini|claude-[12]|claude-instant|gemini-1\.0|gemini-pro$|deepseek|llama-?[23]|codellama|mistral\b"
    r"|mistral-(7b|nemo|large|tiny)|mixtral|codestral|devstral|qwen|qwq|phi-?[123]|phi-?4|gemma|codegemma|command-r|starcoder"
    r"|kimi-k2\b|glm-4(?!.*v)|falcon|vicuna|tinyllama|smollm|nous-|hermes|wizard|yi-|granite|text-|embed"
)


def may_see(provider: str, model: str, own: Mapping[str, bool]) -> bool:
    """Return True if images are sent to this model: it can read images, or it is unknown."""
    plain = model.rpartition("/")[2]
    names = (f"{provider}/{model}", model, f"{provider}/{plain}", plain)
    if any(name in own for name in names) or provider == "demo":
        return sees(provider, model, own)
    unknown = _TEXT_ONLY.match(plain.lower()) is None and _BLIND.search(plain.lower()) is None
    return unknown or sees(provider, model, own)


def sees(provider: str, model: str, own: Mapping[str, bool]) -> bool:
    """Return whether a model is known to read images. `model` may have prefixes in the form that OpenRouter uses. `own`
    are the configured answers, by `model` or `provider/model`; they override the lists."""
    plain = model.rpartition("/")[2]
    for name in (f"{provider}/{model}", model, f"{provider}/{plain}", plain):
        if name in own:
            return own[name]
    name = plain.lower()
    return provider in _SEEING_PROVIDERS or (_SEEING.match(name) is not None and _BLIND.search(name) is None)


# -- calls within their windows ----------------------------------------------------------------------------------------


#: The minimum number of tokens for a reply. If the window leaves fewer tokens, the model is not called.
SMALLEST_REPLY = 256

#: The plausible range of a vendor's limit, in tokens; other numbers are ignored.
_LIMITS = range(512, 1 << 25)

#: The error texts that name the window after a prompt was refused: OpenAI and compatible servers, Anthropic, Google,
#: llama.cpp, xAI, Mistral, LM Studio and our own Ollama provider.
_NUMBER = r"\(?(\d[\d,]{2,})"
_NAMED = tuple(
    regex(pattern, re.IGNORECASE)
    for pattern in (
        rf"maximum (?:allowed )?(?:context|prompt|input|model) (?:length|window|size)(?: is| of|:)? ?{_NUMBER}",
        rf"> ?{_NUMBER}(?: maximum)?",
        rf"maximum number of (?:input )?tokens allowed(?: is| of|:)? ?{_NUMBER}",
        rf"context (?:length|window|size|limit)(?: is| of|:)?(?: only)? ?{_NUMBER}",
        rf"{_NUMBER} maximum context length",
        rf"max_(?:seq|model)_len(?:gth)? ?{_NUMBER}",
        rf"\bholds {_NUMBER}",
    )
)


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """The limits of one model, in tokens."""

    #: The name as `provider/model`.
    name: str
    window: int
    #: The longest reply; None if it is not configured.
    reply: int | None


class ModelLimits:
    """The limits of all models. `windows` are the configured context windows, by model. If `windows` is None, no
    request counts as too long. `replies` are the configured maximum lengths of replies, by model. `reply` is the
    maximum for all other models. If `reply` is None, the caller of the runner sets the maximum."""

    def __init__(
        self,
        *,
        windows: Mapping[str, int] | None = None,
        replies: Mapping[str, int] | None = None,
        reply: int | None = None,
    ) -> None:
        self._windows = windows
        self._replies = dict(replies or {})
        self._reply = reply
        self._learnt: dict[str, Calibration] = {}

    def learn(self, calibrations: Iterable[Calibration]) -> None:
        """Load the stored calibrations."""
        self._learnt.update((calibration.model, calibration) for calibration in calibrations)

    def of(self, choice: Choice) -> ModelProfile:
        name = choice.model_name
        reply = own_of(choice.account.provider, choice.model, self._replies)
        return ModelProfile(name, self._window(choice), self._reply if reply is None else reply)

    def longest_reply(self, choice: Choice, size: Measure) -> int:
        """Return the maximum number of tokens for a reply to a request of this size: half of the remaining window, but
        at most the length that is configured for this model. The other half is a reserve, because vendors count the
        requested reply as part of the window and the estimate of the prompt has errors. Raise `ProviderError` of kind
        `too_long` if fewer than `SMALLEST_REPLY` tokens remain."""
        window = self._window(choice)
        tokens = estimator_of(self._learnt.get(choice.model_name)).of(size) if self._windows is not None else 0
        room = (window - tokens) // 2
        if room < SMALLEST_REPLY:
            text = (
                f"the prompt needs about {tokens} tokens, but the context window of {choice.model} has only {window}, "
                "including the reply"
            )
            raise ProviderError(ProviderErrorKind.TOO_LONG, text)
        return min(room, own_of(choice.account.provider, choice.model, self._replies) or room)

    def _window(self, choice: Choice) -> int:
        if self._windows is None:
            return DEFAULT_WINDOW
        learnt = self._learnt.get(choice.model_name)
        return window_of(choice.account.provider, choice.model, self._windows, learnt.most if learnt else None)


def limit_in(error: ProviderError) -> int | None:
    """Return the window that a vendor's refusal of a prompt names; None if the error names no plausible window."""
    if error.kind is not ProviderErrorKind.TOO_LONG:
        return None
    found = (match for pattern in _NAMED if (match := pattern.search(error.what)))
    limits = (int(match[1].replace(",", "")) for match in found)
    return next((limit for limit in limits if limit in _LIMITS), None)


def note_counts(
    tx: Transaction, counted: Sequence[tuple[str, Measure, int]], limits: Sequence[tuple[str, int]], now: int
) -> None:
    """Store the `counted` and `limits` of a run's trail, in the commit that stores the receipts of the run."""
    for model, measure, tokens in counted:
        known = tx.calibrations.get(model)
        learnt = learn(known, model, measure, tokens)
        if learnt != known:
            tx.calibrations.put(learnt, now)
    for model, limit in limits:
        known = tx.calibrations.get(model) or Calibration(model, (), 0)
        if known.most != limit:
            tx.calibrations.put(replace(known, most=limit), now)
