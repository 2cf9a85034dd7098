"""Arithmetic: the results equal exact fractions, take no noticeable time, and errors are clear to a model."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.errors import ToolError
from arvis.tools.calculate import text_of, value_of

RESULTS = [
    ("1+1", "2"),
    ("0.1+0.2", "0.3"),
    (" 2 * ( 3 + 4 ) ", "14"),
    ("2-3-4", "-5"),
    ("24/4/2", "3"),
    ("1/3", "0.3333333333333333333333333333"),
    ("2/3", "0.6666666666666666666666666667"),
    ("1/3*3", "1"),
    ("1/(1/3*3-1+1)", "1"),
    ("-2^2", "-4"),
    ("(-2)^2", "4"),
    ("2^-1", "0.5"),
    ("2^-2^2", "0.0625"),
    ("2^3^2", "512"),
    ("(2^3)^2", "64"),
    ("2**10", "1024"),
    ("--5", "5"),
    ("-+-5", "5"),
    ("3 - -2", "5"),
    ("4^0.5", "2"),
    ("27^(1/3)", "3"),
    ("2^0.5", "1.414213562373095048801688724"),
    ("2^100", "1267650600228229401496703205376"),
    ("0^0", "1"),
    ("0^0.5", "0"),
    ("(-1)^3000", "1"),
    ("(-1)^2999", "-1"),
    ("10%3", "1"),
    ("-7%3", "-1"),
    ("7%-3", "-2.93"),
    ("7%(-3)", "1"),
    ("7.5%2", "1.5"),
    ("19%", "0.19"),
    ("200*15%", "30"),
    ("50%+1", "1.5"),
    ("(20%)", "0.2"),
    ("1,000+1", "1001"),
    ("1,234,567.5*2", "2469135"),
    ("1e3", "1000"),
    ("1E-3", "0.001"),
    ("1.5e+2", "150"),
    (".5+5.", "5.5"),
    ("1e-30", "1e-30"),
    ("1/7*1e20", "14285714285714285714.28571429"),
    ("10^99", "1" + "0" * 99),
    ("10^100", "1e+100"),
    ("-0", "0"),
    ("0/5", "0"),
    ("007", "7"),
]


@pytest.mark.parametrize(("expression", "result"), RESULTS)
def test_results(expression: str, result: str) -> None:
    assert text_of(value_of(expression)) == result


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("", "missing at the end"),
        ("   ", "missing at the end"),
        ("1+", "missing at the end"),
        ("*2", "missing before '*'"),
        ("5//2", "missing before '/'"),
        ("()", "missing before"),
        ("(1", "closing parenthesis"),
        ("1)", "cannot follow a number"),
        ("2(3)", "Write \\* to multiply"),
        ("2 3", "cannot follow a number"),
        ("1.2.3", "cannot follow a number"),
        ("1,5", "comma"),
        ("1,0000", "cannot follow a number"),
        ("1234,567", "comma"),
        ("3e", "is not a number"),
        ("e", "is not a number"),
        (".", "is not a number"),
        ("1e5e5", "is not a number"),
        ("sqrt(4)", "contains q r s t. Use only numbers"),
        ("__import__('os')", "The expression contains"),
        ("\uff12+\uff12", "The expression contains"),
        ("1/0", "division by zero"),
        ("1%0", "division by zero"),
        ("0^-1", "division by zero"),
        ("(-8)^(1/3)", "negative number"),
        ("9^9^9^9", "too large"),
        ("9^9^9^0.9", "too large"),
        ("1e3000*1e3000", "too large"),
        ("1e3001", "too large"),
        ("1e-99999999999999999999", "too small"),
        ("0.5^1e3000", "too small"),
        ("99999.5^2000", "too large"),
        ("1.0000001^10000000", "too large"),
        ("(" * 500 + "1" + ")" * 500, "nested"),
        ("2^" * 499 + "2", "nested"),
    ],
)
def test_what_has_no_result_says_why(expression: str, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        value_of(expression)


numbers = st.one_of(
    st.integers(0, 10**6).map(str), st.decimals(0, 1000, places=3).map(str), st.integers(0, 10**9).map("{:,}".format)
)
trees = st.recursive(
    numbers.map(lambda text: (text, Fraction(text.replace(",", "")))),
    lambda parts: st.one_of(
        st.tuples(parts, st.sampled_from("+-*/%"), parts).map(lambda found: joined(*found)),
        parts.map(lambda part: (f"(-{part[0]})", None if part[1] is None else -part[1])),
        parts.map(lambda part: (f"({part[0]}%)", None if part[1] is None else part[1] / 100)),
        st.tuples(parts, st.integers(-3, 4)).map(lambda found: raised(*found)),
    ),
    max_leaves=12,
)
Tree = tuple[str, Fraction | None]


def joined(left: Tree, sign: str, right: Tree) -> Tree:
    text = f"({left[0]} {sign} {right[0]})"
    if left[1] is None or right[1] is None or (sign in "/%" and right[1] == 0):
        return text, None
    match sign:
        case "+":
            return text, left[1] + right[1]
        case "-":
            return text, left[1] - right[1]
        case "*":
            return text, left[1] * right[1]
        case "/":
            return text, left[1] / right[1]
    return text, left[1] - right[1] * math.trunc(left[1] / right[1])


def raised(base: Tree, exponent: int) -> Tree:
    text = f"({base[0]}^({exponent}))"
    if base[1] is None or (base[1] == 0 and exponent < 0):
        return text, None
    return text, base[1] ** exponent


def outcome(expression: str) -> Fraction | ToolError:
    try:
        return value_of(expression)
    except ToolError as error:
        return error


@given(trees)
def test_it_agrees_with_fractions(tree: Tree) -> None:
    expression, expected = tree
    found = outcome(expression)
    if isinstance(found, ToolError):
        assert expected is None or "too" in str(found)
    else:
        assert found == expected


@given(st.fractions())
def test_what_is_shown_is_near_the_value(value: Fraction) -> None:
    assert abs(Fraction(Decimal(text_of(value))) - value) <= abs(value) / 10**27


@given(st.text(alphabet="0123456789+-*/().,%^eE ", max_size=200))
def test_any_text_is_a_number_or_told_to_be_none(expression: str) -> None:
    found = outcome(expression)
    assert str(found) if isinstance(found, ToolError) else text_of(found)


@given(st.lists(st.sampled_from(["9", "^", "0.5", "(", ")", "1e3000", "*", "/", "-", "%", "9999999"]), max_size=300))
def test_nothing_takes_for_ever(parts: list[str]) -> None:
    found = outcome("".join(parts))
    assert str(found) if isinstance(found, ToolError) else text_of(found)
