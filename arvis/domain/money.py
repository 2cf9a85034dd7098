"""Money: the costs of model calls, budgets, and customers (`Client`) who pay for answers. Amounts are whole millionths
of a US dollar (`micros`), so that sums are exact. Days and months begin at midnight of a configured time zone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from arvis.domain.dataclass import dataclass
from arvis.domain.runs import ModelCall

MICROS = 1_000_000
_MS = 1000


def usd(micros: int) -> str:
    """Return the exact amount as text for people, with two to six decimals."""
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
    """Return the time (ms) at which the next day begins."""
    return start_of_day(_date(at, zone) + timedelta(days=1), zone)


def next_month(at: int, zone: str) -> int:
    """Return the time (ms) at which the next month begins."""
    return start_of_day(first_of_next_month(_date(at, zone)), zone)


def first_of_next_month(day: date) -> date:
    return (day.replace(day=28) + timedelta(days=4)).replace(day=1)


def start_of_day(day: date, zone: str) -> int:
    """Return the time (ms) at which this day begins in the zone."""
    return round(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).timestamp()) * _MS


def _date(at: int, zone: str) -> date:
    return datetime.fromtimestamp(at / _MS, ZoneInfo(zone)).date()


# -- spending ----------------------------------------------------------------------------------------------


class Budget(StrEnum):
    """The limits that can stop a turn. The first five are sums of money, and the ledger has a pot for each of them."""

    AGENT = "agent"
    CLIENT = "client"
    DAY = "day"
    PRINCIPAL = "principal"
    TURN = "turn"
    #: The number of turns that an unpaired person may begin in a day.
    TURNS = "turns"
    #: The share of the daily budget that one person may use.
    SHARE = "share"
    #: The remaining credit of a prepaid customer.
    CREDIT = "credit"
    #: This budget has no amount. It is used up while the customer is paused.
    CLIENT_STATUS = "client_status"


def budget_reason(budget: str) -> str:
    """Return the reason code of a turn that failed because this budget was used up."""
    return f"budget_{budget}"


@dataclass(frozen=True, slots=True, order=True)
class Pot:
    """The key of a row of the ledger. The row counts the costs that belong to one budget in one period, for example
    the costs of one agent on one day. Scripts lock rows in the sort order of their keys, so that no two scripts wait
    for each other."""

    scope: Budget
    period: str
    key: str


@dataclass(frozen=True, slots=True)
class Spent:
    """The values of a pot: the costs, the number of model calls that cost something, and the number of turns."""

    micros: int = 0
    calls: int = 0
    turns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingLimits:
    """The limits of the configuration, in micros. None means no limit. Days and months begin at midnight of `zone`."""

    daily: int | None = None
    per_agent_daily: int | None = None
    per_principal_daily: int | None = None
    #: The percentage of the daily limit that one person may use if several people use Arvis.
    share: int | None = None
    per_client_monthly: int | None = None
    per_turn: int | None = None
    unpaired_daily_turns: int | None = None
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spender:
    """The work and the people for whom a model call is made. All of their budgets must allow the call."""

    #: `execution_id` and `visit` together are the key of the call's reservation.
    execution_id: str
    visit: str
    #: The root execution of the turn. Its child executions share its budget.
    turn: str
    job_id: str
    agent_id: str | None = None
    principal_id: str | None = None
    client_id: str | None = None
    #: True if the person is not paired, so that `unpaired_daily_turns` also applies.
    unpaired: bool = False
    #: True if the person is an owner. Owners may use the whole daily budget instead of a share.
    owner: bool = False

    def pots(self, zone: str, now: int) -> Mapping[Budget, Pot]:
        """Return the pots to which the costs of a call at the time `now` (ms) are added."""
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
    """A model call that has begun."""

    spender: Spender
    #: A receipt with the maximum possible usage, which is stored if the process dies before the end of the call.
    receipt: ModelCall


@dataclass(frozen=True, slots=True)
class Reserved:
    """The result of a reservation: the call is allowed, and `micros` are reserved for it."""

    micros: int


@dataclass(frozen=True, slots=True)
class Busy:
    """The result of a reservation: running calls have reserved the remaining budget. Retry in a second or two."""

    budget: Budget


@dataclass(frozen=True, slots=True)
class OverBudget:
    """The result of a reservation: a budget is used up."""

    budget: Budget
    #: `limit` and `spent` are in micros. For the budget `turns`, they are numbers of turns.
    limit: int
    spent: int
    #: The time (ms) at which the next period of the budget begins; None if the budget has no periods.
    opens_at: int | None


# -- customers ---------------------------------------------------------------------------------------------


class ClientPlan(StrEnum):
    """The ways in which a customer pays."""

    #: The customer pays for each answer.
    PER_TASK = "per_task"
    #: The customer pays a monthly fee, which the owner charges.
    MONTHLY = "monthly"
    #: The customer pays in advance.
    PREPAID = "prepaid"


class ClientStatus(StrEnum):
    """The status of a customer."""

    ACTIVE = "active"
    #: Agents do not answer in the customer's channels.
    PAUSED = "paused"
    #: The customer's channels are treated as channels without a customer.
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Client:
    """A customer, who pays for the answers in the assigned channels. Money in micros, times in ms."""

    id: str
    name: str
    plan: ClientPlan = ClientPlan.PER_TASK
    status: ClientStatus = ClientStatus.ACTIVE
    #: The fixed part of the price of an answer, in micros. `token_factor_milli` adds a part for the model calls.
    price_per_task: int = 0
    monthly_fee: int = 0
    #: The factor by which the cost of the model calls is charged, in thousandths: 1500 charges 1.5 times the cost.
    token_factor_milli: int = 0
    #: The sum of all payments minus the sum of all charges.
    balance: int = 0
    #: The maximum cost of model calls in a month. If None, the limit of the configuration applies.
    monthly_limit: int | None = None
    notes: str = ""
    created_at: int = 0
    updated_at: int = 0

    def price_of(self, cost: int) -> int:
        """Return the charge for an answer whose model calls cost `cost`. Customers with a monthly fee do not pay
        `price_per_task`."""
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
    """One entry of a customer's account: a charge or a payment. Payments and negative adjustments increase the balance;
    all other entries reduce it."""

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
        """Return the change of the balance by this entry: positive if the entry increases the balance."""
        return self.amount if self.type is ChargeType.PAYMENT else -self.amount
