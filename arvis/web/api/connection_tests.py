"""Tests over HTTP of stored model accounts, and of accounts and bots that are only entered in a form.

The credentials in a form are sent only to their vendor or platform, and are not stored.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from arvis.bots.service import BotService
from arvis.domain.errors import ProviderErrorKind
from arvis.domain.runs import RunResult
from arvis.llm.accounts import AccountService, Trial
from arvis.ports.choices import Choices
from arvis.web.api.accounts import NAMES, WRITTEN, name_of
from arvis.web.api.accounts import written as account_written
from arvis.web.api.bots import FINDINGS, NEW_BOT, PLATFORM
from arvis.web.api.bots import written as bot_written
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.identity import OWN
from arvis.web.http.requests import unusable
from arvis.web.http.schema import BOOLEAN, INTEGER, NUMBER, STRING, object_schema, one_of, optional

_KINDS = (*ProviderErrorKind, "other")
_PER = 1_000_000
_UNNAMED = "main"

NEW_TRIAL = object_schema({"name": STRING, **WRITTEN}, required=("provider",))
TRIAL = object_schema(
    {
        "ok": BOOLEAN,
        "provider": {**optional(STRING), "description": "null: a stored account that did not answer."},
        "model": STRING,
        "durationMs": INTEGER,
        "error": optional(STRING),
        "fix": optional(STRING),
        "kind": {**optional(one_of(_KINDS)), "description": "The kind of failure; null: it answered."},
        "costUsd": {
            **optional(NUMBER),
            "description": "The cost of this test; null: no price or token count is known.",
        },
    }
)
BOT_TRIAL = {**object_schema(NEW_BOT["properties"], required=("platform",)), "description": "The fields of a new bot."}


class ConnectionTestRoutes:
    def __init__(self, *, accounts: AccountService, bots: BotService, choices: Choices) -> None:
        self._accounts = accounts
        self._bots = bots
        self._choices = choices

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/api/accounts/test",
                "Test an account that is not stored",
                OWN,
                self._account,
                {200: TRIAL},
                body=NEW_TRIAL,
            ),
            Endpoint(
                "POST",
                "/api/accounts/{account}/test",
                "Test an account with a one-word request",
                OWN,
                self._kept_account,
                {200: TRIAL},
                names=NAMES,
            ),
            Endpoint(
                "POST",
                "/api/bots/test",
                "Test a bot that is not stored",
                OWN,
                self._bot,
                {200: FINDINGS},
                body=BOT_TRIAL,
            ),
        ]

    async def _account(self, call: Call) -> Response:
        fields = await call.fields()
        provider = fields.required_text("provider")
        trial = await self._accounts.try_new(account_written(fields))
        return answer(self._view(trial, provider))

    async def _kept_account(self, call: Call) -> Response:
        trial = await self._accounts.try_out(name_of(call))
        return answer(self._view(trial, trial.result.provider if trial.result is not None else None))

    async def _bot(self, call: Call) -> Response:
        fields = await call.fields()
        platform, name = fields.required_text("platform"), fields.label("name", 64) or _UNNAMED
        if not PLATFORM.fullmatch(platform):
            raise unusable("platform", "must be 1 to 32 lower-case letters, digits, - and _")
        found = await self._bots.check_new(platform, name, bot_written(fields))
        items = [{"level": one.level, "text": one.text, "fix": one.fix or None} for one in found]
        return answer({"findings": items})

    def _view(self, trial: Trial, provider: str | None) -> dict[str, Any]:
        return {
            "ok": trial.ok,
            "provider": provider,
            "model": trial.model,
            "durationMs": trial.duration_ms,
            "error": trial.error or None,
            "fix": trial.fix or None,
            "kind": trial.kind or None,
            "costUsd": None if trial.result is None else self._cost(provider or "", trial.result, trial.model),
        }

    def _cost(self, provider: str, result: RunResult, model: str) -> float | None:
        price = self._choices.price(provider, model)
        if price is None or result.input_tokens is None or result.output_tokens is None:
            return None
        return (result.input_tokens * price.input + result.output_tokens * price.output) / _PER
