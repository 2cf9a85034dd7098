"""Tool `calculate`: does exact arithmetic.

The tool uses fractions and its own parser: no text is ever evaluated as code.

Two characters are ambiguous. `%` before a number or a parenthesis is the remainder: `10 % 3` is 1, and the result has
the sign of the dividend. In all other places `%` means percent: `10% + 3` is 3.1. A comma is allowed only between
groups of three digits, because `1,5` means different numbers to different people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, InvalidOperation, Overflow, Underflow
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.regex import regex
from arvis.domain.tools import Risk, ToolDeclaration
from arvis.ports.tool import Tool, ToolServices
from arvis.tools.function import FunctionTool

_ALLOWED = regex(r"[-0-9+*/().,%^eE\s]*")
_TOKEN = regex(
    r"\s*(?:(?P<number>(?:(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<sign>\*\*|[-+*/%^()]))"
)
#: The maximum size of a number in bits, the largest exponent, and the maximum depth of parentheses. With these limits,
#: no expression takes noticeable time.
_MOST_BITS = 10_000
_MOST_EXPONENT = 3000
_MOST_DEPTH = 60
#: Roots are computed with more digits than are kept, so that the cube root of 27 is 3.
_ROOT_DIGITS, _ROOT_DIGITS_KEPT = 60, 45
_SHOWN_DIGITS = 28
_SHOWN_WHOLE_DIGITS = 100

DECLARATION = ToolDeclaration(risk=Risk.READ, harmless=True, own_output=True)


def create(services: ToolServices) -> Tool:  # noqa: ARG001 (as every entry point)
    async def calculate(
        expression: Annotated[str, Field(max_length=1000, description="Such as (1,200 + 35.5) * 19% or 2^0.5")],
    ) -> str:
        """Compute an arithmetic expression exactly. Supports + - * / ^ (power), parentheses, numbers such as 1,200.5 or
        1e6, and %: remainder between two operands (10 % 3), percent after one (19%)."""
        return text_of(value_of(expression))

    return FunctionTool(calculate, DECLARATION)


def value_of(expression: str) -> Fraction:
    """Return the value of an expression. Raise `ToolError` if the text is not an expression, or its value is not a real
    number or is too large."""
    parser = _Parser(tokens=_tokens(expression))
    return parser.whole()


def text_of(value: Fraction) -> str:
    """Return the value as text: a whole number of up to a hundred digits completely, any other value with 28
    significant digits."""
    if value.denominator == 1 and abs(value.numerator) < 10**_SHOWN_WHOLE_DIGITS:
        return str(value.numerator)
    shown = Context(prec=_SHOWN_DIGITS).divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    plain = -_SHOWN_DIGITS // 2 <= shown.adjusted() < _SHOWN_DIGITS
    return f"{shown:f}" if plain else f"{shown:e}"


def _tokens(expression: str) -> list[str]:
    if not _ALLOWED.fullmatch(expression):
        strange = sorted({letter for letter in expression if not _ALLOWED.fullmatch(letter)})
        raise ToolError(f"The expression contains {' '.join(strange[:10])}. Use only numbers and + - * / ^ % ( ).")
    tokens: list[str] = []
    place, end = 0, len(expression.rstrip())
    while place < end:
        found = _TOKEN.match(expression, place, end)
        if found is None:
            raise ToolError(
                f"{expression[place:end].strip()[:20]!r} is not a number. A comma must be followed by three digits."
            )
        tokens.append(found["number"] or found["sign"])
        place = found.end()
    return tokens


class _Parser:
    """A parser with one method for each level of precedence, from the lowest to the highest. Every method raises
    `ToolError` for an invalid expression."""

    def __init__(self, *, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    def whole(self) -> Fraction:
        value = self._sum()
        if (rest := self._next()) is not None:
            raise ToolError(f"{rest!r} cannot follow a number. Write * to multiply.")
        return value

    def _sum(self) -> Fraction:
        value = self._product()
        while (sign := self._take("+", "-")) is not None:
            other = self._product()
            value = _bounded(value + other if sign == "+" else value - other)
        return value

    def _product(self) -> Fraction:
        value = self._signed()
        while (sign := self._take("*", "/", "%")) is not None:
            other = self._signed()
            if sign == "*":
                value = _bounded(value * other)
            elif other == 0:
                raise ToolError("A division by zero has no result.")
            else:
                value = _bounded(value / other if sign == "/" else value - other * math.trunc(value / other))
        return value

    def _signed(self) -> Fraction:
        negative = False
        while (sign := self._take("+", "-")) is not None:
            negative ^= sign == "-"
        value = self._power()
        return -value if negative else value

    def _power(self) -> Fraction:
        base = self._percent()
        if self._take("^", "**") is None:
            return base
        self._enter()
        exponent = self._signed()
        self._depth -= 1
        return _raised(base, exponent)

    def _percent(self) -> Fraction:
        value = self._atom()
        while self._next() == "%" and not _begins_operand(self._next(1)):
            self._place += 1
            value = _bounded(value / 100)
        return value

    def _atom(self) -> Fraction:
        first = self._next()
        self._place += 1
        if first is None or not _begins_operand(first):
            raise ToolError(f"A number is missing before {first!r}." if first else "A number is missing at the end.")
        if first != "(":
            return _number(first)
        self._enter()
        value = self._sum()
        self._depth -= 1
        if self._take(")") is None:
            raise ToolError("A closing parenthesis is missing.")
        return value

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise ToolError(f"The expression is nested more than {_MOST_DEPTH} times.")

    def _next(self, ahead: int = 0) -> str | None:
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else None

    def _take(self, *signs: str) -> str | None:
        token = self._next()
        if token not in signs:
            return None
        self._place += 1
        return token


def _begins_operand(token: str | None) -> bool:
    return token is not None and token[0] in "0123456789.("


def _number(token: str) -> Fraction:
    mantissa, _, exponent = token.replace(",", "").lower().partition("e")
    if len(exponent.lstrip("+-0")) > len(str(_MOST_EXPONENT)) or abs(int(exponent or 0)) > _MOST_EXPONENT:
        raise ToolError(f"{token[:20]} is too large or too small.")
    return _bounded(Fraction(f"{mantissa.removesuffix('.')}e{exponent or 0}"))


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
        raise ToolError("The result or a part of it is too large, too small or has too many digits.")
    return value


def _raised(base: Fraction, exponent: Fraction) -> Fraction:
    if base == 0 and exponent < 0:
        raise ToolError("Zero has no negative power: that would be a division by zero.")
    if abs(base) in {0, 1} and exponent.denominator == 1:
        return base if exponent % 2 else abs(base) if exponent else Fraction(1)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length(), 1)
    if abs(exponent) * (bits - 1) > _MOST_BITS:
        raise ToolError("The result of the power is too large or too small.")
    if exponent.denominator == 1:
        return _bounded(base**exponent.numerator)
    if base < 0:
        raise ToolError("A root of a negative number is not a real number.")
    return _root(base, exponent)


def _root(base: Fraction, exponent: Fraction) -> Fraction:
    context = Context(
        prec=_ROOT_DIGITS, Emax=_MOST_BITS, Emin=-_MOST_BITS, traps=[InvalidOperation, Overflow, Underflow]
    )
    try:
        power = context.power(_decimal(base, context), _decimal(exponent, context))
    except (InvalidOperation, Overflow, Underflow):
        raise ToolError("The result of the power is too large or too small.") from None
    return _bounded(Fraction(Context(prec=_ROOT_DIGITS_KEPT).plus(power)))


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
