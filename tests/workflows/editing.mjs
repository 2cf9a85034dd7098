// Applies the editor's actions to documents. Each line of the input has a document and actions. Each line of the output
// has the documents after each action, after all actions are undone, and after all are redone.

import { createInterface } from "node:readline";
import { begun, editing } from "../../arvis/web/ui/src/pages/workflows/editor/editing.ts";

const answers = [];
for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
  const { document, actions } = JSON.parse(line);
  let state = begun(document);
  const after = actions.map((action) => {
    state = editing(state, action);
    return state.document;
  });
  const steps = state.past.length;
  for (let step = 0; step < steps; step++) state = editing(state, { do: "undo" });
  const undone = state.document;
  for (let step = 0; step < steps; step++) state = editing(state, { do: "redo" });
  answers.push(JSON.stringify({ after, steps, undone, redone: state.document }));
}
process.stdout.write(`${answers.join("\n")}\n`);
