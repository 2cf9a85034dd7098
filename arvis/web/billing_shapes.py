"""Clients and charges as this port reads and shows them: amounts in US dollars, with six digits behind the point."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from arvis.domain.money import (
    MICROS,
    Charge,
    ChargeStatus,
    ChargeType,
    Client,
    ClientChannel,
    ClientPlan,
    ClientStatus,
)
from arvis.web.bodies import Fields, unusable
from arvis.web.schemas import LABEL, NUMBER, STRING, TIME, array, one_of, optional, record
from arvis.web.views import Json

E = TypeVar("E", bound=StrEnum)

#: In US dollars: what no honest line is above, and what whole millionths hold easily.
_MOST = 1_000_000_000
_MOST_FACTOR = 1000
_NOTES = 10_000
#: What a person may enter; answers are charged by the daemon.
ENTERED = (ChargeType.ADJUSTMENT, ChargeType.PAYMENT, ChargeType.SUBSCRIPTION)

CHANNEL = record({"platform": LABEL, "channel": LABEL})
_SET = {
    "name": LABEL,
    "plan": one_of(ClientPlan),
    "status": one_of(ClientStatus),
    "pricePerTaskUsd": NUMBER,
    "monthlyFeeUsd": NUMBER,
    "tokenFactor": {**NUMBER, "description": "What models cost is charged times this; 0: not at all."},
    "monthlyLimitUsd": {**optional(NUMBER), "description": "What models may cost in a month; null: as configured."},
    "notes": STRING,
}
CLIENT = record({"id": STRING, **_SET, "balanceUsd": NUMBER, "createdAt": TIME, "updatedAt": TIME})
CLIENT_DETAIL = record({**CLIENT["properties"], "channels": array(CHANNEL)})
NEW_CLIENT = record(_SET, required=("name",))
CHANGED_CLIENT = record(_SET, required=())
CHARGE = record(
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
NEW_CHARGE = record(
    {
        "type": one_of(ENTERED),
        "amountUsd": {**NUMBER, "description": "More than 0; an adjustment may be less, which is a credit."},
        "description": STRING,
    },
    required=("type", "amountUsd"),
)
JUDGEMENT = record({"status": one_of(ChargeStatus)})
MONTH = record(
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
    """The client with what the body names; the rest stays."""
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
    """Type, amount in micros and description of a line that a person enters."""
    kind = choice(fields, "type", ChargeType)
    if kind not in ENTERED:
        raise unusable("type", "must be one of " + ", ".join(ENTERED))
    amount = _number(fields, "amountUsd")
    if amount is None:
        raise unusable("amountUsd", "is missing")
    micros = round(amount * MICROS)
    if micros == 0 or (micros < 0 and kind is not ChargeType.ADJUSTMENT):
        raise unusable("amountUsd", "must be more than 0 (an adjustment may be less)")
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
        raise unusable(name, "must be a number from 0 on")
    return known if amount is None else round(amount * MICROS)


def _factor(fields: Fields, known: int) -> int:
    factor = _number(fields, "tokenFactor")
    if factor is None:
        return known
    if not 0 <= factor <= _MOST_FACTOR:
        raise unusable("tokenFactor", f"must be a number from 0 to {_MOST_FACTOR}")
    return round(factor * 1000)


def _monthly_limit(fields: Fields, known: int | None) -> int | None:
    """Of all fields the only one that `null` changes."""
    if fields.has("monthlyLimitUsd") and fields.raw("monthlyLimitUsd") is None:
        return None
    return _micros(fields, "monthlyLimitUsd", 0) if fields.has("monthlyLimitUsd") else known
