"""Customers (`clients`) over HTTP: their data, channels, charges and payments. Operators may read; owners may write."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Self

from pydantic import Field
from starlette.responses import Response

from arvis.domain.dataclass import replace
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
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.models import CLEARING, MEMBER, About, Body, Label, OkView, Page, Says, Time, View
from arvis.web.http.requests import unusable
from arvis.web.http.schema import LABEL, STRING, Schema, one_of

# Requests and responses for customers and charges. Amounts are in US dollars with six decimal places.

#: The maximum amount in US dollars. It is larger than any real charge, but small enough to be converted exactly to
#: millionths of a dollar.
_MOST = 1_000_000_000
_MOST_FACTOR = 1000
_NOTES = 10_000
#: The types of charges that a person may enter. The daemon itself enters the charges for answers.
ENTERED = (ChargeType.ADJUSTMENT, ChargeType.PAYMENT, ChargeType.SUBSCRIPTION)

_FACTOR = "The factor applied to the cost of models; 0: not charged."
_LIMIT = "The monthly limit of model costs; null: the configured limit."
_Name = Annotated[str, About(minLength=1, maxLength=200)]
_Text = Annotated[str, Field(max_length=_NOTES), Says(f"must have at most {_NOTES} characters")]
_Price = Annotated[float, Field(ge=0, le=_MOST), Says(f"must be a number from 0 to {_MOST}")]
_Factor = Annotated[float, Field(ge=0, le=_MOST_FACTOR), Says(f"must be a number from 0 to {_MOST_FACTOR}")]
_Amount = Annotated[float, Field(ge=-_MOST, le=_MOST), Says(f"must be a number between -{_MOST} and {_MOST}")]


class ChannelView(View):
    platform: _Name
    channel: _Name


class ClientView(View):
    id: str
    name: _Name
    plan: ClientPlan
    status: ClientStatus
    price_per_task_usd: float
    monthly_fee_usd: float
    token_factor: Annotated[float, About(_FACTOR)]
    monthly_limit_usd: Annotated[float | None, About(_LIMIT)]
    notes: str
    balance_usd: float
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, client: Client, /, **others: Any) -> Self:
        return cls.showing(
            client,
            price_per_task_usd=client.price_per_task / MICROS,
            monthly_fee_usd=client.monthly_fee / MICROS,
            token_factor=client.token_factor_milli / 1000,
            monthly_limit_usd=None if client.monthly_limit is None else client.monthly_limit / MICROS,
            balance_usd=client.balance / MICROS,
            **others,
        )


class ClientDetailView(ClientView):
    channels: list[ChannelView]


class ChargeView(View):
    id: str
    type: ChargeType
    status: ChargeStatus
    amount_usd: float
    description: str
    message_id: str | None
    execution_id: str | None
    created_at: Time

    @classmethod
    def of(cls, charge: Charge) -> Self:
        return cls.showing(charge, amount_usd=charge.amount / MICROS)


class ClientMonthView(View):
    month: str
    charged_usd: float
    paid_usd: float
    balance_usd: float
    items: list[ChargeView]
    next_cursor: str | None


#: The fields of `Client` that a body sets unchanged, and the fields that it sets in US dollars.
_PLAIN, _MONEY = ("name", "plan", "status", "notes"), ("price_per_task", "monthly_fee", "monthly_limit")


class ChangedClient(Body):
    name: Label | None = None
    plan: Annotated[ClientPlan | None, MEMBER] = None
    status: Annotated[ClientStatus | None, MEMBER] = None
    price_per_task_usd: _Price | None = None
    monthly_fee_usd: _Price | None = None
    token_factor: Annotated[_Factor | None, About(_FACTOR)] = None
    monthly_limit_usd: Annotated[_Price | None, CLEARING, About(_LIMIT)] = None
    notes: _Text | None = None

    def applied_to(self, known: Client) -> Client:
        """Return the customer with the fields that the body sets."""
        changes = self.sent()
        changed: dict[str, Any] = {name: changes[name] for name in _PLAIN if name in changes}
        for name in _MONEY:
            if (sent := f"{name}_usd") in changes:
                changed[name] = None if changes[sent] is None else round(changes[sent] * MICROS)
        if self.token_factor is not None:
            changed["token_factor_milli"] = round(self.token_factor * 1000)
        return replace(known, **changed)


class NewClient(ChangedClient):
    name: Label


class ClientChannelBody(Body):
    platform: Label
    channel: Label


class NewCharge(Body):
    type: Annotated[ChargeType, MEMBER, About(**one_of(ENTERED))]
    amount_usd: Annotated[_Amount, About("More than 0. An adjustment may be negative, which is a credit.")]
    description: _Text = ""

    def micros(self) -> int:
        """Return the amount in millionths of a US dollar. Raise `Unprocessable` for a charge that no person may enter."""
        if self.type not in ENTERED:
            raise unusable("type", "must be one of " + ", ".join(ENTERED))
        micros = round(self.amount_usd * MICROS)
        if micros == 0 or (micros < 0 and self.type is not ChargeType.ADJUSTMENT):
            raise unusable("amountUsd", "must be more than 0 (an adjustment may be negative)")
        return micros


class ChargeDecision(Body):
    status: Annotated[ChargeStatus, MEMBER]


_ALL, _ONE = "/api/clients", "/api/clients/{client}"
_CHANNELS, _CHARGES = f"{_ONE}/channels", f"{_ONE}/charges"
_MONTH: Schema = {
    **STRING,
    "pattern": "^[0-9]{4}-[0-9]{2}$",
    "description": "Such as 2026-11; default: the current month.",
}


class ClientRoutes(Routes):
    """Routes of customers. Months begin and end in the time zone `zone`."""

    def __init__(self, *, insights: Insights, store: Store, gate: Authorizer, clock: Clock, zone: str) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock
        self._zone = zone

    @route("GET", _ALL, "List customers, newest first", OPERATE, {200: Page[ClientView]}, query=PAGING)
    async def _list(self, call: Call) -> Response:
        page = await self._insights.clients(limit=call.limit, cursor=call.query("cursor"))
        return answer_page([ClientView.of(client) for client in page.items], page.next_cursor)

    @route("POST", _ALL, "Create a customer", OWN, {201: ClientDetailView}, body=NewClient)
    async def _add(self, call: Call) -> Response:
        wanted = (await call.read(NewClient)).applied_to(Client("", ""))
        made = await self._store.write(
            billing.add_client, wanted, self._clock.now(), by=await self._gate.principal_id(call.identity)
        )
        return await self._shown(made.id, status=201)

    @route("GET", _ONE, "Show a customer with its channels", OPERATE, {200: ClientDetailView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("client"))

    @route("PATCH", _ONE, "Change the fields in the body", OWN, {200: ClientDetailView}, body=ChangedClient)
    async def _change(self, call: Call) -> Response:
        known = await self._client(call)
        wanted = (await call.read(ChangedClient)).applied_to(known)
        await self._store.write(
            billing.change_client, wanted, self._clock.now(), by=await self._gate.principal_id(call.identity)
        )
        return await self._shown(known.id)

    @route("POST", f"{_ONE}/undo", "Restore the previous version", OWN, {200: ClientDetailView})
    async def _undo(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        back = await self._store.write(billing.undo_client, call.id("client"), self._clock.now(), by=by)
        return await self._shown(back.id)

    @route("POST", _CHANNELS, "Assign a channel to a customer", OWN, {200: ClientDetailView}, body=ClientChannelBody)
    async def _bind(self, call: Call) -> Response:
        body = await call.read(ClientChannelBody)
        channel = ClientChannel(body.platform, body.channel)
        await self._store.write(billing.bind_channel, call.id("client"), channel, self._clock.now())
        return await self._shown(call.id("client"))

    @route(
        "DELETE",
        _CHANNELS,
        "Remove a channel from a customer",
        OWN,
        {200: ClientDetailView},
        query={"platform": LABEL, "channel": LABEL},
    )
    async def _unbind(self, call: Call) -> Response:
        platform, channel = call.query("platform"), call.query("channel")
        if platform is None or channel is None:
            raise Unprocessable("`platform` and `channel` are required.", fix="Name the channel in the query.")
        await self._store.write(billing.unbind_channel, call.id("client"), ClientChannel(platform, channel))
        return await self._shown(call.id("client"))

    @route("GET", _CHARGES, "List a customer's charges, newest first", OPERATE, {200: Page[ChargeView]}, query=PAGING)
    async def _charges(self, call: Call) -> Response:
        client = await self._client(call)
        page = await self._insights.charges(
            client.id, since=0, until=None, limit=call.limit, cursor=call.query("cursor")
        )
        return answer_page([ChargeView.of(charge) for charge in page.items], page.next_cursor)

    @route("POST", _CHARGES, "Add a charge, which changes the balance", OWN, {201: ChargeView}, body=NewCharge)
    async def _charge(self, call: Call) -> Response:
        body = await call.read(NewCharge)
        entered = (body.type, body.micros())
        charge = await self._store.write(
            billing.enter_charge, call.id("client"), *entered, description=body.description, now=self._clock.now()
        )
        return answer(ChargeView.of(charge), 201)

    @route("PATCH", f"{_CHARGES}/{{charge}}", "Change the status of a charge", OWN, {200: OkView}, body=ChargeDecision)
    async def _judge(self, call: Call) -> Response:
        body = await call.read(ChargeDecision)
        await self._store.write(billing.judge_charge, call.id("client"), call.id("charge"), body.status)
        return done()

    @route(
        "GET",
        f"{_ONE}/summary",
        "Show a customer's account for one month",
        OPERATE,
        {200: ClientMonthView},
        query={"month": _MONTH, **PAGING},
    )
    async def _month(self, call: Call) -> Response:
        client = await self._client(call)
        month = call.query("month") or month_of(self._clock.now(), self._zone)
        since, until = self._bounds(month)
        sums = await self._insights.client_sums(client.id, since, until)
        page = await self._insights.charges(
            client.id, since=since, until=until, limit=call.limit, cursor=call.query("cursor")
        )
        shown = ClientMonthView(
            month=month,
            charged_usd=sums.charged / MICROS,
            paid_usd=sums.paid / MICROS,
            balance_usd=client.balance / MICROS,
            items=[ChargeView.of(charge) for charge in page.items],
            next_cursor=page.next_cursor,
        )
        return answer(shown)

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
        return answer(ClientDetailView.of(client, channels=[ChannelView.showing(each) for each in channels]), status)
