// Made from `arvis/workflows/document/kinds.py` by `python -m tests.fixtures.workflow_kinds`; not edited by hand.

/** The type of a field's value. `rows`: a list of objects that have fields; `switches`: an object of true and false. */
export type Form = "line" | "text" | "number" | "switch" | "choice" | "rows" | "switches" | "object" | "list";

/**
 * A field of a kind. `least`, `most`: the limits of a number, of the length of a text, or of the number of rows. `offers`: the
 * values that the editor offers (agents, tools, workflows, models, platforms or people). `template`: names in double braces are
 * replaced when the node runs. `words`: the labels of the choices, in the same order. `unoffered`: choices that a document of
 * another program may contain, but that the editor does not offer, because Arvis does not support them. `schema`: the object is
 * a JSON Schema.
 */
export interface Field {
  readonly name: string;
  readonly form: Form;
  readonly label: string;
  readonly help: string;
  readonly required: boolean;
  readonly default: unknown;
  readonly least: number | null;
  readonly most: number | null;
  readonly choices: readonly string[];
  readonly words: readonly string[];
  readonly fields: readonly Field[];
  readonly offers: string;
  readonly template: boolean;
  readonly unoffered: readonly string[];
  readonly schema: boolean;
}

export type KindName = "start" | "trigger" | "agent" | "tool-call" | "if" | "router" | "condition" | "approval" | "user-input" | "wait" | "loop" | "parallel" | "merge" | "sub-workflow" | "response" | "transfer";

/** The groups of kinds in the editor's palette. */
export type Category = "begin" | "agents" | "routing" | "people" | "flow";

/**
 * A kind of nodes. `outs` and `ins`: its source and target handles with their names (empty handle: the plain output or input).
 * `rowHandles` (field, prefix): each row of this field has a source handle, too, named by `rowNames`. `chooses`: a run
 * continues at one of the outputs, never at a connection without a handle. `summary` and `rowNames`: `filled` in `node.ts`.
 */
export interface Kind {
  readonly name: KindName;
  readonly label: string;
  readonly category: Category;
  readonly help: string;
  readonly fields: readonly Field[];
  readonly icon: string;
  readonly summary: readonly string[];
  readonly outs: Readonly<Record<string, string>>;
  readonly rowHandles: readonly [field: string, prefix: string] | null;
  readonly rowNames: readonly string[];
  readonly ins: Readonly<Record<string, string>>;
  readonly chooses: boolean;
  readonly begins: boolean;
}

/** A type of lines that only nodes of one kind write to the log of a run. `ends`: such a line is the last one of its step. */
export interface OwnLogType {
  readonly name: string;
  readonly label: string;
  readonly icon: string;
  readonly tone: string;
  readonly ends: boolean;
}

const field = (name: string, form: Form, label: string, more: Partial<Field> = {}): Field => ({
  name, form, label, help: "", required: false, default: null, least: null, most: null, choices: [], words: [], fields: [], offers: "",
  template: false, unoffered: [], schema: false, ...more,
});

export const MOST_BYTES = 1000000;
export const SUBAGENT = "subagent";
export const LOOP_BACK = "loop-back";

/** The fields that join several incoming connections. All kinds have them except those that begin a run. */
export const JOIN: Field = field("join", "choice", "When several branches arrive", { choices: ["each", "all", "any", "n"], words: ["Run for every arrival", "Run once, when all have arrived", "Run once, when the first has arrived", "Run once, when this number has arrived"] });
export const JOIN_COUNT: Field = field("joinCount", "number", "Number of branches", { help: "Used only with “Run once, when this number has arrived”.", least: 1, most: 2000 });

/** The settings of a document. */
export const SETTINGS: readonly Field[] = [
  field("agent", "line", "Agent", { help: "Used by nodes that name no agent. If empty: the agent that was addressed, otherwise the conductor.", most: 64, offers: "agents" }),
  field("pauses", "choice", "While a person is asked", { default: "run", choices: ["run", "branch"], words: ["Other branches wait, too", "Other branches continue"] }),
  field("unlabelled", "choice", "Connections without a named output", { help: "Applies to connections from nodes with several outputs.", default: "skip", choices: ["skip", "follow"], words: ["Never followed", "Always followed"] }),
  field("maxSteps", "number", "Maximum steps", { default: 1000, least: 1, most: 100000 }),
  field("maxVisits", "number", "Maximum visits of one node", { default: 100, least: 1, most: 10000 }),
];

export const KINDS: Readonly<Record<KindName, Kind>> = {
  start: {
    name: "start", label: "Start", category: "begin",
    help: "The beginning of a run; its output is the input of the run.",
    fields: [
      field("initialInput", "text", "Input", { help: "Used if the run is started without an input.", most: 65536 }),
    ],
    icon: "play", summary: ["{initialInput}", "Input of the run"],
    outs: {"": "Next"}, rowHandles: null, rowNames: [], ins: {}, chooses: false, begins: true,
  },
  trigger: {
    name: "trigger", label: "Trigger", category: "begin",
    help: "Starts a run automatically; its output is the event.",
    fields: [
      field("kind", "choice", "When", { required: true, choices: ["message", "chat-app", "dashboard", "workbench", "chat-completions", "schedule", "calendar", "heartbeat", "webhook", "manual"], words: ["A message arrives", "A message arrives in a chat app", "A person writes in the dashboard", "A person writes in the workbench", "A program calls the OpenAI-compatible API", "A schedule is due", "A calendar event begins", "The heartbeat is due", "A webhook is called", "A person starts it manually"], unoffered: ["calendar", "workbench"] }),
      field("description", "text", "Purpose", { help: "A model uses this to choose among several triggers.", most: 2000 }),
      field("platform", "line", "Platform", { help: "If empty: any.", most: 32, offers: "platforms" }),
      field("channel", "line", "Channel", { help: "If empty: any.", most: 200 }),
      field("words", "line", "Words", { help: "Separated by commas. The message must contain one of these words. If empty: any message.", most: 500 }),
    ],
    icon: "zap", summary: ["{description}", "{kind}", "Starts by itself"],
    outs: {"": "Next"}, rowHandles: null, rowNames: [], ins: {}, chooses: false, begins: true,
  },
  agent: {
    name: "agent", label: "Agent", category: "agents",
    help: "An agent works on the task.",
    fields: [
      field("agent", "line", "Agent", { help: "Does the work; if empty: the agent of the run.", most: 64, offers: "agents" }),
      field("agentName", "line", "Name", { help: "The name that people see, and the name of the tool if another agent calls this one.", most: 100 }),
      field("systemPrompt", "text", "Instructions", { help: "Added to the agent's own instructions.", most: 65536, template: true }),
      field("userPrompt", "text", "Task", { help: "If empty: the previous output. Arvis replaces {{PREVIOUS_OUTPUT}}, {{trigger}} and node names such as {{Label}} or {{Label.result}}.", most: 65536, template: true }),
      field("beforePrompt", "text", "Question before the task", { help: "A first question to the same agent; the question and its answer precede the task.", most: 65536, template: true }),
      field("afterPrompt", "text", "Question after the task", { help: "A last question about the result; its answer is the output.", most: 65536, template: true }),
      field("successCriteria", "text", "Success criteria", { help: "A model judges the result by these criteria. If the result does not meet them, the task is tried once more.", most: 65536, template: true }),
      field("completionContract", "switch", "Hand back with a summary", { help: "The result consists of a summary, an artifact, an open question and a next action." }),
      field("model", "line", "Model", { help: "In the form provider/model; if empty: the agent's own model.", most: 200, offers: "models" }),
      field("reasoningEffort", "choice", "Reasoning", { choices: ["", "none", "minimal", "low", "medium", "high", "xhigh"], words: ["", "None", "Minimal", "Low", "Medium", "High", "Very high"] }),
      field("outputSchema", "object", "Format of the output", { help: "A JSON Schema. The output is then JSON of this form, and later nodes can use its fields.", schema: true }),
      field("tools", "switches", "Tools", { fields: [field("web_search", "switch", "Search the web"), field("subagents", "switch", "Subagents")] }),
      field("allowTools", "list", "Only these tools", { help: "A selection from the agent's tools; if empty: all its tools.", most: 200, offers: "tools" }),
    ],
    icon: "bot", summary: ["{userPrompt}", "{systemPrompt}", "Works on the previous output"],
    outs: {"": "Next", "subagent": "Subagents"}, rowHandles: null, rowNames: [], ins: {"": "Input"}, chooses: false, begins: false,
  },
  "tool-call": {
    name: "tool-call", label: "Tool", category: "agents",
    help: "Calls one tool, without a model.",
    fields: [
      field("agent", "line", "Agent", { help: "Does the work; if empty: the agent of the run.", most: 64, offers: "agents" }),
      field("tool", "line", "Tool", { required: true, most: 128, offers: "tools" }),
      field("arguments", "object", "Arguments", { help: "Arvis replaces {{PREVIOUS_OUTPUT}}, {{trigger}} and node names such as {{Label}} or {{Label.result}}.", template: true }),
      field("review", "text", "Review before", { help: "Tells the agent what to check before the call. The agent may change the arguments.", most: 65536, template: true }),
    ],
    icon: "wrench", summary: ["{tool}", "Choose a tool"],
    outs: {"": "Next"}, rowHandles: null, rowNames: [], ins: {"": "Input"}, chooses: false, begins: false,
  },
  "if": {
    name: "if", label: "If", category: "routing",
    help: "Continues at the first condition that the previous output meets.",
    fields: [
      field("conditions", "rows", "Conditions", { most: 20, fields: [field("operator", "choice", "The output", { default: "equal", choices: ["equal", "contains"], words: ["is", "contains"] }), field("value", "line", "this", { help: "Empty texts never match. Arvis replaces {{PREVIOUS_OUTPUT}}, {{trigger}} and node names such as {{Label}} or {{Label.result}}.", most: 2000, template: true })] }),
    ],
    icon: "git-branch", summary: ["{conditions|condition}"],
    outs: {"false": "Otherwise"}, rowHandles: ["conditions", "condition-"], rowNames: ["{operator} “{value}”", "a condition without a value"], ins: {"": "Input"}, chooses: true, begins: false,
  },
  router: {
    name: "router", label: "Router", category: "routing",
    help: "An agent chooses one of the routes.",
    fields: [
      field("agent", "line", "Agent", { help: "Does the work; if empty: the agent of the run.", most: 64, offers: "agents" }),
      field("prompt", "text", "How to choose", { help: "Arvis replaces {{PREVIOUS_OUTPUT}}, {{trigger}} and node names such as {{Label}} or {{Label.result}}.", most: 65536, template: true }),
      field("routes", "rows", "Routes", { required: true, least: 1, most: 20, fields: [field("label", "line", "Name", { required: true, most: 100 }), field("description", "line", "When", { most: 500 })] }),
    ],
    icon: "signpost", summary: ["{prompt}", "{routes|route}"],
    outs: {}, rowHandles: ["routes", "route-"], rowNames: ["{label}", "Route {number}"], ins: {"": "Input"}, chooses: true, begins: false,
  },
  condition: {
    name: "condition", label: "Condition", category: "routing",
    help: "Decides between true and false. If the previous output has the fields of the rules, Arvis applies the rules; otherwise an agent decides.",
    fields: [
      field("agent", "line", "Agent", { help: "Does the work; if empty: the agent of the run.", most: 64, offers: "agents" }),
      field("combinator", "choice", "True if", { default: "and", choices: ["and", "or"], words: ["All rules match", "At least one rule matches"] }),
      field("rules", "rows", "Rules", { required: true, least: 1, most: 20, fields: [field("field", "line", "Field", { help: "A path such as order.total; empty: the whole output. If you enter a template, Arvis compares its value.", most: 200, template: true }), field("operator", "choice", "is", { default: "equals", choices: ["equals", "not_equals", "contains", "not_contains", "starts_with", "ends_with", "greater", "less", "at_least", "at_most", "empty", "not_empty", "exists", "matches"], words: ["equal to", "not equal to", "containing", "not containing", "beginning with", "ending with", "greater than", "less than", "at least", "at most", "empty", "not empty", "present", "matching the pattern"] }), field("value", "line", "Value", { help: "Arvis replaces {{PREVIOUS_OUTPUT}}, {{trigger}} and node names such as {{Label}} or {{Label.result}}.", most: 2000, template: true })] }),
    ],
    icon: "scale", summary: ["{rules|rule}"],
    outs: {"condition-true": "True", "condition-false": "False"}, rowHandles: null, rowNames: [], ins: {"": "Input"}, chooses: true, begins: false,
  },
  approval: {
    name: "approval", label: "Approval", category: "people",
    help: "A person approves or rejects.",
    fields: [
      field("prompt", "text", "Question", { help: "If empty: Arvis asks whether to continue. Arvis replaces {{PREVIOUS_OUTPUT}}, {{trigger}} and node names such as {{Label}} or {{Label.result}}.", most: 65536, template: true }),
      field("deadlineMinutes", "number", "Deadline", { help: "In minutes; if empty: no limit.", least: 1, most: 525600 }),
      field("onExpiry", "choice", "After the deadline", { default: "reject", choices: ["reject", "approve", "escalate", "fail"], words: ["It counts as rejected", "It counts as approved", "It is asked again, and the owners are notified", "The run fails"] }),
      field("escalateMinutes", "number", "Time after escalation", { help: "In minutes. After this time, the question counts as rejected.", least: 1, most: 525600 }),
      field("approvers", "list", "Who may answer", { help: "Roles and people; empty: the approvers in the configuration.", most: 50, offers: "people" }),
    ],
    icon: "shield-check", summary: ["{prompt}", "Asks whether to continue"],
    outs: {"approve": "Approved", "reject": "Rejected"}, rowHandles: null, rowNames: [], ins: {"": "Input"}, chooses: true, begins: false,
  },
  "user-input": {
    name: "user-input", label: "Ask the user", category: "people",
    help: "Waits for the person's next message, and returns this message as output.",
    fields: [
      field("prompt", "text", "Question", { help: "Arvis replaces {{PREVIOUS_OUTPUT}}, {{trigger}} and node names such as {{Label}} or {{Label.result}}.", most: 65536, template: true }),
      field("deadlineMinutes", "number", "Deadline", { help: "In minutes; if empty: no limit.", least: 1, most: 525600 }),
    ],
    icon: "message-circle-question-mark", summary: ["{prompt}", "Waits for the next message"],
    outs: {"": "Next"}, rowHandles: null, rowNames: [], ins: {"": "Input"}, chooses: false, begins: false,
  },
  wait: {
    name: "wait", label: "Wait", category: "flow",
    help: "Continues later, with the previous output.",
    fields: [
      field("amount", "number", "Duration", { required: true, least: 0, most: 100000 }),
      field("unit", "choice", "Unit", { default: "seconds", choices: ["seconds", "minutes", "hours", "days"] }),
    ],
    icon: "timer", summary: ["{amount} {unit}", "– {unit}"],
    outs: {"": "Next"}, rowHandles: null, rowNames: [], ins: {"": "Input"}, chooses: false, begins: false,
  },
  loop: {
    name: "loop", label: "Loop", category: "flow",
    help: "Repeats its body: the nodes between its output “Each repetition” and its input “Next repetition”.",
    fields: [
      field("agent", "line", "Agent", { help: "Does the work; if empty: the agent of the run.", most: 64, offers: "agents" }),
      field("maxIterations", "number", "Maximum repetitions", { default: 10, least: 1, most: 1000 }),
      field("condition", "text", "Ends when", { help: "The loop ends if this text is `true` or `yes`, or has the form `A contains B` and A contains B. If empty: it ends after the maximum number of repetitions.", most: 65536, template: true }),
      field("conditionMode", "choice", "Decided by", { default: "template", choices: ["template", "llm"], words: ["The text above, with its templates replaced", "A model"] }),
    ],
    icon: "repeat", summary: ["{condition}", "At most {maxIterations} repetitions"],
    outs: {"loop-start": "Each repetition", "loop-exit": "Afterwards"}, rowHandles: null, rowNames: [], ins: {"": "Input", "loop-back": "Next repetition"}, chooses: true, begins: false,
  },
  parallel: {
    name: "parallel", label: "Parallel", category: "flow",
    help: "Runs all following nodes at the same time, up to a merge. The merge reports failed branches.",
    fields: [],
    icon: "split", summary: ["All outputs in parallel"],
    outs: {"": "Next"}, rowHandles: null, rowNames: [], ins: {"": "Input"}, chooses: false, begins: false,
  },
  merge: {
    name: "merge", label: "Merge", category: "flow",
    help: "Joins branches; its output is the list of their outputs.",
    fields: [
      field("strategy", "choice", "Continues", { default: "wait-all", choices: ["wait-all", "first"], words: ["When all branches have arrived", "With the first that arrives"] }),
    ],
    icon: "merge", summary: ["{strategy}"],
    outs: {"": "Next"}, rowHandles: null, rowNames: [], ins: {"": "Input"}, chooses: false, begins: false,
  },
  "sub-workflow": {
    name: "sub-workflow", label: "Workflow", category: "flow",
    help: "Runs another workflow.",
    fields: [
      field("workflow", "line", "Workflow", { required: true, most: 64, offers: "workflows" }),
      field("input", "text", "Input", { help: "If empty: the previous output. Arvis replaces {{PREVIOUS_OUTPUT}}, {{trigger}} and node names such as {{Label}} or {{Label.result}}.", most: 65536, template: true }),
      field("awaitResponse", "switch", "Wait for its result", { default: true }),
    ],
    icon: "workflow", summary: ["{workflow}", "Choose a workflow"],
    outs: {"": "Next"}, rowHandles: null, rowNames: [], ins: {"": "Input"}, chooses: false, begins: false,
  },
  response: {
    name: "response", label: "Response", category: "people",
    help: "Posts a message where the run was requested; the message is the output of the node.",
    fields: [
      field("template", "text", "Text", { help: "If empty: the previous output. Arvis replaces {{PREVIOUS_OUTPUT}}, {{trigger}} and node names such as {{Label}} or {{Label.result}}.", most: 65536, template: true }),
      field("compose", "switch", "Let the agent phrase it"),
      field("agent", "line", "Agent", { help: "Does the work; if empty: the agent of the run.", most: 64, offers: "agents" }),
    ],
    icon: "message-square-reply", summary: ["{template}", "Sends the previous output"],
    outs: {"": "Next"}, rowHandles: null, rowNames: [], ins: {"": "Input"}, chooses: false, begins: false,
  },
  transfer: {
    name: "transfer", label: "Transfer", category: "flow",
    help: "Ends this run, and starts another workflow with the output of this run.",
    fields: [
      field("workflow", "line", "Workflow", { required: true, most: 64, offers: "workflows" }),
    ],
    icon: "arrow-right-left", summary: ["{workflow}", "Choose a workflow"],
    outs: {}, rowHandles: null, rowNames: [], ins: {"": "Input"}, chooses: false, begins: false,
  },
};

export const LOG_TYPES: Readonly<Record<string, OwnLogType>> = {
  escalated: { name: "escalated", label: "Asked again and notified the owners", icon: "hourglass", tone: "waiting", ends: false },
  timer: { name: "timer", label: "Waited for a set time", icon: "hourglass", tone: "waiting", ends: false },
  loop: { name: "loop", label: "Next repetition", icon: "circle", tone: "plain", ends: false },
  transfer: { name: "transfer", label: "Transferred to another workflow", icon: "circle", tone: "plain", ends: true },
};
