"""All kinds of misbehaviour of model servers, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.hostile import cases_calls, cases_http, cases_json, cases_text, claude_program, mutations
from tests.hostile.case import Case
from tests.hostile.formats import FORMATS
from tests.hostile.wire import Wire

#: The provider that runs a program instead of asking a server.
CLAUDE = "claude_cli"

PROVIDERS = (*FORMATS, CLAUDE)

CASES: Mapping[str, Case] = {
    **cases_http.CASES,
    **cases_json.CASES,
    **cases_text.CASES,
    **cases_calls.CASES,
    **mutations.CASES,
}


async def _by_the_program(_: Wire) -> None:
    raise AssertionError("no server is asked")


def cases_of(provider: str) -> Mapping[str, Case]:
    if provider == CLAUDE:
        return {name: Case(_by_the_program, tools=True) for name in claude_program.CASES}
    return CASES


#: Some cases of each kind for the short form: quick ones, and those that caused or could cause the worst failures.
SHORT = (
    *(
        "status-500",
        "status-401",
        "status-301",
        "error-key-echo",
        "error-endless",
        "hang-after-headers",
        "reset-middle",
    ),
    *("cut-in-character", "headers-endless", "gzip-bomb", "chunk-size-garbage", "json-deep", "json-many-keys"),
    *("json-lone-surrogates", "utf8-invalid", "usage-huge", "usage-text", "text-10mb", "stream-endless-text"),
    *("tags-100000", "calls-endless", "calls-same", "calls-10000", "call-arguments-5mb", "call-unknown"),
    *("answer-empty", "refusal", "two-answers", "comments-only", "mutation-0"),
)

SHORT_CLAUDE = ("orphan", "hang-and-fork", "complain", "cut-5")
