"""Tests over HTTP of stored model accounts, and of accounts and bots that are only entered in a form.

The credentials in a form are sent only to their vendor or platform, and are not stored.
"""

from __future__ import annotations

from typing import Annotated

from starlette.responses import Response

from arvis.bots.service import BotService
from arvis.domain.errors import ProviderErrorKind
from arvis.domain.runs import RunResult
from arvis.llm.accounts import AccountService, Trial
from arvis.ports.choices import Choices
from arvis.web.api.accounts import NAMES, TestedAccount, name_of
from arvis.web.api.bots import FindingsView, TestedBot
from arvis.web.http.endpoints import Call, Routes, answer, route
from arvis.web.http.identity import OWN
from arvis.web.http.models import About, View
from arvis.web.http.schema import one_of

_KINDS = (*ProviderErrorKind, "other")
_PER = 1_000_000
_UNNAMED = "main"


class AccountTestView(View):
    ok: bool
    provider: Annotated[str | None, About("null: a stored account was tested and did not answer.")]
    model: str
    duration_ms: int
    error: str | None
    fix: str | None
    kind: Annotated[Annotated[str, About(**one_of(_KINDS))] | None, About("The kind of failure; null: it answered.")]
    cost_usd: Annotated[float | None, About("The cost of this test; null: no price or token count is known.")]


class ConnectionTestRoutes(Routes):
    def __init__(self, *, accounts: AccountService, bots: BotService, choices: Choices) -> None:
        self._accounts = accounts
        self._bots = bots
        self._choices = choices

    @route(
        "POST",
        "/api/accounts/test",
        "Test an account that is not stored",
        OWN,
        {200: AccountTestView},
        body=TestedAccount,
    )
    async def _account(self, call: Call) -> Response:
        body = await call.read(TestedAccount)
        return answer(self._view(await self._accounts.try_new(body.written()), body.provider))

    @route(
        "POST",
        "/api/accounts/{account}/test",
        "Test an account with a one-word request",
        OWN,
        {200: AccountTestView},
        names=NAMES,
    )
    async def _kept_account(self, call: Call) -> Response:
        trial = await self._accounts.try_out(name_of(call))
        return answer(self._view(trial, trial.result.provider if trial.result is not None else None))

    @route("POST", "/api/bots/test", "Test a bot that is not stored", OWN, {200: FindingsView}, body=TestedBot)
    async def _bot(self, call: Call) -> Response:
        body = await call.read(TestedBot)
        found = await self._bots.check_new(body.platform, body.name or _UNNAMED, body.written())
        return answer(FindingsView.of(found))

    def _view(self, trial: Trial, provider: str | None) -> AccountTestView:
        return AccountTestView.showing(
            trial,
            provider=provider,
            error=trial.error or None,
            fix=trial.fix or None,
            kind=trial.kind or None,
            cost_usd=None if trial.result is None else self._cost(provider or "", trial.result, trial.model),
        )

    def _cost(self, provider: str, result: RunResult, model: str) -> float | None:
        price = self._choices.price(provider, model)
        if price is None or result.input_tokens is None or result.output_tokens is None:
            return None
        return (result.input_tokens * price.input + result.output_tokens * price.output) / _PER
