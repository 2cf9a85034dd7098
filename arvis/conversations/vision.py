"""Decides if a model can read images: by the configuration, else by its name.

An unknown model is sent images: if it cannot read them, its server refuses once, and that is remembered. Only
families that are known to read text alone are not sent any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: By the beginning of a name in small letters.
_SEEING = re.compile(
    r"claude-(?!1|2|instant)|(chatgpt-)?gpt-4o|gpt-4\.[15]|gpt-4-(turbo|vision)|gpt-[5-9]|o[13](?!-mini|-preview)\b|o4\b"
    r"|gemini-(?!1\.0|pro$)|gemma-?3|llava|bakllava|moondream|minicpm-v|pixtral|mistral-small-?3|mistral-medium-?3"
    r"|llama-?4|llama-?3\.2-(11b|90b)?-?vision|granite[\d.]*-vision|qwen[\d.]*-?vl|internvl|grok-4|phi-4-multimodal"
)
#: With these only deaf and blind relatives begin like that.
_BLIND = re.compile(r"audio|realtime|transcribe|tts|embedding|gemma-?3n?[:-](270m|1b)")
#: All that their vendor has to offer sees.
_SEEING_PROVIDERS = frozenset({"claude_cli"})


#: Families that read text only, unless a name above says otherwise.
_TEXT_ONLY = re.compile(
    r"gpt-3|gpt-4\b|gpt-oss|o1-|o3-mini|claude-[12]|claude-instant|gemini-1\.0|gemini-pro$|deepseek|llama-?[23]|codellama|mistral\b"
    r"|mistral-(7b|nemo|large|tiny)|mixtral|codestral|devstral|qwen|qwq|phi-?[123]|phi-?4|gemma|codegemma|command-r|starcoder"
    r"|kimi-k2\b|glm-4(?!.*v)|falcon|vicuna|tinyllama|smollm|nous-|hermes|wizard|yi-|granite|text-|embed"
)


def may_see(provider: str, model: str, own: Mapping[str, bool]) -> bool:
    """Return whether to send images to a model: it can read them, or is unknown."""
    plain = model.rpartition("/")[2]
    names = (f"{provider}/{model}", model, f"{provider}/{plain}", plain)
    if any(name in own for name in names) or provider == "demo":
        return sees(provider, model, own)
    unknown = _TEXT_ONLY.match(plain.lower()) is None and _BLIND.search(plain.lower()) is None
    return unknown or sees(provider, model, own)


def sees(provider: str, model: str, own: Mapping[str, bool]) -> bool:
    """`model` may carry prefixes, as OpenRouter writes them. `own` are those of the configuration, by `model` or
    `provider/model`."""
    plain = model.rpartition("/")[2]
    for name in (f"{provider}/{model}", model, f"{provider}/{plain}", plain):
        if name in own:
            return own[name]
    name = plain.lower()
    return provider in _SEEING_PROVIDERS or (_SEEING.match(name) is not None and _BLIND.search(name) is None)
