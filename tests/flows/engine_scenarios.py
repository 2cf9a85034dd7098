"""Small scenarios, one for each ability of an execution. The tests cut them at every commit."""

from __future__ import annotations

from arvis.domain.executions import ExecutionStatus, WaitKind
from arvis.engine.graph import END, Call, Decision, Edge, End, Goto, Graph, Next, NodeContext, Pause, Repeat
from tests.flows.engine_changes import asking, grown, replaced, start_over
from tests.flows.engine_kit import Graphs, Scenario, World, graphs, nodes, say_nothing

# -- steps -------------------------------------------------------------------------------------------------


def _straight(world: World) -> Graphs:
    async def first(context: NodeContext) -> Decision:
        return Next(1, seen=["first"])

    async def second(context: NodeContext) -> Decision:
        await context.once("call", lambda: world.do("call"))
        return Next(context.value + 1, seen=[*context.state["seen"], "second"])

    async def third(context: NodeContext) -> Decision:
        await context.once("call", lambda: world.do("other call"))
        return End([context.value, *context.state["seen"]])

    return graphs(Graph("main", "first", nodes(first, second, third), {"first": "second", "second": "third"}))


def _loop(world: World) -> Graphs:
    async def round_(context: NodeContext) -> Decision:
        rounds = context.state.get("rounds", 0) + 1
        await context.once("call", lambda: world.do(f"round {rounds}"))
        return End(rounds) if rounds == 4 else Repeat(rounds=rounds)

    return graphs(Graph("main", "round_", nodes(round_), {}))


def _branches(world: World) -> Graphs:
    async def split(context: NodeContext) -> Decision:
        return Next("go")

    async def left(context: NodeContext) -> Decision:
        return Next(left=await context.once("left", lambda: world.do("left")))

    async def right(context: NodeContext) -> Decision:
        return Next(right=await context.once("right", lambda: world.do("right")))

    async def after(context: NodeContext) -> Decision:
        await context.once("after", lambda: world.do("after"))
        return Next("all done")

    edges: dict[str, Edge] = {"split": ["left", "right"], "left": END, "right": lambda _state, _value: "after"}
    return graphs(Graph("main", "split", nodes(split, left, right, after), edges))


def _stumbling(world: World) -> Graphs:
    """One branch raises an error twice; the steps of the other branch stay done."""

    async def split(context: NodeContext) -> Decision:
        return Next()

    async def stumble(context: NodeContext) -> Decision:
        world.happened["tried"] += 1
        if world.happened["tried"] < 3:
            raise ValueError("not yet")
        return Next()

    async def walk(context: NodeContext) -> Decision:
        await context.once("walk", lambda: world.do("walk"))
        return Next()

    return graphs(Graph("main", "split", nodes(split, stumble, walk), {"split": ["stumble", "walk"]}))


# -- waits -------------------------------------------------------------------------------------------------


def _question(world: World) -> Graphs:
    async def ask(context: NodeContext) -> Decision:
        draft = await context.once("draft", lambda: world.do("draft"))
        if context.answer is None:
            return Pause(WaitKind.APPROVAL, f"Send “{draft}”?", choices=["yes", "no"])
        return Goto("send", context.answer.value["decision"])

    async def send(context: NodeContext) -> Decision:
        await context.once("send", lambda: world.do("send"))
        return End(context.value)

    return graphs(Graph("main", "ask", nodes(ask, send), {}))


def _deadline(world: World) -> Graphs:
    async def ask(context: NodeContext) -> Decision:
        if context.answer is None:
            return Pause(WaitKind.APPROVAL, "Well?", until=context.execution.created_at + 2_500)
        return End("expired" if context.answer.expired else "answered")

    return graphs(Graph("main", "ask", nodes(ask), {}))


def _timer(world: World) -> Graphs:
    async def sleep(context: NodeContext) -> Decision:
        if context.answer is None:
            return Pause(WaitKind.TIMER, "rests", until=context.execution.created_at + 2_500)
        return Next(context.answer.by)

    async def wake(context: NodeContext) -> Decision:
        await context.once("wake", lambda: world.do("wake"))
        return End(context.value)

    return graphs(Graph("main", "sleep", nodes(sleep, wake), {"sleep": "wake"}))


def _early(world: World) -> Graphs:
    """One branch ends the execution while the others wait for a person and for a child."""

    async def split(context: NodeContext) -> Decision:
        return Next()

    async def ask(context: NodeContext) -> Decision:
        return Pause(WaitKind.APPROVAL, "Well?")

    async def delegate(context: NodeContext) -> Decision:
        return Call("patient", {})

    async def leave(context: NodeContext) -> Decision:
        if context.answer is None:
            return Pause(WaitKind.TIMER, "a moment", until=context.execution.created_at + 1_500)
        return End("left")

    async def rest(context: NodeContext) -> Decision:
        return Pause(WaitKind.TIMER, "rests", until=context.execution.created_at + 3_600_000)

    return graphs(
        Graph("main", "split", nodes(split, ask, delegate, leave), {"split": ["ask", "delegate", "leave"]}),
        Graph("patient", "rest", nodes(rest), {}),
    )


def _photo_finish(world: World) -> Graphs:
    """Two branches decide at the same moment: one ends the execution, the other asks."""

    async def split(context: NodeContext) -> Decision:
        return Next()

    async def leave(context: NodeContext) -> Decision:
        return End("left")

    async def ask(context: NodeContext) -> Decision:
        return Pause(WaitKind.APPROVAL, "Well?")

    return graphs(Graph("main", "split", nodes(split, leave, ask), {"split": ["leave", "ask"]}))


# -- children ----------------------------------------------------------------------------------------------


async def _delegate(context: NodeContext) -> Decision:
    if context.answer is None:
        return Call("helper", {"number": 20})
    return End([context.answer.value["status"], context.answer.value["result"]])


def _child(world: World) -> Graphs:
    async def work(context: NodeContext) -> Decision:
        await context.once("work", lambda: world.do("work"))
        return Next(context.state["number"] * 2)

    async def report(context: NodeContext) -> Decision:
        return End(context.value)

    return graphs(
        Graph("main", "delegate", {"delegate": _delegate}, {}),
        Graph("helper", "work", nodes(work, report), {"work": "report"}),
    )


def _grandchild(world: World) -> Graphs:
    async def pass_on(context: NodeContext) -> Decision:
        if context.answer is None:
            await context.once("before", lambda: world.do("before"))
            return Call("worker", dict(context.state))
        return End(context.answer.value["result"] + 1)

    async def work(context: NodeContext) -> Decision:
        await context.once("work", lambda: world.do("work"))
        return End(context.state["number"])

    return graphs(
        Graph("main", "delegate", {"delegate": _delegate}, {}),
        Graph("helper", "pass_on", nodes(pass_on), {}),
        Graph("worker", "work", nodes(work), {}),
    )


def _asking_child(world: World) -> Graphs:
    """The child waits twice; its parent only learns of its end."""

    async def ask(context: NodeContext) -> Decision:
        return Pause(WaitKind.APPROVAL, "Well?") if context.answer is None else Next()

    async def rest(context: NodeContext) -> Decision:
        if context.answer is None:
            return Pause(WaitKind.TIMER, "rests", until=context.execution.created_at + 1_500)
        return End(await context.once("work", lambda: world.do("work")))

    return graphs(
        Graph("main", "delegate", {"delegate": _delegate}, {}),
        Graph("helper", "ask", nodes(ask, rest), {"ask": "rest"}),
    )


def _failing_child(world: World) -> Graphs:
    async def work(context: NodeContext) -> Decision:
        await context.once("work", lambda: world.do("work"))
        return Next()

    async def stray(context: NodeContext) -> Decision:
        return Goto("nowhere")

    return graphs(
        Graph("main", "delegate", {"delegate": _delegate}, {}),
        Graph("helper", "work", nodes(work, stray), {"work": "stray"}),
    )


def _stopped(world: World) -> Graphs:
    """A person cancels while the child works."""

    async def work(context: NodeContext) -> Decision:
        await context.once("work", world.stop)
        return Next()

    async def too_late(context: NodeContext) -> Decision:
        await context.once("late", lambda: world.do("too late"))
        return End()

    return graphs(
        Graph("main", "delegate", {"delegate": _delegate}, {}),
        Graph("helper", "work", nodes(work, too_late), {"work": "too_late"}),
    )


def _family(world: World) -> Graphs:
    """A child, a question and an effect at the same time."""

    async def split(context: NodeContext) -> Decision:
        return Next()

    async def delegate(context: NodeContext) -> Decision:
        return Call("helper", {"number": 1}) if context.answer is None else Next()

    async def ask(context: NodeContext) -> Decision:
        return Pause(WaitKind.APPROVAL, "Well?") if context.answer is None else Next()

    async def act(context: NodeContext) -> Decision:
        await context.once("act", lambda: world.do("act"))
        return Next()

    async def work(context: NodeContext) -> Decision:
        await context.once("work", lambda: world.do("work"))
        return End()

    return graphs(
        Graph("main", "split", nodes(split, delegate, ask, act), {"split": ["delegate", "ask", "act"]}),
        Graph("helper", "work", nodes(work), {}),
    )


# -- effects that must not be repeated ---------------------------------------------------------------------


def _payment(world: World) -> Graphs:
    async def pay(context: NodeContext) -> Decision:
        await context.once("look", lambda: world.do("look"))
        if context.answer is None:
            return Pause(WaitKind.APPROVAL, "Pay?")
        if context.answer.value["decision"] != "approve":
            return End("refused")
        paid = await context.once("pay", lambda: world.do("pay"), repeatable=False)
        await context.once("log", lambda: world.do("log"))
        return End("paid" if paid else "skipped, for it had happened")

    return graphs(Graph("main", "pay", nodes(pay), {}))


def _payments(world: World) -> Graphs:
    """The same effect in two rounds; an answer about one does not count for the other."""

    async def pay(context: NodeContext) -> Decision:
        rounds = context.state.get("rounds", 0) + 1
        world.meant["pay"] = f"payment {rounds}"
        await context.once("pay", lambda: world.do(f"payment {rounds}"), repeatable=False)
        return End(rounds) if rounds == 2 else Repeat(rounds=rounds)

    return graphs(Graph("main", "pay", nodes(pay), {}))


def _order(world: World) -> Graphs:
    """Two effects in one visit, then a question; an effect that was skipped stays skipped."""

    async def order(context: NodeContext) -> Decision:
        await context.once("pay", lambda: world.do("pay"), repeatable=False)
        await context.once("ship", lambda: world.do("ship"), repeatable=False)
        if context.answer is None:
            return Pause(WaitKind.APPROVAL, "Content?")
        return End(context.answer.value["decision"])

    return graphs(Graph("main", "order", nodes(order), {}))


def _moody(world: World) -> Graphs:
    """The branch that leads to the payment differs after each crash, and the engine still finds the payment."""

    async def choose(context: NodeContext) -> Decision:
        world.happened["chosen"] += 1
        return Next() if world.happened["chosen"] == 1 else Goto("pay")

    async def dawdle(context: NodeContext) -> Decision:
        return Next()

    async def pay(context: NodeContext) -> Decision:
        await context.once("pay", lambda: world.do("pay"), repeatable=False)
        return End()

    return graphs(Graph("main", "choose", nodes(choose, dawdle, pay), {"choose": "dawdle", "dawdle": "pay"}))


def _pair(world: World) -> Graphs:
    """One payment in each of two branches."""

    async def split(context: NodeContext) -> Decision:
        return Next()

    async def left(context: NodeContext) -> Decision:
        await context.once("left", lambda: world.do("left"), repeatable=False)
        return Next()

    async def right(context: NodeContext) -> Decision:
        await context.once("right", lambda: world.do("right"), repeatable=False)
        return Next()

    return graphs(Graph("main", "split", nodes(split, left, right), {"split": ["left", "right"]}))


SCENARIOS = [
    Scenario("straight", _straight, [[2, "first", "second"]], {"call": 1, "other call": 1}),
    Scenario("loop", _loop, [4], {f"round {number}": 1 for number in (1, 2, 3, 4)}),
    Scenario("branches", _branches, ["all done"], {"left": 1, "right": 1, "after": 1}),
    Scenario("stumbling", _stumbling, [None], {"walk": 1, "tried": 3}),
    Scenario("question", _question, ["approve"], {"draft": 1, "send": 1}),
    Scenario("deadline", _deadline, ["expired"], {}, people=say_nothing),
    Scenario("timer", _timer, ["timer"], {"wake": 1}),
    Scenario("early", _early, ["left"], {}, people=say_nothing),
    Scenario("photo-finish", _photo_finish, ["left"], {}, people=say_nothing),
    Scenario("child", _child, [["done", 40]], {"work": 1}),
    Scenario("grandchild", _grandchild, [["done", 21]], {"before": 1, "work": 1}),
    Scenario("asking-child", _asking_child, [["done", "work done"]], {"asked": 1, "work": 1}, once={"asked"}),
    Scenario("failing-child", _failing_child, [["failed", None]], {"work": 1}),
    Scenario("stopped", _stopped, [None], {"too late": 0}, once={"too late"}, status=ExecutionStatus.CANCELLED),
    Scenario("family", _family, [None], {"act": 1, "work": 1}),
    Scenario("grown", asking, [["old", "approve"], ["new", "approve"]], {"act": 1}, later=grown),
    Scenario("replaced", asking, [["old", "approve"], ["new", None]], {}, later=replaced, people=start_over),
]
PAYMENT = Scenario(
    "payment",
    _payment,
    ["paid", "skipped, for it had happened"],
    {"look": 1, "pay": 1, "log": 1, "asked": 1},
    once={"pay", "asked"},
)
PAYMENTS = [
    PAYMENT,
    Scenario("payments", _payments, [2], {"payment 1": 1, "payment 2": 1}, once={"payment 1", "payment 2"}),
    Scenario("order", _order, ["approve"], {"pay": 1, "ship": 1, "asked": 1}, once={"pay", "ship", "asked"}),
    Scenario("moody", _moody, [None], {"pay": 1}, once={"pay"}),
    Scenario("pair", _pair, [None], {"left": 1, "right": 1}, once={"left", "right"}),
]
