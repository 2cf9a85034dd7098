"""Which models see pictures: what the user says, else what is known of their names.

A model that is wrongly said to see costs a refused call, one that is wrongly said not to see is told that there is a
picture. So whoever is not known does not see.
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


def sees(provider: str, model: str, own: Mapping[str, bool]) -> bool:
    """`model` may carry prefixes, as OpenRouter writes them. `own` are those of the configuration, by `model` or
    `provider/model`."""
    plain = model.rpartition("/")[2]
    for name in (f"{provider}/{model}", model, f"{provider}/{plain}", plain):
        if name in own:
            return own[name]
    name = plain.lower()
    return provider in _SEEING_PROVIDERS or (_SEEING.match(name) is not None and _BLIND.search(name) is None)
