"""Joins of branches: the gates of drawn graphs as arithmetic (ADR 0032)."""

from __future__ import annotations

from typing import Any

from arvis.domain.executions import Cursor
from arvis.engine.graph import Opened
from arvis.workflows.runtime.joins import ALL, ANY, COUNT, Join, LastOne, gate_of, merge_behind, merges_of, opened
from arvis.workflows.runtime.token import Token
from tests.flows.drawn_kit import drawing, node

BEFORE = frozenset({"node:a", "node:b", "node:p"})
ORDER = {"a": 0, "b": 1, "c": 2}


def at(name: str, mark: str = "", **token: Any) -> Cursor:
    return Cursor(mark or name, "execution", name, Token(**token).to_json())


def held(source: str, output: Any = None, mark: str = "", **more: Any) -> Cursor:
    return at("join:j", mark or source, source=source, output=output or source, **more)


def join(rule: str, count: int = 1, *, merges: bool = False, closes: frozenset[str] = frozenset()) -> Join:
    return Join("j", rule, BEFORE, ORDER, count, merges=merges, closes=closes)


def through(found: Opened | None) -> Token:
    assert found is not None
    assert found.through
    return Token.from_json(found.value)


def test_all_waits_for_whoever_can_still_come() -> None:
    assert join(ALL).open([held("a")], [at("node:b")], {}) is None
    assert through(join(ALL).open([held("a")], [at("node:elsewhere")], {})).output == "a"


def test_all_gives_what_came_in_the_order_of_the_document() -> None:
    token = through(join(ALL).open([held("b", {"x": 1}), held("a")], [], {}))
    assert token.output == ["a", {"x": 1}]
    assert token.joined == (("a", ""), ("b", ""))


def test_counts_of_branches_become_the_largest() -> None:
    one = held("a", rounds={"l": 2}, visits={"x": 1}, passed={"k": 3})
    other = held("b", rounds={"l": 1, "m": 4}, visits={"x": 5})
    token = through(join(ALL).open([one, other], [], {}))
    assert (token.rounds, token.visits, token.passed) == ({"l": 2, "m": 4}, {"x": 5}, {"k": 3, "j": 1})


def test_any_lets_the_first_through_and_ends_the_others() -> None:
    first = join(ANY).open([held("a")], [at("node:b")], {})
    assert through(first).output == "a"
    assert first is not None
    late = join(ANY).open([held("b")], [], first.changes)
    assert late is not None
    assert (late.taken, late.through) == (["b"], False)


def test_any_lets_who_went_through_come_again() -> None:
    state = {"join:j": [[[], 1]]}
    again = join(ANY).open([held("a", passed={"j": 1})], [], state)
    assert through(again).passed == {"j": 2}
    assert again is not None
    assert again.changes == {"join:j": [[[], 2]]}


def test_n_waits_for_so_many() -> None:
    assert join(COUNT, 2).open([held("a")], [], {}) is None
    assert through(join(COUNT, 2).open([held("a"), held("b")], [at("node:p")], {})).output == ["a", "b"]


def test_a_merge_gives_a_list_even_of_one() -> None:
    assert through(join(ALL, merges=True).open([held("a")], [], {})).output == ["a"]


def test_failed_branches_are_listed_as_failed() -> None:
    some = through(join(ALL, merges=True).open([held("a", failed="A: no"), held("b")], [], {}))
    assert (some.output, some.failed) == ([{"failed": "A: no"}, "b"], None)
    none = through(join(ALL, merges=True).open([held("a", failed="A: no"), held("b", failed="B: no")], [], {}))
    assert none.failed == "A: no; B: no"


def test_the_first_that_succeeds_counts() -> None:
    merge = join(ANY, merges=True)
    assert merge.open([held("a", failed="A: no")], [at("node:b")], {}) is None
    assert through(merge.open([held("a", failed="A: no"), held("b")], [], {})).output == ["b"]
    assert through(merge.open([held("a", failed="A: no")], [], {})).failed == "A: no"


def test_too_few_that_succeed_are_a_failure() -> None:
    merge = join(COUNT, 2, merges=True)
    assert through(merge.open([held("a", failed="A: no"), held("b")], [], {})).failed == "A: no"


def test_two_visits_of_one_parallel_are_kept_apart() -> None:
    merge = join(ALL, merges=True, closes=frozenset({"p"}))
    one, other = held("a", regions=("p#1",)), held("a", mark="a2", regions=("p#2",))
    assert through(merge.open([one, other], [], {})).output == ["a"]
    # One visit is complete although the other one still waits for its second branch.
    found = merge.open([one, other], [at("node:b", regions=("p#1",))], {})
    assert found is not None
    assert found.taken == ["a2"]


def test_a_region_ends_at_its_merge_with_all_that_was_opened_within() -> None:
    merge = join(ALL, merges=True, closes=frozenset({"p"}))
    one, other = held("a", regions=("o#1", "p#1", "q#1")), held("b", regions=("o#1", "p#1"))
    assert through(merge.open([one, other], [], {})).regions == ("o#1",)


def test_a_join_that_is_no_merge_leaves_its_regions_open() -> None:
    one, other = held("a", regions=("p#1", "q#1")), held("b", regions=("p#1",))
    assert through(join(ALL).open([one, other], [], {})).regions == ("p#1",)


def test_what_is_known_of_regions_that_are_over_is_forgotten() -> None:
    state = {"join:j": [[["p#1"], 1], [["p#2"], 1]]}
    opened_ = join(ANY).open([held("a", regions=("p#3",))], [at("node:b", regions=("p#2",))], state)
    assert opened_ is not None
    assert opened_.changes == {"join:j": [[["p#2"], 1], [["p#3"], 1]]}


def test_the_last_branch_ends_the_run() -> None:
    gate = LastOne()
    state = {"out:a": {"at": 2}, "out:b": {"at": 1}}
    ended = [at("last", "1", source="a"), at("last", "2", source="b")]
    dropped = gate.open(ended, [], state)
    assert dropped is not None
    assert (dropped.taken, dropped.through) == (["2"], False)
    assert gate.open(ended[:1], [at("node:x")], state) is None
    assert through(gate.open(ended[:1], [], state)).source == "a"


# -- regions of a document ---------------------------------------------------------------------------------------------


def test_each_parallel_has_the_merge_that_belongs_to_it() -> None:
    kinds = {"p": "parallel", "q": "parallel", "m": "merge", "n": "merge", "lone": "parallel"}
    document = drawing(
        *(node(each, kind) for each, kind in kinds.items()),
        *(node(each, "wait") for each in "abc"),
        ways=["p > a > n", "p > q > b > m > n", "q > c > m", "lone > a"],
    )
    # The branch of `lone` also leads to a merge, which closes it.
    assert merges_of(document) == {"p": "n", "q": "m", "lone": "n"}
    found = merge_behind(document, "b", ("p#1", "q#1"))
    assert found is not None
    assert (found.id, found.gate) == ("m", gate_of("m"))
    # After the inner merge comes the outer one, and after that none.
    outer = merge_behind(document, "m", ("p#1",))
    assert outer is not None
    assert outer.id == "n"
    assert merge_behind(document, "n", ("p#1",)) is None


def test_a_parallel_that_is_visited_again_on_the_same_way_begins_anew() -> None:
    assert opened(("p#1", "q#1"), "p", "2") == ("p#2",)
    assert opened(("p#1",), "q", "2") == ("p#1", "q#2")
