"""Questions about earlier times, and the periods of facts."""

from __future__ import annotations

import pytest

from arvis.domain.validity import asks_about_the_past, end_of, start_of

#: Questions that need facts of the past, in seven languages.
PAST = """
Where did I live before?
What was my previous job?
Which editor did I use earlier?
Who was my dentist in 2024?
Where did I work last year?
What did we use to call the project? I mean formerly
Which phone did I have until recently?
Wo habe ich früher gewohnt?
Wie hieß mein vorheriger Chef?
Wo wohnte ich 2023?
Wer war damals mein Arzt?
Où est-ce que j'habitais auparavant ?
Quel était mon ancien employeur ?
¿Dónde vivía antes?
¿Cuál era mi dirección anterior?
Dove abitavo prima?
Где я жил раньше?
我以前住在哪里
前はどこに住んでいましたか
예전에 어디 살았지?
""".strip().splitlines()

#: Texts that need no facts of the past.
PRESENT = """
Where do I live?
Before you answer, read the file.
Check the budget before we send the offer.
What is my favourite colour?
Remind me tomorrow at nine.
Read the invoice of 2024 and sum it up.
The meeting was good.
Who is my dentist?
Please shorten this text.
Wo wohne ich?
Bevor du antwortest, lies die Datei.
Wie heißt mein Chef?
Où est-ce que j'habite ?
Relis le texte avant de répondre.
¿Dónde vivo?
Guarda el archivo antes de cerrar.
Dove abito?
Где я живу?
我住在哪里
어디 살지?
""".strip().splitlines()


@pytest.mark.parametrize("text", PAST)
def test_a_question_about_earlier_times_is_recognised(text: str) -> None:
    assert asks_about_the_past(text)


@pytest.mark.parametrize("text", PRESENT)
def test_another_text_is_none(text: str) -> None:
    assert not asks_about_the_past(text)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2024", 366),
        ("2023", 365),
        ("2024-02", 29),
        ("2024-12", 31),
        ("2024-12-31", 1),
        ("1600", 366),
        ("9998-12-31", 1),
    ],
)
def test_a_period_is_a_year_a_month_or_a_day(text: str, days: int) -> None:
    start, end = start_of(text, "UTC"), end_of(text, "UTC")
    assert start is not None
    assert end is not None
    assert (end - start) // 86_400_000 == days


@pytest.mark.parametrize(
    "text", ["", "24", "2024-13", "2023-02-29", "0000", "9999", "2024-1", "yesterday", "2024-01-01x", "٢٠٢٤"]
)
def test_another_text_is_no_period(text: str) -> None:
    assert end_of(text, "Europe/Berlin") is None
