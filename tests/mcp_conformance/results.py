"""The expected results of the conformance suite, and the page of the documentation that lists them."""

from __future__ import annotations

from collections.abc import Mapping

from tests.acceptance.daemon import ROOT

#: The revision of the protocol whose scenarios are played, and the version of the suite.
REVISION = "2026-07-28"
PAGE = ROOT / "docs" / "reference" / "mcp-conformance.md"

_FIXTURE = "it needs the suite's own tools, which a server under test must offer; Arvis offers only its own"
_RESOURCE = "it needs the suite's own resources; Arvis offers only its own"
_PROMPT = "it needs the suite's own prompts; Arvis offers only its own"
_ASKS_NOTHING = "Arvis asks the client nothing as a server, and the scenario needs the suite's own tools"

#: The reason why each scenario does not pass, by leg and scenario; empty if it passes.
REASONS: Mapping[str, Mapping[str, str]] = {
    "server": {
        "server-stateless": "four of its checks need the suite's own tools; all others pass",
        "completion-complete": "Arvis completes the arguments of its own prompt and template; the scenario needs the suite's own prompt",
        "tools-list": "",
        "tools-call-simple-text": _FIXTURE,
        "tools-call-image": _FIXTURE,
        "tools-call-audio": _FIXTURE,
        "tools-call-embedded-resource": _FIXTURE,
        "tools-call-mixed-content": _FIXTURE,
        "tools-call-error": _FIXTURE,
        "tools-call-with-progress": _FIXTURE,
        "server-sse-multiple-streams": "",
        "resources-list": "",
        "resources-read-text": _RESOURCE,
        "resources-read-binary": _RESOURCE,
        "resources-templates-read": _RESOURCE,
        "sep-2164-resource-not-found": "",
        "prompts-list": "",
        "prompts-get-simple": _PROMPT,
        "prompts-get-with-args": _PROMPT,
        "prompts-get-embedded-resource": _PROMPT,
        "prompts-get-with-image": _PROMPT,
        "dns-rebinding-protection": "",
        "caching": "",
        "input-required-result-basic-elicitation": _ASKS_NOTHING,
        "input-required-result-basic-sampling": _ASKS_NOTHING,
        "input-required-result-basic-list-roots": _ASKS_NOTHING,
        "input-required-result-request-state": _ASKS_NOTHING,
        "input-required-result-multiple-input-requests": _ASKS_NOTHING,
        "input-required-result-multi-round": _ASKS_NOTHING,
        "input-required-result-missing-input-response": "",
        "input-required-result-non-tool-request": _ASKS_NOTHING,
        "input-required-result-result-type": _ASKS_NOTHING,
        "input-required-result-unsupported-methods": "",
        "input-required-result-tampered-state": _ASKS_NOTHING,
        "input-required-result-capability-check": _ASKS_NOTHING,
        "input-required-result-ignore-extra-params": "",
        "input-required-result-validate-input": "",
    },
    "client": dict.fromkeys(
        (
            "tools_call",
            "request-metadata",
            "auth/metadata-default",
            "auth/metadata-var1",
            "auth/metadata-var2",
            "auth/metadata-var3",
            "auth/basic-cimd",
            "auth/scope-from-www-authenticate",
            "auth/scope-from-scopes-supported",
            "auth/scope-omitted-when-undefined",
            "auth/scope-step-up",
            "auth/scope-retry-limit",
            "auth/token-endpoint-auth-basic",
            "auth/token-endpoint-auth-post",
            "auth/token-endpoint-auth-none",
            "auth/pre-registration",
            "auth/resource-mismatch",
            "auth/offline-access-scope",
            "auth/offline-access-not-supported",
            "auth/authorization-server-migration",
            "auth/iss-supported",
            "auth/iss-not-advertised",
            "auth/iss-supported-missing",
            "auth/iss-wrong-issuer",
            "auth/iss-unexpected",
            "auth/iss-normalized",
            "auth/metadata-issuer-mismatch",
            "sep-2322-client-request-state",
            "http-standard-headers",
            "http-custom-headers",
            "http-invalid-tool-headers",
            "json-schema-ref-no-deref",
        ),
        "",
    ),
}

_HEAD = """# Conformance of the Model Context Protocol

The public package `@modelcontextprotocol/conformance` plays the scenarios that an implementation of the revision
{revision} must pass. Arvis passes {server} of {servers} as a server and {client} of {clients} as a client. The client of the tests plays a person
who logs in at most three times. `python -m tests.mcp_conformance` in a checkout runs the scenarios again, and fails if
a result differs from this page. To install the package, run `npm ci` in `tests/mcp_conformance`.
"""


def page_of() -> str:
    """Return the page of the documentation."""
    counts = {leg: (sum(not why for why in known.values()), len(known)) for leg, known in REASONS.items()}
    head = _HEAD.format(
        revision=REVISION,
        server=counts["server"][0],
        servers=counts["server"][1],
        client=counts["client"][0],
        clients=counts["client"][1],
    )
    tables = [_table(leg, known) for leg, known in REASONS.items()]
    return "\n".join([head, *tables])


def _table(leg: str, known: Mapping[str, str]) -> str:
    rows = [f"| `{name}` | {f'does not pass: {why}' if why else 'passes'} |" for name, why in known.items()]
    return "\n".join([f"## Arvis as a {leg}", "", "| scenario | result |", "|---|---|", *rows, ""])
