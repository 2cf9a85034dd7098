"""The section `mcp`: which values are read, and the errors for refused values."""

from __future__ import annotations

import pytest

from arvis.domain.tools import Risk
from tests.unit.config_kit import CANARY, read, refusal

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_servers_are_read_with_their_secrets() -> None:
    config = read(
        f"""
mcp:
  servers:
    - {{name: files, command: [server, --port, 5000], env: {{TOKEN: env:WEATHER, OTHER: {CANARY}}}, risk: exec}}
    - {{name: far-away, url: "https://tools.example/mcp", headers: {{Authorization: "Bearer {CANARY}2"}}, tools: [a, b]}}
""",
        {"WEATHER": "sunny-secret"},
    )

    files, far = config.mcp.servers
    assert files.command == ("server", "--port", "5000")
    assert files.env["TOKEN"].get_secret_value() == "sunny-secret"
    assert (files.risk, files.timeout_seconds, files.repeatable, files.trust_annotations) == (
        Risk.EXEC,
        60,
        False,
        False,
    )
    assert (far.risk, far.tools, far.command) == (Risk.WRITE, ("a", "b"), None)
    assert {"sunny-secret", CANARY, f"Bearer {CANARY}2"} <= config.secrets()
    assert CANARY not in repr(config)


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ("{name: a.b, command: [x]}", "`mcp.servers[0].name` must be lower-case letters, digits, - and _"),
        ("{name: A, command: [x]}", "`mcp.servers[0].name` must be lower-case letters, digits, - and _"),
        ("{command: [x]}", "`mcp.servers[0].name` is missing"),
        ("{name: a}", "`mcp.servers[0]` must have exactly one of `command` and `url`"),
        ("{name: a, command: [x], url: 'http://x/'}", "`mcp.servers[0]` must have exactly one of `command` and `url`"),
        ("{name: a, command: npx server}", "`mcp.servers[0].command` must be a list of the program and its arguments"),
        ("{name: a, command: []}", "`mcp.servers[0].command` must begin with the program to run"),
        ("{name: a, url: 'ws://x/'}", "`mcp.servers[0].url` must be an address that starts with http:// or https://"),
        ("{name: a, command: [x], headers: {A: b}}", "has `headers`, which work only with `url`"),
        ("{name: a, url: 'http://x/', local: true}", "has `local`, which works only with `command`"),
        ("{name: a, url: 'http://x/', env: {A: b}}", "has `env`, which works only with `command`"),
        ("{name: a, command: [x], env: {TOKEN: env:UNSET}}", "`mcp.servers[0].env.TOKEN` refers to the environment"),
        (
            "{name: a, command: [x], env: {A=B: c}}",
            "contains 'A=B', which is not a valid name of an environment variable",
        ),
        ("{name: a, url: 'http://x/', headers: {'a b': c}}", "contains 'a b', which is not a valid name of a header"),
        (
            f'{{name: a, url: "http://x/", headers: {{A: "{CANARY}\\r\\nB: c"}}}}',
            "an invalid character in the value of the header A",
        ),
        ("{name: a, command: [x], risk: huge}", "`mcp.servers[0].risk` must be one of"),
        ("{name: a, command: [x], timeout_seconds: 0}", "`mcp.servers[0].timeout_seconds` must be more than 0"),
        ("{name: a, command: [x], trust: true}", "`mcp.servers[0].trust` is not a known key"),
        ("{name: a, command: [x]}, {name: a, command: [y]}", "`mcp.servers` has 2 servers with the name a"),
    ],
)
def test_what_cannot_be_used_is_told(server: str, words: str) -> None:
    told = refusal(f"mcp: {{servers: [{server}]}}")
    assert words in told
    assert CANARY not in told
