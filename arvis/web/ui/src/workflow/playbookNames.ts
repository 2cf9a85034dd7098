// Made from `arvis/workflows/document/playbooks.py` by `python -m tests.fixtures.workflow_rules`; not edited by hand.

/** By kind: the names of fields in playbooks, and ours. */
export const NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "trigger": {
    "triggerDescription": "description"
  },
  "agent": {
    "agentId": "agent",
    "additionalPrompt": "systemPrompt",
    "userMessage": "userPrompt"
  },
  "tool-call": {
    "agentId": "agent",
    "defaults": "arguments",
    "preCallDescription": "review"
  },
  "router": {
    "agentId": "agent",
    "classificationPrompt": "prompt"
  },
  "condition": {
    "agentId": "agent"
  },
  "wait": {
    "delayAmount": "amount",
    "delayUnit": "unit"
  },
  "sub-workflow": {
    "workflowId": "workflow"
  },
  "user-input": {
    "promptText": "prompt"
  },
  "response": {
    "responseTemplate": "template"
  },
  "transfer": {
    "targetWorkflowId": "workflow"
  }
};

/** The names of operators in playbooks, and ours. */
export const OPERATORS: Readonly<Record<string, string>> = {
  "=": "equals",
  "==": "equals",
  "===": "equals",
  "eq": "equals",
  "equal": "equals",
  "is": "equals",
  "!=": "not_equals",
  "!==": "not_equals",
  "ne": "not_equals",
  "neq": "not_equals",
  "not_equal": "not_equals",
  "is_not": "not_equals",
  "includes": "contains",
  "not_includes": "not_contains",
  "does_not_contain": "not_contains",
  ">": "greater",
  "gt": "greater",
  "greater_than": "greater",
  "<": "less",
  "lt": "less",
  "less_than": "less",
  ">=": "at_least",
  "gte": "at_least",
  "greater_or_equal": "at_least",
  "greater_than_or_equal": "at_least",
  "<=": "at_most",
  "lte": "at_most",
  "less_or_equal": "at_most",
  "less_than_or_equal": "at_most",
  "is_empty": "empty",
  "is_not_empty": "not_empty",
  "regex": "matches"
};

/** The triggers whose names in playbooks differ from ours, and our names. */
export const TRIGGERS: Readonly<Record<string, string>> = {
  "sulla-desktop": "dashboard"
};
