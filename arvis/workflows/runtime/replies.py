"""Read agents' replies: recognise empty replies and errors of a vendor, and extract a judge's verdict and the block
HAND_BACK."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.messaging import notices

#: Added to the instructions of an agent whose node demands a summary.
CONTRACT = """\
End your answer with this block. Fill it in, and write nothing after it:
HAND_BACK
Summary: the result in a few sentences
Artifact: the path of what you made, or none
Needs user input: yes or no
Suggested next action: what is to be done next"""
#: The prompt of the judge.
JUDGE = """\
Judge whether the result below meets these criteria. Answer with one line and nothing else: \
`APPROVED`, or `RETRY: ` followed by the reason.

Criteria:
{criteria}

Result:
{result}"""
#: The maximum characters of the summary of an answer that lacks the block. The summary is then the beginning of the
#: answer.
_LONGEST_SUMMARY = 500
#: A longer reply counts as an answer, even if it begins like an error.
_LONGEST_ERROR = 1_000

#: The search examines each line at most once, because the text may come from an attacker.
_MARKER = regex(r"^[ \t#*_`]*HAND_BACK[ \t\r*_`:]*$", re.MULTILINE)
_FIELD = regex(
    r"[ \t*_\-]*(?P<name>Summary|Artifact|Needs user input|Suggested next action)[ \t*_]*:[ \t*_]*(?P<text>.*)",
    re.IGNORECASE,
)
#: The beginnings of texts that vendors and their programs return instead of an answer.
_ERRORS = regex(
    r"""\s*(?:
        (?:API|LLM|Provider|Anthropic|OpenAI|Gemini|OpenRouter)\s+error\b
      | error\s*(?:code)?:?\s*[45]\d\d\b
      | \{\s*"(?:type"\s*:\s*"error"|error"\s*:)
      | (?:invalid|incorrect|missing)\ (?:x-)?api[\ -]key
      | (?:your\ )?credit\ balance\ is\ too\ low
      | (?:rate\ limit|quota)\ (?:was\ )?(?:reached|exceeded)
      | you\ (?:have\ )?exceeded\ your\ (?:current\ )?quota
      | (?:internal\ server\ error|service\ unavailable|bad\ gateway|gateway\ timeout|overloaded_error)\b
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_VERDICT = regex(r"^[ \t*_`\"]*(?P<word>APPROVED|RETRY)\b[\s*_`:–-]*(?P<why>.*)", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HandBack:
    """The block HAND_BACK of an answer."""

    summary: str
    artifact: str | None
    needs_user_input: bool
    next_action: str
    #: The answer without the block.
    result: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def error_in(text: str, agent: str) -> str | None:
    """Return an error if the reply is empty or is an error text of a vendor; None if it is an answer. `agent`: the name
    of the agent."""
    if not text.strip() or text.strip() == notices.no_answer(agent):
        return "The agent's answer is empty."
    if len(text) <= _LONGEST_ERROR and _ERRORS.match(text):
        return " ".join(text.split())
    return None


def handed_back(text: str) -> HandBack:
    """Read the block HAND_BACK of an answer. If the answer contains several, the last one counts."""
    marks = [*_MARKER.finditer(text)]
    result = text[: marks[-1].start()].strip() if marks else text.strip()
    fields = _fields(text[marks[-1].end() :]) if marks else {}
    artifact = fields.get("artifact", "")
    return HandBack(
        summary=fields.get("summary") or (result or text)[:_LONGEST_SUMMARY],
        artifact=None if artifact.casefold().strip(". ") in {"", "none", "n/a", "-"} else artifact,
        needs_user_input=fields.get("needs user input", "").casefold().startswith("yes"),
        next_action=fields.get("suggested next action", ""),
        result=result,
    )


def _fields(block: str) -> dict[str, str]:
    """Return the fields of the block by their names in lower case. A field ends at the line that begins the next
    field."""
    found = dict[str, list[str]]()
    lines = list[str]()
    for line in block.splitlines():
        if begun := _FIELD.match(line):
            lines = found[begun["name"].casefold()] = [begun["text"]]
        else:
            lines.append(line)
    return {name: "\n".join(text).strip() for name, text in found.items()}


def verdict_in(text: str) -> tuple[bool, str] | None:
    """Return whether the judge accepts the result, and the judge's reason. Return None if the reply contains no
    verdict."""
    found = _VERDICT.search(text)
    if found is None:
        return None
    return found["word"].casefold() == "approved", found["why"].strip()
