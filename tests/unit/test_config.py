"""Configuration: which values are read, which are refused, and that no error but `ConfigError` is raised."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from arvis.config import Config, load
from arvis.config.schema import ConfigFile
from arvis.config.search import order
from arvis.domain.errors import ConfigError
from tests.unit.config_kit import CANARY, read, refusal

SHIPPED = Path(__file__).parents[2] / "config.yaml"

pytestmark = pytest.mark.usefixtures("empty_folder")


# --- The file and the defaults ---


def test_without_a_file_the_built_in_defaults_are_used() -> None:
    config = load(None, None, {})

    assert config.config_file is None
    assert config.data_dir == Path.cwd() / "data"
    assert (config.web.host, config.web.port) == ("127.0.0.1", 5070)
    assert [agent.slug for agent in config.agents] == ["helper"]
    assert config.accounts == ()


def test_the_shipped_file_is_the_defaults_and_names_no_account() -> None:
    shipped, defaults = load(SHIPPED, None, {}), load(None, None, {})

    differing = {name for name in Config.model_fields if getattr(shipped, name) != getattr(defaults, name)}
    assert differing == {"config_file", "data_dir", "owners"}
    assert all(ids == () for ids in shipped.owners.values())
    assert shipped.accounts == ()
    assert shipped.bots == ()


def test_the_shipped_file_documents_every_key() -> None:
    written = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))

    assert set(written) == set(ConfigFile.model_fields)
    for name, value in written.items():
        section = ConfigFile.model_fields[name].annotation
        if isinstance(section, type) and hasattr(section, "model_fields"):
            assert set(value) == set(section.model_fields), name


def test_the_configuration_is_frozen() -> None:
    config = read("")

    with pytest.raises(ValidationError):
        config.web.port = 1


def test_durations_are_read_as_milliseconds() -> None:
    config = read("delivery: {answer_within: 90s, late_after: 15m}\napprovals: {deadline: 2d}\nbackup: {every: 1w}")

    assert (config.delivery.answer_within, config.delivery.late_after) == (90_000, 900_000)
    assert (config.approvals.deadline, config.backup.every) == (172_800_000, 604_800_000)


def test_owner_ids_may_be_written_without_quotes() -> None:
    assert read("owners: {telegram: [12345, '678']}").owners == {"telegram": ("12345", "678")}


def test_a_channel_of_an_agent_has_two_forms() -> None:
    (agent,) = read(
        "agents: [{slug: a, name: A, channels: ['discord:1:2', {platform: slack, channel: C1, permission: read_only}]}]"
    ).agents

    assert [(c.platform, c.channel, c.permission) for c in agent.channels] == [
        ("discord", "1:2", "full"),
        ("slack", "C1", "read_only"),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("queue: {lease_seconds: 100000}", "`queue.lease_seconds` must be at most 3600\n"),
        ("queue: {lease_seconds: 0}", "`queue.lease_seconds` must be at least 1\n"),
        ("speech: {buffer: {pause_seconds: .inf}}", "`speech.buffer.pause_seconds` must be at most 60\n"),
        ("speech: {minutes: -1}", "`speech.minutes` must be more than 0\n"),
    ],
)
def test_a_problem_names_the_limit_of_the_key_and_not_that_of_its_type(text: str, problem: str) -> None:
    assert problem in refusal(text)


def test_an_empty_section_means_its_defaults() -> None:
    assert read("web:\n# port: 1\n").web.port == 5070


# --- The data folder ---


def test_the_data_folder_is_relative_to_the_file_that_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "arvis.yaml").write_text("data_dir: here", encoding="utf-8")

    assert load(folder / "arvis.yaml", None, {}).data_dir == folder / "here"


def test_a_given_data_folder_wins_over_the_variable_and_the_variable_over_the_file(tmp_path: Path) -> None:
    Path("config.yaml").write_text("data_dir: here", encoding="utf-8")
    environ = {"ARVIS_DATA_DIR": "there"}

    assert load(None, None, environ).data_dir == tmp_path / "there"
    assert load(None, Path("given"), environ).data_dir == tmp_path / "given"


# --- The environment ---


def test_the_environment_wins_over_the_file() -> None:
    environ = {
        "ARVIS__WEB__PORT": "6000",
        "ARVIS__QUEUE__WORKERS": "3",
        "ARVIS__ROLES": "web, connectors,scheduler,workers",
        "ARVIS__OWNERS__TELEGRAM": "[1, 2]",
        "ARVIS__BUDGETS__DAILY_USD": "null",
    }

    config = read("web: {port: 1, allowed_hosts: [a]}", environ)

    assert (config.web.port, config.web.allowed_hosts, config.queue.workers) == (6000, ("a",), 3)
    assert config.owners == {"telegram": ("1", "2")}
    assert config.budgets.daily_usd is None


def test_a_number_for_a_password_stays_text() -> None:
    password = read("", {"ARVIS__WEB__PASSWORD": "0123"}).web.password

    assert password is not None
    assert password.get_secret_value() == "0123"


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("ARVIS__WEB__PORT", "sixty", ["`web.port`", "ARVIS__WEB__PORT", "whole number"]),
        ("ARVIS__WEB__PROT", "1", ["`web.prot`", "ARVIS__WEB__PROT", "Did you mean `web.port`?"]),
        ("ARVIS__WBE__PORT", "1", ["`wbe.port`", "ARVIS__WBE__PORT", "Did you mean `web`?"]),
        ("ARVIS__WEB", "{", ["`web`", "ARVIS__WEB", "mapping"]),
        ("ARVIS__ACCOUNTS", "[[[", ["`accounts`", "ARVIS__ACCOUNTS", "list"]),
    ],
)
def test_a_bad_variable_is_named(variable: str, value: str, expected: list[str]) -> None:
    text = refusal("web: {port: 1}", {variable: value})

    assert all(part in text for part in expected), text


# --- Errors --- ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("queue:\n  workers: 1", ["`queue.workers`", "line 2", "at least 2"]),
        ("queue:\n  wrokers: 4", ["`queue.wrokers`", "line 2", "Did you mean `queue.workers`?"]),
        ("\n\nqeue: {}", ["`qeue`", "line 3", "Did you mean `queue`?"]),
        ("web: {port: 70000}", ["`web.port`", "line 1", "at most 65535"]),
        ("web: {port: true}", ["`web.port`", "a number"]),
        ("web: {port: [1]}", ["`web.port`", "whole number"]),
        ("web: 5", ["`web`", "mapping"]),
        ("web: {allowed_hosts: 5}", ["`web.allowed_hosts`", "a list"]),
        ("web: {public_url: ftp://x}", ["`web.public_url`", "http://"]),
        ("web: {password: ''}", ["`web.password`", "empty"]),
        ("web: {api_keys: [{key: k, role: king}]}", ["`web.api_keys[0].role`", "'owner'"]),
        ("database: mysql://x", ["`database`", "postgresql://"]),
        ("database: postgresql://u:50%zz@h/x", ["`database`", "escaped", "%25"]),
        ("database: postgresql://u:p@w@h/x", ["`database`", "escaped", "%40"]),
        ("roles: [web]", ["`roles`", "SQLite"]),
        ("roles: [webb]", ["`roles`", "connectors"]),
        ("roles: []", ["`roles`"]),
        ("delivery: {answer_within: 60}", ["`delivery.answer_within`", "60m"]),
        ("delivery: {answer_within: 1:30}", ["`delivery.answer_within`", "unit"]),
        ("delivery: {answer_within: 5y}", ["`delivery.answer_within`", "unit"]),
        ("budgets: {daily_usd: -1}", ["`budgets.daily_usd`", "at least 0"]),
        ("budgets: {daily_usd: .nan}", ["`budgets.daily_usd`"]),
        ("scheduler: {timezone: Mars/Olympus}", ["`scheduler.timezone`", "Europe/Berlin"]),
        ("data_dir: no", ["`data_dir`", "quotes"]),
        ("speech: {stt: {engine: command}}", ["`speech.stt`", "command"]),
        ("speech: {buffer: {pause_seconds: 9}}", ["`speech.buffer`", "silence_seconds"]),
        ("agents: [{slug: Big Name, name: x}]", ["`agents[0].slug`", "lower-case"]),
        ("agents: [{slug: a, name: x}, {slug: a, name: y}]", ["`agents`", "slug a"]),
        ("agents: [{slug: drop, name: x}]", ["`agents[0].slug`", "Choose another slug."]),
        ("agents: [{slug: a, name: x, context_tokens: 2047}]", ["`agents[0].context_tokens`", "2048", "96000"]),
        ("agents: [{slug: a, name: x, timezone: Mars}]", ["`agents[0].timezone`", "Europe/Berlin"]),
        ("agents: [{slug: a, name: x, fallbacks: gpt-4o}]", ["`agents[0].fallbacks`", "provider/model"]),
        ("agents: [{slug: a, name: x, graph: dance}]", ["`agents[0].graph`", "not available", "Use agent,"]),
        ("agents: [{slug: boss, name: x, role: conductor}]", ["`agents[0].role`", "Choose another role"]),
        ("agents: [{slug: a, name: x, channels: ['web:x', hall]}]", ["`agents[0].channels[1].channel`"]),
        ("agents: [{slug: a}]", ["`agents[0].name`", "missing", "Add `agents[0].name`"]),
        ("agents:\n  - slug: a\n    name: A\n    promt: x", ["`agents[0].promt`", "line 4", "`agents[0].prompt`"]),
        ("web: {port: 1}\nweb: {port: 2}", ["`web`", "twice", "lines 1 and 2"]),
        ("bots: {telegram: {token: x}}", ["`bots.telegram`", "a list"]),
        ("bots: {telegram: [{name: a}, {name: a}]}", ["`bots.telegram`", "2 bots named a"]),
        ("bots: {telegram: [{name: 5}]}", ["`bots.telegram[0].name`", "text"]),
    ],
)
def test_a_complaint_names_the_key_the_line_and_the_fix(text: str, expected: list[str]) -> None:
    shown = refusal(text)

    assert all(part in shown for part in expected), shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("web: [1, 2}\nx: 1", ["line 1", "YAML"]),
        ("web:\n\tport: 1", ["line 2", "YAML"]),
        ("- 1", ["line 1", "keys with values"]),
        ("just words", ["line 1"]),
        ("a: &x 1\nb: *x", ["line 1", "anchors"]),
        ("a: " + "[" * 5000, ["line 1", "nested"]),
        ("? [a]\n: 1", ["line 1", "plain text"]),
        ("a: " + "1" * 5000, ["line 1", "quotes"]),
        ("a: " + "1:" * 5000 + "1", ["line 1", "quotes"]),
        ("a: \x00", ["YAML"]),
        ("x" * 1_000_001, ["1 MB"]),
    ],
)
def test_a_text_that_is_no_configuration_is_refused(text: str, expected: list[str]) -> None:
    shown = refusal(text)

    assert all(part in shown for part in expected), shown


def test_several_problems_are_reported_together() -> None:
    text = refusal("queue: {workers: 0}\nweb: {prot: 1}\nnonsense: 1")

    assert all(key in text for key in ("3 problems", "`queue.workers`", "`web.prot`", "`nonsense`"))


def test_a_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    for file in (tmp_path / "absent.yaml", tmp_path, binary):
        with pytest.raises(ConfigError) as caught:
            load(file, None, {})
        assert str(file) in caught.value.what
        assert caught.value.fix


def test_a_complaint_never_quotes_a_secret() -> None:
    text = refusal(
        f"web: {{password: [{CANARY}], api_keys: [{{key: {{a: {CANARY}}}}}]}}\ndatabase: mysql://{CANARY}\n"
        f"accounts: [{{name: a, provider: openai, api_key: [{CANARY}]}}]"
    )

    assert "`web.password`" in text
    assert CANARY not in text


# --- Access from the network --- ---


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "*"])
def test_a_host_open_to_others_needs_a_password_or_a_key(host: str) -> None:
    assert "`web.host`" in refusal(f"web: {{host: '{host}'}}")
    assert read(f"web: {{host: '{host}', password: long enough}}").web.host == host
    assert read(f"web: {{host: '{host}', api_keys: [long-and-different-0123456789]}}").web.host == host


@pytest.mark.parametrize(
    ("secret", "named"),
    [
        ("password: a", "`web.password`"),
        ("password: aaaaaaaaaaaaaaaaaaaa", "`web.password`"),
        ("api_keys: [abc]", "`web.api_keys[0]`"),
        ("api_keys: [long-and-different-0123456789, aaaaaaaaaaaaaaaaaaaaaaaaaaaaa]", "`web.api_keys[1]`"),
        ("password: long enough, api_keys: [abc]", "`web.api_keys[0]`"),
    ],
)
def test_what_protects_an_open_port_must_not_be_guessable(secret: str, named: str) -> None:
    text = refusal(f"web: {{host: 0.0.0.0, {secret}}}")
    assert named in text
    assert "can be guessed" in text
    assert "127.0.0.1" in text
    assert read(f"web: {{host: 127.0.0.1, {secret}}}").web.host == "127.0.0.1"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_a_loopback_host_needs_neither(host: str) -> None:
    assert read(f"web: {{host: '{host}'}}").web.host == host


@pytest.mark.parametrize(
    ("key", "least", "less"), [("session_idle_timeout", "30m", "29m"), ("session_max_age", "12h", "11h")]
)
def test_logins_last_for_a_while(key: str, least: str, less: str) -> None:
    assert getattr(read(f"web: {{{key}: {least}}}").web, key) in {1_800_000, 43_200_000}
    assert f"at least {least}" in refusal(f"web: {{{key}: {less}}}")


# --- Any text raises only ConfigError --- ---

_words = st.sampled_from(
    [*ConfigFile.model_fields, "port", "workers", "name", "provider", "token", "env:X", "file:y", ""]
)
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | _words | st.dates()
_trees: st.SearchStrategy[object] = st.deferred(
    lambda: _scalars | st.lists(_trees, max_size=3) | st.dictionaries(_words | st.integers(), _trees, max_size=4)
)
_variables = st.dictionaries(
    st.builds("ARVIS__{}".format, st.lists(_words, min_size=0, max_size=3).map("__".join).map(str.upper)),
    st.text(max_size=20) | st.sampled_from(["null", "{}", "[1]", '{"a": {}}', "[" * 2000]),
    max_size=3,
)
_every_case_in_one_folder = settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def _loads_or_complains(text: str, environ: Mapping[str, str]) -> None:
    Path("config.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
    with suppress(ConfigError):
        load(None, None, environ)


@_every_case_in_one_folder
@given(st.dictionaries(_words, _trees, max_size=5), _variables)
def test_any_tree_loads_or_complains(tree: object, environ: Mapping[str, str]) -> None:
    _loads_or_complains(yaml.safe_dump(tree, allow_unicode=True), environ)


@_every_case_in_one_folder
@given(st.text() | st.text(alphabet="-:[]{}#&*!|>'\"%@`, \n\tab01.", max_size=60))
def test_any_text_loads_or_complains(text: str) -> None:
    _loads_or_complains(text, {})


# --- Money ---


def test_prices_and_budgets_become_whole_millionths() -> None:
    config = read(
        "scheduler: {timezone: Europe/Berlin}\n"
        "budgets: {daily_usd: 0.1, per_turn_usd: null, unpaired_daily_turns: 0}\n"
        "model_prices: {openrouter/some/model: {input: 0.5, output: 1.5}, demo: {input: 1, output: 2, cached: 0, written: 3}}"
    )

    limits = config.budgets.limits(config.scheduler.timezone)
    assert (limits.daily, limits.per_turn, limits.unpaired_daily_turns, limits.zone) == (
        100_000,
        None,
        0,
        "Europe/Berlin",
    )
    assert {
        name: (price.input, price.output, price.cached, price.written) for name, price in config.model_prices.items()
    } == {
        "openrouter/some/model": (0.5, 1.5, None, None),
        "demo": (1, 2, 0, 3),
    }


def test_windows_are_tokens_by_model() -> None:
    config = read("context_windows: {custom/mine: 32768, gpt-4o: 64000}")

    assert config.context_windows == {"custom/mine": 32_768, "gpt-4o": 64_000}
    assert "`context_windows.gpt`" in refusal("context_windows: {gpt: 100}")
    assert "`context_windows.gpt`" in refusal("context_windows: {gpt: true}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model_prices: {gpt: {input: 1}}", ["`model_prices.gpt.output`", "missing"]),
        ("model_prices: {gpt: {input: -1, output: 1}}", ["`model_prices.gpt.input`", "at least 0"]),
        ("model_prices: {gpt: 5}", ["`model_prices.gpt`", "mapping"]),
        ("model_prices: {gpt: {input: 1, output: 1, cache: 1}}", ["`model_prices.gpt.cache`", "not a known key"]),
    ],
)
def test_a_price_that_cannot_be_used_is_named(text: str, expected: list[str]) -> None:
    said = refusal(text)

    assert all(part in said for part in expected), said


def test_the_environment_sets_what_search_providers_need() -> None:
    environ = {"BRAVE_API_KEY": CANARY, "EXA_API_KEY": "other", "SEARXNG_URL": "http://127.0.0.1:8080"}
    search = read("search: {exa: {api_key: written}}", environ).search
    assert (search.key("brave"), search.key("exa"), search.key("tavily")) == (CANARY, "written", None)
    assert (search.address("searxng"), search.address("brave")) == ("http://127.0.0.1:8080", None)
    assert order(search, frozenset({"tavily"})) == ("brave", "tavily", "exa", "searxng", "mediawiki")
    assert CANARY in read("", environ).secrets()
    assert CANARY not in repr(search)
    assert "must be an address" in refusal("search: {mediawiki: {address: nowhere}}")
