"""What the choices of fields are called where people make them, in the order of the choices."""

from __future__ import annotations

TRIGGER_WORDS = (
    "A message comes",
    "A message comes in a chat app",
    "Somebody writes in the dashboard",
    "Somebody writes in the workbench",
    "A program asks over the API for models",
    "A schedule is due",
    "An event of the calendar begins",
    "The heartbeat comes",
    "A web hook is called",
    "Somebody begins it by hand",
)

#: Kinds of triggers that documents of other programs have and nothing here begins.
UNSERVED_TRIGGERS = frozenset({"calendar", "workbench"})
#: Kinds of triggers that a row of another kind has to name: what it is called, and how it is added.
CALLED_TRIGGERS = {
    "schedule": ("schedule", "`arvis schedules create --workflow`"),
    "heartbeat": ("heartbeat", "`arvis schedules create --heartbeat --workflow`"),
    "webhook": ("web hook", "`arvis webhooks create --workflow`"),
}

#: Each is read after the word "is".
RULE_WORDS = (
    "equal to",
    "not equal to",
    "containing",
    "not containing",
    "beginning with",
    "ending with",
    "greater than",
    "less than",
    "at least",
    "at most",
    "empty",
    "not empty",
    "there at all",
    "matching the pattern",
)
