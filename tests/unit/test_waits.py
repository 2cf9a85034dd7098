"""The time until a vendor accepts requests again, in every form that vendors use."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from arvis.providers.failures import wait_in
from arvis.testing.clock import SteppedClock

NOW = SteppedClock()  # 2027-01-15 08:00:00 UTC


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "1"}, 1.0),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30.0),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5),
        ({"retry-after-ms": "soon", "Retry-After": "2"}, 2.0),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2027-01-15T08:00:12Z",
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2027-01-15T08:00:40Z",
                "anthropic-ratelimit-input-tokens-remaining": "9000",
                "anthropic-ratelimit-input-tokens-reset": "2027-01-15T09:00:00Z",
            },
            40.0,
        ),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1s"}, None),
        ({"x-ratelimit-reset": "1800000007"}, 7.0),
        ({"x-ratelimit-reset": "1800000009000"}, 9.0),
        ({"ratelimit-reset": "50"}, 50.0),
        ({"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "soon"}, None),
        ({"x-ratelimit-reset": "nan"}, None),
        ({"x-ratelimit-reset": ""}, None),
        ({"x-ratelimit-reset": "-5"}, None),
        ({"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "9" * 400}, 86_400.0),
    ],
)
def test_a_vendor_says_when(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_in(CIMultiDict(headers), NOW, limited=True) == pytest.approx(seconds)


def test_allowances_say_nothing_of_an_error_that_is_no_limit() -> None:
    assert wait_in(CIMultiDict({"ratelimit-reset": "50"}), NOW, limited=False) is None


def test_the_servers_clock_counts() -> None:
    headers = {
        "Date": "Fri, 15 Jan 2027 09:00:00 GMT",
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-tokens-reset": "2027-01-15T09:00:05Z",
    }
    assert wait_in(CIMultiDict(headers), NOW, limited=True) == 5.0
