"""The fields of agents as nodes, and those that several kinds have."""

from __future__ import annotations

from arvis.workflows.fields import Field, Form

LONG = 65_536
TEMPLATES = "{{PREVIOUS_OUTPUT}}, {{trigger}}, {{Label}} and {{Label.result}} are replaced."
AGENT = Field("agent", Form.LINE, "Agent", "Who does it; empty: the agent of the run.", most=64, offers="agents")
DEADLINE = Field(
    "deadlineMinutes", Form.NUMBER, "Deadline", "In minutes; empty: it waits for ever.", least=1, most=525_600
)

AGENT_FIELDS: tuple[Field, ...] = (
    AGENT,
    Field("agentName", Form.LINE, "Name", "As it is shown, and as a tool of another agent.", most=100),
    Field("systemPrompt", Form.TEXT, "Instructions", "Joined to the agent's own.", most=LONG, template=True),
    Field("userPrompt", Form.TEXT, "Task", f"Empty: the previous output. {TEMPLATES}", most=LONG, template=True),
    Field(
        "beforePrompt",
        Form.TEXT,
        "Asked before",
        "A first question to the same agent; its answer stands before the task.",
        most=LONG,
        template=True,
    ),
    Field(
        "afterPrompt",
        Form.TEXT,
        "Asked after",
        "What to make of the result; its answer is the output.",
        most=LONG,
        template=True,
    ),
    Field(
        "successCriteria",
        Form.TEXT,
        "Success criteria",
        "The result is judged by these, and the task tried once more where it falls short.",
        most=LONG,
        template=True,
    ),
    Field(
        "completionContract",
        Form.SWITCH,
        "Hand back with a summary",
        "Summary, artifact, what it needs, what to do next.",
    ),
    Field("model", Form.LINE, "Model", "As provider/model; empty: the agent's own.", most=200, offers="models"),
    Field(
        "reasoningEffort",
        Form.CHOICE,
        "Reasoning",
        choices=("", "none", "low", "medium", "high"),
        words=("", "None", "A little", "Some", "Much"),
    ),
    Field(
        "tools",
        Form.SWITCHES,
        "Tools",
        fields=(
            Field("web_search", Form.SWITCH, "Search the web"),
            Field("subagents", Form.SWITCH, "Subagents"),
        ),
    ),
    Field(
        "allowTools",
        Form.LIST,
        "Only these tools",
        "Of those that the agent has; empty: all of them.",
        most=200,
        offers="tools",
    ),
)
