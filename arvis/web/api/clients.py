"""Customers (`clients`) over HTTP: their data, channels, charges and payments. Operators may read; owners may write."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import date
from enum import StrEnum
from typing import TypeVar

from starlette.responses import Response

from arvis.domain.errors import Unprocessable
from arvis.domain.money import (
    MICROS,
    Charge,
    ChargeStatus,
    ChargeType,
    Client,
    ClientChannel,
    ClientPlan,
    ClientStatus,
    first_of_next_month,
    month_of,
    start_of_day,
)
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store
from arvis.services import billing
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import LABEL, NUMBER, OK, STRING, TIME, array, object_schema, one_of, optional, page_schema
from arvis.web.http.views import Json, page_view

# Requests and responses for customers and charges. Amounts are in US dollars with six decimal places.


E = TypeVar("E", bound=StrEnum)

#: The maximum amount in US dollars. It is larger than any real charge, but small enough to be converted exactly to
#: millionths of a dollar.
_MOST = 1_000_000_000
_MOST_FACTOR = 1000
_NOTES = 10_000
#: The types of charges that a person may enter. The daemon itself enters the charges for answers.
ENTERED = (ChargeType.ADJUSTMENT, ChargeType.PAYMENT, ChargeType.SUBSCRIPTION)

CHANNEL = object_schema({"platform": LABEL, "channel": LABEL})
_SET = {
    "name": LABEL,
    "plan": one_of(ClientPlan),
    "status": one_of(ClientStatus),
    "pricePerTaskUsd": NUMBER,
    "monthlyFeeUsd": NUMBER,
    "tokenFactor": {**NUMBER, "description": "The factor applied to the cost of models; 0: not charged."},
    "monthlyLimitUsd": {
        **optional(NUMBER),
        "description": "The monthly limit of model costs; null: the configured limit.",
    },
    "notes": STRING,
}
CLIENT = object_schema({"id": STRING, **_SET, "balanceUsd": NUMBER, "createdAt": TIME, "updatedAt": TIME})
CLIENT_DETAIL = object_schema({**CLIENT["properties"], "channels": array(CHANNEL)})
NEW_CLIENT = object_schema(_SET, required=("name",))
CHANGED_CLIENT = object_schema(_SET, required=())
CHARGE = object_schema(
    {
        "id": STRING,
        "type": one_of(ChargeType),
        "status": one_of(ChargeStatus),
        "amountUsd": NUMBER,
        "description": STRING,
        "messageId": optional(STRING),
        "executionId": optional(STRING),
        "createdAt": TIME,
    }
)
NEW_CHARGE = object_schema(
    {
        "type": one_of(ENTERED),
        "amountUsd": {**NUMBER, "description": "More than 0. An adjustment may be negative, which is a credit."},
        "description": STRING,
    },
    required=("type", "amountUsd"),
)
JUDGEMENT = object_schema({"status": one_of(ChargeStatus)})
MONTH = object_schema(
    {
        "month": STRING,
        "chargedUsd": NUMBER,
        "paidUsd": NUMBER,
        "balanceUsd": NUMBER,
        "items": array(CHARGE),
        "nextCursor": optional(STRING),
    }
)


def client_view(client: Client) -> Json:
    return {
        "id": client.id,
        "name": client.name,
        "plan": client.plan,
        "status": client.status,
        "pricePerTaskUsd": client.price_per_task / MICROS,
        "monthlyFeeUsd": client.monthly_fee / MICROS,
        "tokenFactor": client.token_factor_milli / 1000,
        "monthlyLimitUsd": None if client.monthly_limit is None else client.monthly_limit / MICROS,
        "notes": client.notes,
        "balanceUsd": client.balance / MICROS,
        "createdAt": client.created_at,
        "updatedAt": client.updated_at,
    }


def charge_view(charge: Charge) -> Json:
    return {
        "id": charge.id,
        "type": charge.type,
        "status": charge.status,
        "amountUsd": charge.amount / MICROS,
        "description": charge.description,
        "messageId": charge.message_id,
        "executionId": charge.execution_id,
        "createdAt": charge.created_at,
    }


def changed_client(known: Client, fields: Fields) -> Client:
    """Apply the fields of the body to the customer and keep all other fields."""
    return replace(
        known,
        name=fields.label("name") or known.name,
        plan=choice(fields, "plan", ClientPlan) or known.plan,
        status=choice(fields, "status", ClientStatus) or known.status,
        price_per_task=_micros(fields, "pricePerTaskUsd", known.price_per_task),
        monthly_fee=_micros(fields, "monthlyFeeUsd", known.monthly_fee),
        token_factor_milli=_factor(fields, known.token_factor_milli),
        monthly_limit=_monthly_limit(fields, known.monthly_limit),
        notes=_text(fields, "notes", known.notes),
    )


def entered_charge(fields: Fields) -> tuple[ChargeType, int, str]:
    """Return the type, the amount in micros (millionths of a US dollar) and the description of a charge that a person
    enters."""
    kind = choice(fields, "type", ChargeType)
    if kind not in ENTERED:
        raise unusable("type", "must be one of " + ", ".join(ENTERED))
    amount = _number(fields, "amountUsd")
    if amount is None:
        raise unusable("amountUsd", "is missing")
    micros = round(amount * MICROS)
    if micros == 0 or (micros < 0 and kind is not ChargeType.ADJUSTMENT):
        raise unusable("amountUsd", "must be more than 0 (an adjustment may be negative)")
    return kind, micros, _text(fields, "description", "")


def channel_of(fields: Fields) -> ClientChannel:
    platform, channel = fields.label("platform"), fields.label("channel")
    if platform is None or channel is None:
        raise unusable("platform" if platform is None else "channel", "is missing")
    return ClientChannel(platform, channel)


def choice(fields: Fields, name: str, kind: type[E]) -> E | None:
    text = fields.text(name)
    if text is None:
        return None
    if text not in {str(member) for member in kind}:
        raise unusable(name, "must be one of " + ", ".join(kind))
    return kind(text)


def _text(fields: Fields, name: str, known: str) -> str:
    text = fields.text(name)
    if text is not None and len(text) > _NOTES:
        raise unusable(name, f"must have at most {_NOTES} characters")
    return known if text is None else text


def _number(fields: Fields, name: str) -> float | None:
    value = fields.raw(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise unusable(name, "must be a number")
    if abs(value) > _MOST:
        raise unusable(name, f"must be between -{_MOST} and {_MOST}")
    return value


def _micros(fields: Fields, name: str, known: int) -> int:
    amount = _number(fields, name)
    if amount is not None and amount < 0:
        raise unusable(name, "must be a number from 0")
    return known if amount is None else round(amount * MICROS)


def _factor(fields: Fields, known: int) -> int:
    factor = _number(fields, "tokenFactor")
    if factor is None:
        return known
    if not 0 <= factor <= _MOST_FACTOR:
        raise unusable("tokenFactor", f"must be a number from 0 to {_MOST_FACTOR}")
    return round(factor * 1000)


def _monthly_limit(fields: Fields, known: int | None) -> int | None:
    """Return the monthly limit. Only this field has a meaning for `null`: the customer has no limit of their own."""
    if fields.has("monthlyLimitUsd") and fields.raw("monthlyLimitUsd") is None:
        return None
    return _micros(fields, "monthlyLimitUsd", 0) if fields.has("monthlyLimitUsd") else known


_ALL = "/api/clients"
_ONE = "/api/clients/{client}"


class ClientRoutes:
    """Routes of customers. Months begin and end in the time zone `zone`."""

    def __init__(self, *, insights: Insights, store: Store, gate: Authorizer, clock: Clock, zone: str) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock
        self._zone = zone

    def endpoints(self) -> list[Endpoint]:
        shown = {200: CLIENT_DETAIL}
        made = {201: CLIENT_DETAIL}
        listed = {200: page_schema(CLIENT)}
        return [
            Endpoint("GET", _ALL, "List customers, newest first", OPERATE, self._list, listed, query=PAGING),
            Endpoint("POST", _ALL, "Create a customer", OWN, self._add, made, body=NEW_CLIENT),
            Endpoint("GET", _ONE, "Show a customer with its channels", OPERATE, self._show, shown),
            Endpoint("PATCH", _ONE, "Change the fields in the body", OWN, self._change, shown, body=CHANGED_CLIENT),
            Endpoint("POST", f"{_ONE}/undo", "Restore the previous version", OWN, self._undo, shown),
            *self._channel_endpoints(),
            *self._charge_endpoints(),
        ]

    def _channel_endpoints(self) -> list[Endpoint]:
        path, place = f"{_ONE}/channels", {"platform": LABEL, "channel": LABEL}
        shown = {200: CLIENT_DETAIL}
        return [
            Endpoint("POST", path, "Assign a channel to a customer", OWN, self._bind, shown, body=CHANNEL),
            Endpoint("DELETE", path, "Remove a channel from a customer", OWN, self._unbind, shown, query=place),
        ]

    def _charge_endpoints(self) -> list[Endpoint]:
        path = f"{_ONE}/charges"
        listed, made = {200: page_schema(CHARGE)}, {201: CHARGE}
        month = {
            "month": {
                **STRING,
                "pattern": "^[0-9]{4}-[0-9]{2}$",
                "description": "Such as 2026-11; default: the current month.",
            }
        }
        return [
            Endpoint(
                "GET", path, "List a customer's charges, newest first", OPERATE, self._charges, listed, query=PAGING
            ),
            Endpoint("POST", path, "Add a charge, which changes the balance", OWN, self._charge, made, body=NEW_CHARGE),
            Endpoint(
                "PATCH",
                f"{path}/{{charge}}",
                "Change the status of a charge",
                OWN,
                self._judge,
                {200: OK},
                body=JUDGEMENT,
            ),
            Endpoint(
                "GET",
                f"{_ONE}/summary",
                "Show a customer's account for one month",
                OPERATE,
                self._month,
                {200: MONTH},
                query={**month, **PAGING},
            ),
        ]

    async def _list(self, call: Call) -> Response:
        page = await self._insights.clients(limit=call.limit, cursor=call.query("cursor"))
        return answer(page_view([client_view(client) for client in page.items], page.next_cursor))

    async def _add(self, call: Call) -> Response:
        fields = await call.fields()
        wanted = changed_client(Client("", ""), fields)
        if not wanted.name:
            raise unusable("name", "is missing")
        made = await self._store.write(
            billing.add_client, wanted, self._clock.now(), by=await self._gate.principal_id(call.identity)
        )
        return await self._shown(made.id, status=201)

    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("client"))

    async def _change(self, call: Call) -> Response:
        known = await self._client(call)
        wanted = changed_client(known, await call.fields())
        await self._store.write(
            billing.change_client, wanted, self._clock.now(), by=await self._gate.principal_id(call.identity)
        )
        return await self._shown(known.id)

    async def _undo(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        back = await self._store.write(billing.undo_client, call.id("client"), self._clock.now(), by=by)
        return await self._shown(back.id)

    async def _bind(self, call: Call) -> Response:
        channel = channel_of(await call.fields())
        await self._store.write(billing.bind_channel, call.id("client"), channel, self._clock.now())
        return await self._shown(call.id("client"))

    async def _unbind(self, call: Call) -> Response:
        platform, channel = call.query("platform"), call.query("channel")
        if platform is None or channel is None:
            raise Unprocessable("`platform` and `channel` are required.", fix="Name the channel in the query.")
        await self._store.write(billing.unbind_channel, call.id("client"), ClientChannel(platform, channel))
        return await self._shown(call.id("client"))

    async def _charges(self, call: Call) -> Response:
        client = await self._client(call)
        page = await self._insights.charges(
            client.id, since=0, until=None, limit=call.limit, cursor=call.query("cursor")
        )
        return answer(page_view([charge_view(charge) for charge in page.items], page.next_cursor))

    async def _charge(self, call: Call) -> Response:
        kind, amount, description = entered_charge(await call.fields())
        charge = await self._store.write(
            billing.enter_charge, call.id("client"), kind, amount, description=description, now=self._clock.now()
        )
        return answer(charge_view(charge), 201)

    async def _judge(self, call: Call) -> Response:
        status = choice(await call.fields(), "status", ChargeStatus)
        if status is None:
            raise unusable("status", "is missing")
        await self._store.write(billing.judge_charge, call.id("client"), call.id("charge"), status)
        return answer({"ok": True})

    async def _month(self, call: Call) -> Response:
        client = await self._client(call)
        month = call.query("month") or month_of(self._clock.now(), self._zone)
        since, until = self._bounds(month)
        sums = await self._insights.client_sums(client.id, since, until)
        page = await self._insights.charges(
            client.id, since=since, until=until, limit=call.limit, cursor=call.query("cursor")
        )
        shown = page_view([charge_view(charge) for charge in page.items], page.next_cursor)
        money = {"chargedUsd": sums.charged, "paidUsd": sums.paid, "balanceUsd": client.balance}
        return answer({"month": month, **{name: micros / MICROS for name, micros in money.items()}, **shown})

    def _bounds(self, month: str) -> tuple[int, int]:
        """Return the start of this month and the start of the next month, in ms."""
        try:
            first = date.fromisoformat(f"{month}-01") if re.fullmatch(r"[12]\d{3}-\d\d", month, re.ASCII) else None
        except ValueError:
            first = None
        if first is None:
            raise Unprocessable(
                "`month` must be a month such as 2026-11.", fix="GET /openapi.json describes every parameter."
            )
        return max(0, start_of_day(first, self._zone)), max(0, start_of_day(first_of_next_month(first), self._zone))

    async def _client(self, call: Call) -> Client:
        client = await self._insights.client(call.id("client"))
        if client is None:
            raise billing.no_client()
        return client

    async def _shown(self, client_id: str, *, status: int = 200) -> Response:
        client = await self._insights.client(client_id)
        if client is None:
            raise billing.no_client()
        channels = await self._insights.client_channels(client_id)
        listed = [{"platform": each.platform, "channel": each.channel} for each in channels]
        return answer({**client_view(client), "channels": listed}, status)
