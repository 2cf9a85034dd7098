"""The tool `web_search` with the real adapters and a real HTTP client, against servers that answer like each service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr

from arvis.app.search import SearchPool
from arvis.config.search import KeyedSearch, OwnSearch, Search, WikiSearch, with_environment
from arvis.domain.accounts import Variable
from arvis.domain.agents import Agent
from arvis.domain.errors import ToolError
from arvis.domain.tools import Source
from arvis.net.client import open_http_client
from arvis.ports.store import Store
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.process.secrets import SealedBox
from arvis.store.open import Database
from arvis.testing.clock import SteppedClock
from arvis.tools import web_search
from arvis.web_search import exchange
from tests.conformance.databases import NOW, opened
from tests.flows.search_kit import BRAVE, EXA, MEDIAWIKI, SEARXNG, TAVILY, Service, answer, service

FORMATS: Mapping[str, Any] = {"brave": BRAVE, "tavily": TAVILY, "exa": EXA, "searxng": SEARXNG, "mediawiki": MEDIAWIKI}
KEY = "key-of-the-tests-0123456789"


@dataclass
class Scene:
    """The tool with a configuration that a test can change."""

    stack: AsyncExitStack
    store: Store
    box: SealedBox
    clock: SteppedClock
    search: Search = field(default_factory=Search)
    cited: list[Source] = field(default_factory=list)
    _tool: Tool | None = None

    async def serve(self, name: str, *answers: bytes | None) -> Service:
        """Start a server for a provider and configure it with this address and a key."""
        server = await self.stack.enter_async_context(service(*answers))
        section: Any = {"searxng": OwnSearch, "mediawiki": WikiSearch}.get(name, KeyedSearch)
        more = {"api_key": SecretStr(KEY)} if section is KeyedSearch else {}
        path = "/w/api.php" if name == "mediawiki" else ""
        made = section(address=f"{server.url}{path}", **more)
        self.search = self.search.model_copy(update={name: made})
        return server

    async def ask(self, query: str = "moths", **more: Any) -> str:
        if self._tool is None:
            http = await self.stack.enter_async_context(open_http_client())
            pool = SearchPool(
                settings=lambda: self.search, store=self.store, secrets=self.box, http=http, clock=self.clock
            )
            absent = cast("ToolServices", None)
            parts: Any = dict.fromkeys(("fetcher", "http", "sandbox", "secrets", "reader"), absent)
            self._tool = web_search.create(ToolServices(store=self.store, clock=self.clock, search=pool, **parts))
        caller = Caller(
            Agent("a", "helper", "Helper"), None, "c", "e", None, "e-1-1", Path("x"), "UTC", cite=self.cited.append
        )
        return await self._tool.call({"query": query, **more}, caller)

    def only(self, *names: str) -> None:
        self.search = self.search.model_copy(update={"providers": names})


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    box = SealedBox(file=tmp_path / "key", given=None, tell=lambda _: None)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(opened(Database(tmp_path / "arvis.db", None, tmp_path)))
        yield Scene(stack, store, box, SteppedClock())


# -- each service ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
async def test_results_have_title_address_snippet_and_date(scene: Scene, name: str) -> None:
    await scene.serve(name, answer(FORMATS[name]))
    scene.only(name)
    text = await scene.ask()
    first = (
        "https://wiki.example/wiki/Lantern_moth_%26_others" if name == "mediawiki" else "https://moths.example/lantern"
    )
    place = "mediawiki, only Example Wiki" if name == "mediawiki" else name
    head = f"Results of {place}:\n1. Lantern moth & others (2026-05-03)\n   {first}\n   The lantern moth lives in upland meadows.\n2. Moth"
    assert text.startswith(head)
    assert text.endswith("About moths.")
    assert scene.cited[0] == Source(first, "Lantern moth & others")
    assert len(scene.cited) == 2


REQUESTS: Mapping[str, tuple[str, str, Mapping[str, str], Mapping[str, str] | None, Any]] = {
    "brave": (
        "GET", "/res/v1/web/search",
        {"q": "site:docs.example moths", "count": "3", "freshness": "pw", "search_lang": "pt-br", "text_decorations": "false", "result_filter": "web"},
        {"x-subscription-token": KEY}, None,
    ),
    "tavily": (
        "POST", "/search", {}, {"authorization": f"Bearer {KEY}", "content-type": "application/json"},
        {"query": "moths", "max_results": 3, "search_depth": "basic", "time_range": "week", "include_domains": ["docs.example"]},
    ),
    "exa": (
        "POST", "/search", {}, {"x-api-key": KEY, "content-type": "application/json"},
        {"query": "moths", "numResults": 3, "type": "auto", "contents": {"highlights": True}, "includeDomains": ["docs.example"], "startPublishedDate": "2027-01-08T08:00:00.000Z"},
    ),
    "searxng": (
        "GET", "/search", {"q": "site:docs.example moths", "format": "json", "time_range": "week", "language": "pt-BR"}, {}, None,
    ),
    "mediawiki": (
        "GET", "/w/api.php",
        {"action": "query", "format": "json", "formatversion": "2", "list": "search", "srsearch": "moths", "srlimit": "3", "srprop": "snippet|timestamp", "meta": "siteinfo", "siprop": "general"},
        {}, None,
    ),
}  # fmt: skip
IGNORED = {"tavily": "language", "exa": "language", "mediawiki": "freshness, site, language"}


@pytest.mark.parametrize("name", REQUESTS)
async def test_requests_have_the_form_of_the_service(scene: Scene, name: str) -> None:
    server = await scene.serve(name, answer(FORMATS[name]))
    scene.only(name)
    text = await scene.ask(count=3, freshness="week", site="docs.example", language="pt-BR")
    method, path, query, headers, body = REQUESTS[name]
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.query, asked.body) == (method, path, query, body)
    assert headers is not None
    assert headers.items() <= asked.headers.items()
    assert asked.headers["user-agent"].startswith("Arvis")
    ignored = IGNORED.get(name)
    assert (f"{name} cannot apply: {ignored}." in text) == (ignored is not None)


@pytest.mark.parametrize(
    ("language", "sent"), [("de", "de"), ("de-AT", "de"), ("ja", "jp"), ("zh-TW", "zh-hant"), ("eo", None), ("", None)]
)
async def test_brave_gets_its_own_codes_of_languages(scene: Scene, language: str, sent: str | None) -> None:
    server = await scene.serve("brave", answer(BRAVE))
    text = await scene.ask(language=language)
    assert server.asked[0].query.get("search_lang") == sent
    assert ("cannot apply: language" in text) == (language == "eo")


async def test_brave_gets_at_most_fifty_words(scene: Scene) -> None:
    server = await scene.serve("brave", answer(BRAVE))
    await scene.ask("ab " * 100)
    assert server.asked[0].query["q"] == " ".join(["ab"] * 50)


async def test_the_language_selects_the_wiki(scene: Scene) -> None:
    server = await scene.serve("mediawiki", answer(MEDIAWIKI))
    address = f"{server.url}/{{language}}/api.php"
    scene.search = Search(mediawiki=WikiSearch(address=address))
    for language, path in [("de-CH", "/de/api.php"), ("", "/en/api.php"), ("x-y", "/en/api.php")]:
        text = await scene.ask(language=language)
        assert server.asked[-1].path == path
        assert "cannot apply" not in text


# -- wrong answers -----------------------------------------------------------------------------------------------------

FAULTS: Mapping[str, tuple[bytes, str]] = {
    "html": (answer("<html>Sign in to the hotel network</html>"), "not a JSON object (it looks like a web page)"),
    "empty": (answer(b""), "not a JSON object (it is empty)"),
    "list": (answer([]), "not a JSON object"),
    "deep": (answer(b"[" * 100_000), "not a JSON object"),
    "huge": (answer(b'{"a": "' + b"x" * 2_000_001), "is larger than allowed"),
    "nonsense": (b"nonsense\r\n\r\n", "broke"),
    "redirect": (answer("", 302, {"Location": "http://127.0.0.1/"}), "not in the expected form (status 302)"),
    "wrong key": (answer({"error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "status": 422}}, 422), "refused the key (status 422)"),
    "no key": (answer({"detail": {"error": "Unauthorized"}}, 401), "refused the key (status 401)"),
    "no credit": (answer({"error": "No credits", "tag": "NO_MORE_CREDITS"}, 402), "quota of the plan is used up (status 402)"),
    "plan": (answer({"detail": {"error": "limit"}}, 432), "quota of the plan is used up (status 432)"),
    "quota": (answer({"error": {"code": "QUOTA_LIMITED"}}, 429), "quota of the plan is used up (status 429)"),
    "bad request": (answer({"error": "q"}, 400), "refused the query (status 400)"),
    "out of order": (answer("<h1>Bad gateway</h1>", 502), "the service does not work at the moment (status 502)"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", ["brave", "exa"])
async def test_a_wrong_answer_is_explained(scene: Scene, name: str, fault: str) -> None:
    wrong, reason = FAULTS[fault]
    await scene.serve(name, wrong)
    scene.only(name)
    with pytest.raises(ToolError) as failed:
        await scene.ask()
    assert failed.value.what.startswith(f"The search failed: {name}: ")
    assert reason in failed.value.what
    assert KEY not in f"{failed.value.what} {failed.value.fix}"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("found", ["x", {"a": 1}, 5])
async def test_a_list_of_another_type_is_a_wrong_answer(scene: Scene, name: str, found: Any) -> None:
    general = MEDIAWIKI["query"]["general"]  # type: ignore[index]
    body = {"web": {"results": found}, "results": found, "query": {"search": found, "general": general}}
    await scene.serve(name, answer(body))
    scene.only(name)
    with pytest.raises(ToolError, match="has no list"):
        await scene.ask()


@pytest.mark.parametrize("name", FORMATS)
async def test_results_that_cannot_be_used_are_left_out(scene: Scene, name: str) -> None:
    odd: list[Any] = [None, 1, "x", {}, {"url": 5, "title": ["a"]}, {"url": "javascript:alert(1)", "title": "a"}]
    odd += [
        {"url": "http://[::1", "title": "b"},
        {"url": "https://a.example/ b", "title": "c"},
        {"url": "/relative", "title": "d"},
    ]
    odd += [{"url": f"https://a.example/{'x' * 2000}"}, {"url": "https://a.example/\u202e"}]
    general = MEDIAWIKI["query"]["general"]  # type: ignore[index]
    listed = [
        each
        for each in odd
        if not (name == "mediawiki" and isinstance(each, dict) and isinstance(each.get("title"), str))
    ]
    body = {"web": {"results": listed}, "results": listed, "query": {"search": listed, "general": general}}
    await scene.serve(name, answer(body))
    scene.only(name)
    assert "found nothing for 'moths'" in await scene.ask()
    assert scene.cited == []


async def test_texts_of_results_are_bounded_and_have_no_markup(scene: Scene) -> None:
    long = {
        "title": "a\0<b>b</b>\ud800 " + "t" * 5_000,
        "url": "https://a.example/",
        "description": "<script>x</script> " + "&lt;b&gt; " * 5_000,
        "page_age": "yesterday",
    }
    twice = {"web": {"results": [long, long, {"url": "https://b.example/"}]}}
    await scene.serve("brave", answer(twice))
    text = await scene.ask()
    assert len(text) < 1_200
    assert "\0" not in text
    assert "<script>" not in text
    assert text.count("https://a.example/") == 1
    assert "2. (no title)\n   https://b.example/" in text


async def test_not_more_results_than_asked_for(scene: Scene) -> None:
    many = {"results": [{"url": f"https://a.example/{n}", "title": str(n)} for n in range(100)]}
    await scene.serve("searxng", answer(many))
    text = await scene.ask(count=10)
    assert "10. 9" in text
    assert "11." not in text


async def test_a_slow_service_is_given_up(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_TIMEOUT", 0.2)
    await scene.serve("brave", None)
    await scene.serve("mediawiki", answer(MEDIAWIKI))
    text = await scene.ask()
    assert text.startswith("Results of mediawiki")
    assert "Not answered by brave: 127.0.0.1" in text
    assert "took too long to answer" in text


async def test_searxng_without_json_says_what_to_change(scene: Scene) -> None:
    await scene.serve("searxng", answer("<h1>403 Forbidden</h1>", 403))
    scene.only("searxng")
    with pytest.raises(ToolError, match=r"add `json` to `search\.formats`"):
        await scene.ask()


async def test_searxng_whose_engines_are_silent_has_not_found_nothing(scene: Scene) -> None:
    silent = {"results": [], "unresponsive_engines": [["brave", "timeout"], ["bing", "CAPTCHA"]]}
    await scene.serve("searxng", answer(silent))
    scene.only("searxng")
    with pytest.raises(ToolError, match="2 engines of the server did not answer"):
        await scene.ask()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"error": {"code": "ratelimited", "info": "x"}}, "the wiki allows no further search now"),
        ({"error": {"code": "srsearch-disabled"}}, "the wiki refused the query"),
        ({"error": "x"}, "the wiki refused the query"),
        ({"query": {"search": []}}, "the answer does not describe the wiki"),
        ({"query": 5}, "the answer does not describe the wiki"),
    ],
)
async def test_a_wiki_that_refuses_is_explained(scene: Scene, body: Any, reason: str) -> None:
    await scene.serve("mediawiki", answer(body))
    with pytest.raises(ToolError, match=reason):
        await scene.ask()


# -- order, limits and keys --------------------------------------------------------------------------------------------


async def test_the_next_provider_answers_if_one_fails(scene: Scene) -> None:
    brave = await scene.serve("brave", answer({}, 401))
    tavily = await scene.serve("tavily", answer(TAVILY))
    wiki = await scene.serve("mediawiki", answer(MEDIAWIKI))
    text = await scene.ask()
    assert text.startswith("Results of tavily:")
    assert text.endswith("Not answered by brave: the service refused the key (status 401).")
    await scene.ask("again")
    assert (len(brave.asked), len(tavily.asked), len(wiki.asked)) == (1, 2, 0)
    await scene.clock.sleep(61)
    await scene.ask("later")
    assert len(brave.asked) == 2


async def test_a_failed_provider_is_asked_if_no_other_answers(scene: Scene) -> None:
    brave = await scene.serve("brave", answer("", 502), answer(BRAVE))
    await scene.serve("mediawiki", answer("", 503))
    with pytest.raises(ToolError, match=r"brave: .*502.*mediawiki: .*503"):
        await scene.ask()
    assert (await scene.ask()).startswith("Results of brave")
    assert len(brave.asked) == 2


async def test_the_order_of_the_configuration_applies_at_once(scene: Scene) -> None:
    await scene.serve("brave", answer(BRAVE))
    await scene.serve("exa", answer(EXA))
    assert (await scene.ask()).startswith("Results of brave")
    scene.only("exa", "brave")
    assert (await scene.ask()).startswith("Results of exa")
    scene.only("nowhere", "brave")
    text = await scene.ask()
    assert "Not answered by nowhere: there is no such provider (use brave, exa, mediawiki, searxng, tavily)" in text


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "90"}, "90 seconds"),
        ({"Retry-After": "Fri, 15 Jan 2027 10:00:00 GMT"}, "2 hours"),
        ({"X-RateLimit-Remaining": "0, 500", "X-RateLimit-Reset": "60, 90000"}, "60 seconds"),
        ({"X-RateLimit-Remaining": "1, 0", "X-RateLimit-Reset": "1, 7000"}, "117 minutes"),
        ({"Retry-After": "nonsense"}, "30 seconds"),
        ({"Retry-After": "9" * 9}, "24 hours"),
        ({}, "30 seconds"),
    ],
)
async def test_a_provider_with_a_limit_is_left_out_until_the_time_that_it_names(
    scene: Scene, headers: Mapping[str, str], wait: str
) -> None:
    brave = await scene.serve("brave", answer({}, 429, headers), answer(BRAVE))
    await scene.serve("mediawiki", answer(MEDIAWIKI))
    for _ in range(2):
        text = await scene.ask()
        assert text.startswith("Results of mediawiki")
        assert f"try again in {wait}" in text
    assert len(brave.asked) == 1
    await scene.clock.sleep(86_401)
    assert (await scene.ask()).startswith("Results of brave")


async def test_a_short_limit_is_waited_for(scene: Scene) -> None:
    limited = answer(
        {"error": {"code": "RATE_LIMITED"}}, 429, {"X-RateLimit-Remaining": "0, 5", "X-RateLimit-Reset": "1, 9"}
    )
    brave = await scene.serve("brave", limited, answer(BRAVE))
    assert (await scene.ask()).startswith("Results of brave")
    assert scene.clock.slept == [1.0]
    assert len(brave.asked) == 2


async def test_a_used_up_quota_is_not_asked_for_an_hour(scene: Scene) -> None:
    tavily = await scene.serve("tavily", answer({"detail": {"error": "plan"}}, 432))
    await scene.serve("mediawiki", answer(MEDIAWIKI))
    assert "quota" in await scene.ask()
    assert "try again in 60 minutes" in await scene.ask()
    assert len(tavily.asked) == 1


async def test_keys_come_from_the_configuration_the_environment_or_a_secret_variable(scene: Scene) -> None:
    brave = await scene.serve("brave", answer(BRAVE))
    bare = KeyedSearch(address=brave.url)
    scene.search = with_environment(Search(brave=bare), {"BRAVE_API_KEY": " from-environment "})
    await scene.ask()
    scene.search = Search(brave=bare, providers=("brave",))
    with pytest.raises(ToolError, match="brave: no key is set"):
        await scene.ask()
    await scene.store.write(lambda tx: tx.variables.put(Variable("BRAVE_API_KEY", "plain"), NOW))
    with pytest.raises(ToolError, match="brave: no key is set"):
        await scene.ask()
    sealed = scene.box.seal("from-variable")
    await scene.store.write(lambda tx: tx.variables.put(Variable("BRAVE_API_KEY", sealed, True), NOW))
    scene.search = Search(brave=bare)
    await scene.ask()
    assert [each.headers["x-subscription-token"] for each in brave.asked] == ["from-environment", "from-variable"]
    await scene.store.write(lambda tx: tx.variables.put(Variable("BRAVE_API_KEY", "v1.00.AA", True), NOW))
    scene.only("brave")
    with pytest.raises(ToolError, match="BRAVE_API_KEY can no longer be decrypted"):
        await scene.ask()


async def test_searxng_needs_an_address(scene: Scene) -> None:
    scene.only("searxng")
    with pytest.raises(ToolError, match="searxng: no address is set"):
        await scene.ask()


def test_keys_are_secrets_of_the_configuration() -> None:
    search = Search(exa=KeyedSearch(api_key=SecretStr("a-secret")))
    assert set(search.secrets()) == {"a-secret"}
    assert import_module("arvis.config.search").variable_of("my-engine") == "MY_ENGINE_API_KEY"


@pytest.mark.parametrize(
    "wrong",
    [{"query": ""}, {"query": "x", "count": 11}, {"query": "x", "site": "a b"}, {"query": "x", "language": "d e"}],
)
async def test_arguments_are_checked(scene: Scene, wrong: Mapping[str, Any]) -> None:
    with pytest.raises(ToolError, match="are not valid"):
        await scene.ask(**{"query": "x", **wrong})
