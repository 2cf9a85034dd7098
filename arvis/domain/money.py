"""Money: costs of models and their limits, and the clients who pay for answers (behaviour.md 1.11, 1.17). Amounts are
whole millionths of a US dollar (`micros`), so that sums are exact. Days and months are those of a time zone, because
people mean their own midnight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from arvis.domain.runs import ModelCall

MICROS = 1_000_000
_MS = 1000


def usd(micros: int) -> str:
    """Return an amount for people: at least two decimals, more only for amounts below a cent."""
    whole = f"{abs(micros) / MICROS:.6f}".rstrip("0")
    digits = max(2, len(whole.partition(".")[2]))
    return f"{'-' if micros < 0 else ''}${abs(micros) / MICROS:.{digits}f}"


# -- periods -----------------------------------------------------------------------------------------------


def day_of(at: int, zone: str) -> str:
    """Return the day of a time in ms, as `2026-11-22`."""
    return _date(at, zone).isoformat()


def month_of(at: int, zone: str) -> str:
    """Return the month of a time in ms, as `2026-11`."""
    return day_of(at, zone)[:7]


def next_day(at: int, zone: str) -> int:
    """Return when the next day begins, in ms."""
    return start_of_day(_date(at, zone) + timedelta(days=1), zone)


def next_month(at: int, zone: str) -> int:
    """Return when the next month begins, in ms."""
    return start_of_day(first_of_next_month(_date(at, zone)), zone)


def first_of_next_month(day: date) -> date:
    return (day.replace(day=28) + timedelta(days=4)).replace(day=1)


def start_of_day(day: date, zone: str) -> int:
    """Return midnight in this zone, in ms."""
    return round(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).timestamp()) * _MS


def _date(at: int, zone: str) -> date:
    return datetime.fromtimestamp(at / _MS, ZoneInfo(zone)).date()


# -- spending ----------------------------------------------------------------------------------------------


class Budget(StrEnum):
    """The limits that can be used up. The first five are sums of money, each with a pot in the ledger. `turns` is the
    number of questions that an unpaired user may ask in a day; `share` is the part of the daily budget for one
    person; `credit` is the remaining amount of a prepaid client; `client_status`: the client is paused."""

    AGENT = "agent"
    CLIENT = "client"
    DAY = "day"
    PRINCIPAL = "principal"
    TURN = "turn"
    TURNS = "turns"
    SHARE = "share"
    CREDIT = "credit"
    CLIENT_STATUS = "client_status"


def budget_reason(budget: str) -> str:
    """Return the reason code of a turn that failed because this budget was used up."""
    return f"budget_{budget}"


@dataclass(frozen=True, slots=True, order=True)
class Pot:
    """A row of the ledger: the amount spent on one item in one period. Their order is the order of locks."""

    scope: Budget
    period: str
    key: str


@dataclass(frozen=True, slots=True)
class Spent:
    """The content of a pot. `calls` counts the calls that cost something."""

    micros: int = 0
    calls: int = 0
    turns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingLimits:
    """The limits of the configuration, in micros; None: no limit. Days and months are those of `zone`. `share` is the
    part of the daily limit (percent) that one of several persons may use."""

    daily: int | None = None
    per_agent_daily: int | None = None
    per_principal_daily: int | None = None
    share: int | None = None
    per_client_monthly: int | None = None
    per_turn: int | None = None
    unpaired_daily_turns: int | None = None
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spender:
    """The payer of a model call."""

    #: With `visit`, the key of the reservation.
    execution_id: str
    visit: str
    #: The execution at the root of the turn. Its child executions share its budget.
    turn: str
    job_id: str
    agent_id: str | None = None
    principal_id: str | None = None
    client_id: str | None = None
    #: An unpaired user also has a limit of turns.
    unpaired: bool = False
    #: An owner may use the whole daily budget instead of a share.
    owner: bool = False

    def pots(self, zone: str, now: int) -> Mapping[Budget, Pot]:
        """Return the rows of the ledger in which a call made now counts."""
        day = day_of(now, zone)
        found = {Budget.DAY: Pot(Budget.DAY, day, ""), Budget.TURN: Pot(Budget.TURN, "", self.turn)}
        if self.agent_id is not None:
            found[Budget.AGENT] = Pot(Budget.AGENT, day, self.agent_id)
        if self.principal_id is not None:
            found[Budget.PRINCIPAL] = Pot(Budget.PRINCIPAL, day, self.principal_id)
        if self.client_id is not None:
            found[Budget.CLIENT] = Pot(Budget.CLIENT, month_of(now, zone), self.client_id)
        return found


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A model call under way: its payer, and the receipt that is stored if the process dies, with the maximum
    possible usage."""

    spender: Spender
    receipt: ModelCall


@dataclass(frozen=True, slots=True)
class Reserved:
    """The call is allowed; this amount is reserved for it."""

    micros: int


@dataclass(frozen=True, slots=True)
class Busy:
    """The remaining budget is reserved for calls under way: retry in a second or two."""

    budget: Budget


@dataclass(frozen=True, slots=True)
class OverBudget:
    """A budget is used up. `limit` and `spent` in micros (of `turns`: a number); `opens_at` in ms is when it is full
    again, None if it does not refill by time."""

    budget: Budget
    limit: int
    spent: int
    opens_at: int | None


# -- clients -----------------------------------------------------------------------------------------------


class ClientPlan(StrEnum):
    """The way in which a client pays: for each answer, by a fee that the owner charges each month, or in advance."""

    PER_TASK = "per_task"
    MONTHLY = "monthly"
    PREPAID = "prepaid"


class ClientStatus(StrEnum):
    """A paused client is not served; an archived client's channels count as channels without a client."""

    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Client:
    """A paying customer with assigned channels. Money in micros, times in ms."""

    id: str
    name: str
    plan: ClientPlan = ClientPlan.PER_TASK
    status: ClientStatus = ClientStatus.ACTIVE
    #: An answer costs this price plus a multiple of the cost of its model calls.
    price_per_task: int = 0
    monthly_fee: int = 0
    #: That multiple, in thousandths.
    token_factor_milli: int = 0
    #: The sum of payments less the sum of charges.
    balance: int = 0
    #: Limits the cost of model calls in a month.
    monthly_limit: int | None = None
    notes: str = ""
    created_at: int = 0
    updated_at: int = 0

    def price_of(self, cost: int) -> int:
        """Return the charge for an answer with this model cost. Clients with a monthly fee pay no price of a task."""
        task = 0 if self.plan is ClientPlan.MONTHLY else self.price_per_task
        return task + round(cost * self.token_factor_milli / 1000)


@dataclass(frozen=True, slots=True)
class ClientChannel:
    platform: str
    channel: str


class ChargeType(StrEnum):
    TASK = "task"
    SUBSCRIPTION = "subscription"
    ADJUSTMENT = "adjustment"
    PAYMENT = "payment"


class ChargeStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    PAID = "paid"
    DISPUTED = "disputed"


@dataclass(frozen=True, slots=True)
class Charge:
    """One line of a client's account. A payment adds to the balance, every other type subtracts; an adjustment may be
    negative, which is a credit."""

    id: str
    client_id: str
    type: ChargeType
    status: ChargeStatus
    amount: int
    description: str
    created_at: int
    message_id: str | None = None
    execution_id: str | None = None

    @property
    def effect(self) -> int:
        """Return the change of the balance."""
        return self.amount if self.type is ChargeType.PAYMENT else -self.amount
