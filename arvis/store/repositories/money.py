"""Model calls, spending and customers over SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arvis.domain.ids import first_id_at
from arvis.domain.money import (
    Budget,
    Charge,
    ChargeStatus,
    ChargeType,
    Client,
    ClientChannel,
    ClientPlan,
    ClientStatus,
    OpenCall,
    Pot,
    Spender,
    Spent,
)
from arvis.domain.runs import ModelCall
from arvis.ports.insights import UsageSums
from arvis.store.sql.session import LAST, Row, Session, dump, first


class SqlUsage:
    """Implements the port `Usage` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_usage", oldest=first_id_at(before), limit=limit)

    def add(
        self,
        call: ModelCall,
        *,
        execution_id: str,
        job_id: str,
        agent_id: str | None,
        principal_id: str | None = None,
        client_id: str | None = None,
    ) -> bool:
        added = self._session.execute(
            "add_usage",
            id=call.id,
            execution_id=execution_id,
            job_id=job_id,
            agent_id=agent_id,
            account=call.account,
            provider=call.provider,
            model=call.model,
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            cached_tokens=call.cached_tokens,
            cost_micros=call.cost_micros,
            started_at=call.started_at,
            duration_ms=call.duration_ms,
            error=call.error,
            detail=call.detail,
            principal_id=principal_id,
            client_id=client_id,
            written_tokens=call.written_tokens,
            priced=int(call.priced),
        )
        return added == 1

    def take_back(self, call_id: str, error: str) -> tuple[int, int] | None:
        row = self._session.one("take_back_usage", id=call_id, error=error)
        return (row["cost_micros"], row["started_at"]) if row else None

    def cost_of(self, execution_id: str) -> int:
        row = self._session.one("cost_of_execution", execution_id=execution_id)
        return int(row["micros"]) if row else 0

    def cost_of_all(self, execution_ids: Sequence[str]) -> int:
        row = self._session.one("cost_of_executions", ids=dump(list(execution_ids)))
        return int(row["micros"]) if row else 0

    def of_person(self, principal_id: str, since: int) -> UsageSums:
        row = self._session.one("usage_of_person", principal_id=principal_id, first=first_id_at(since))
        if row is None:
            return UsageSums()
        return UsageSums(
            calls=row["calls"],
            input_tokens=row["input_tokens"],
            output_tokens=row["output_tokens"],
            cost_micros=row["cost_micros"],
        )


#: The budgets of agents and people. For these the spending of each day is stored; `prune` deletes old days.
_DAILY = (Budget.AGENT, Budget.PRINCIPAL)


class SqlSpending:
    """Implements the port `Spending` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, pot: Pot) -> Spent:
        row = self._session.one("get_spending", **_key(pot))
        return _spent(row) if row else Spent()

    def hold(self, pots: Sequence[Pot], needed: Sequence[Pot] | None = None) -> Mapping[Pot, Spent]:
        if not self._session.locks_rows:
            # SQLite has a single writer, so the rows need not be locked, and missing rows need not be created.
            return {pot: self.get(pot) for pot in (pots if needed is None else needed)}
        rows = {pot: self._session.one("hold_spending", **_key(pot)) for pot in pots}
        return {pot: _spent(row) if row else Spent() for pot, row in rows.items()}

    def book(self, pots: Sequence[Pot], more: Spent) -> None:
        amounts = {"micros": more.micros, "calls": more.calls, "turns": more.turns}
        self._session.execute_many("book_spending", [{**_key(pot), **amounts} for pot in pots])

    def reserved(self, pot: Pot, now: int, *, but: tuple[str, str]) -> int:
        row = self._session.one("sum_reserved", **_key(pot), now=now, execution_id=but[0], visit=but[1])
        return row["micros"] if row else 0

    def reserve(self, amounts: Mapping[Pot, int], execution_id: str, visit: str, expires_at: int) -> None:
        self.release(execution_id, visit)
        for pot, micros in sorted(amounts.items()):
            self._session.execute(
                "add_reservation",
                **_key(pot),
                execution_id=execution_id,
                visit=visit,
                micros=micros,
                expires_at=expires_at,
            )

    def release(self, execution_id: str, visit: str) -> None:
        self._session.execute("drop_reservation", execution_id=execution_id, visit=visit)

    def release_all(self, execution_id: str) -> None:
        self._session.execute("drop_reservations", execution_id=execution_id)

    def begin_call(self, call: OpenCall) -> None:
        spender, receipt = call.spender, call.receipt
        self._session.execute(
            "add_open_call",
            id=receipt.id,
            execution_id=spender.execution_id,
            visit=spender.visit,
            turn=spender.turn,
            job_id=spender.job_id,
            agent_id=spender.agent_id,
            principal_id=spender.principal_id,
            client_id=spender.client_id,
            account=receipt.account,
            provider=receipt.provider,
            model=receipt.model,
            input_tokens=receipt.input_tokens,
            output_tokens=receipt.output_tokens,
            cost_micros=receipt.cost_micros,
            priced=int(receipt.priced),
            started_at=receipt.started_at,
        )

    def end_call(self, call_id: str) -> bool:
        return self._session.execute("drop_open_call", id=call_id) > 0

    def open_calls(
        self, *, job_id: str | None = None, visit: tuple[str, str] | None = None, before: int | None = None
    ) -> list[OpenCall]:
        found: list[Row] = []
        if job_id is not None:
            found += self._session.rows("open_calls_of_job", job_id=job_id)
        if visit is not None:
            found += self._session.rows("open_calls_of_visit", execution_id=visit[0], visit=visit[1])
        if before is not None:
            found += self._session.rows("open_calls_before", before=before)
        return [_open_call(row) for row in found]

    def prune(self, first_execution: str, day: str, now: int, limit: int) -> int:
        gone = self._session.execute("prune_turns", first_execution=first_execution, limit=limit)
        for scope in _DAILY:
            gone += self._session.execute("prune_days", scope=scope, day=day, limit=limit)
        return gone + self._session.execute("prune_reservations", now=now, limit=limit)


def _open_call(row: Row) -> OpenCall:
    spender = Spender(
        execution_id=row["execution_id"],
        visit=row["visit"],
        turn=row["turn"],
        job_id=row["job_id"],
        agent_id=row["agent_id"],
        principal_id=row["principal_id"],
        client_id=row["client_id"],
    )
    receipt = ModelCall(
        id=row["id"],
        account=row["account"],
        provider=row["provider"],
        model=row["model"],
        started_at=row["started_at"],
        duration_ms=0,
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cost_micros=row["cost_micros"],
        priced=bool(row["priced"]),
    )
    return OpenCall(spender, receipt)


class SqlClients:
    """Implements the port `Clients` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, client_id: str) -> Client | None:
        row = self._session.one("get_client", id=client_id)
        return client_of(row) if row else None

    def by_name(self, name: str) -> Client | None:
        row = self._session.one("client_by_name", name=name)
        return client_of(row) if row else None

    def at(self, platform: str, channel: str) -> Client | None:
        return self._session.held("client_at", _CLIENT, platform=platform, channel=channel)

    def newest(self, limit: int) -> list[Client]:
        return [client_of(row) for row in self._session.rows("list_clients", before=LAST, limit=limit)]

    def add(self, client: Client) -> bool:
        fields = {**_columns(client), "balance_micros": client.balance, "created_at": client.created_at}
        return self._session.execute("add_client", **fields) == 1

    def update(self, client: Client) -> None:
        self._session.execute("update_client", **_columns(client))

    def channels(self, client_id: str) -> Sequence[ClientChannel]:
        return [channel_of(row) for row in self._session.rows("channels_of_client", client_id=client_id)]

    def bind(self, client_id: str, channel: ClientChannel, now: int) -> None:
        self._session.execute(
            "bind_client", platform=channel.platform, channel=channel.channel, client_id=client_id, now=now
        )

    def unbind(self, client_id: str, channel: ClientChannel) -> bool:
        gone = self._session.execute(
            "unbind_client", platform=channel.platform, channel=channel.channel, client_id=client_id
        )
        return gone == 1

    def charge(self, charge: Charge) -> bool:
        added = self._session.execute(
            "add_charge",
            id=charge.id,
            client_id=charge.client_id,
            type=charge.type,
            status=charge.status,
            amount_micros=charge.amount,
            description=charge.description,
            message_id=charge.message_id,
            execution_id=charge.execution_id,
            created_at=charge.created_at,
        )
        if added:
            self._session.execute("move_balance", id=charge.client_id, micros=charge.effect, now=charge.created_at)
        return added == 1

    def set_charge_status(self, client_id: str, charge_id: str, status: ChargeStatus) -> bool:
        return self._session.execute("set_charge_status", id=charge_id, client_id=client_id, status=status) == 1


def client_of(row: Row) -> Client:
    return Client(
        id=row["id"],
        name=row["name"],
        plan=ClientPlan(row["plan"]),
        status=ClientStatus(row["status"]),
        price_per_task=row["price_per_task_micros"],
        monthly_fee=row["monthly_fee_micros"],
        token_factor_milli=row["token_factor_milli"],
        balance=row["balance_micros"],
        monthly_limit=row["monthly_limit_micros"],
        notes=row["notes"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def channel_of(row: Row) -> ClientChannel:
    return ClientChannel(row["platform"], row["channel"])


def charge_of(row: Row) -> Charge:
    return Charge(
        id=row["id"],
        client_id=row["client_id"],
        type=ChargeType(row["type"]),
        status=ChargeStatus(row["status"]),
        amount=row["amount_micros"],
        description=row["description"],
        created_at=row["created_at"],
        message_id=row["message_id"],
        execution_id=row["execution_id"],
    )


def _columns(client: Client) -> dict[str, object]:
    return {
        "id": client.id,
        "name": client.name,
        "plan": client.plan,
        "status": client.status,
        "price_per_task_micros": client.price_per_task,
        "monthly_fee_micros": client.monthly_fee,
        "token_factor_milli": client.token_factor_milli,
        "monthly_limit_micros": client.monthly_limit,
        "notes": client.notes,
        "updated_at": client.updated_at,
    }


def _key(pot: Pot) -> dict[str, object]:
    return {"scope": pot.scope, "period": pot.period, "key": pot.key}


def _spent(row: Row) -> Spent:
    return Spent(row["micros"], row["calls"], row["turns"])


_CLIENT = first(client_of)
