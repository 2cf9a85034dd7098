// The editor's rules as a process: a document and the names that are known in each line of its input, and in each line of its output
// what they make of it.

import { createInterface } from "node:readline";
import { check } from "../../arvis/web/ui/src/workflow/checking.ts";
import { normalise } from "../../arvis/web/ui/src/workflow/document.ts";

const answers = [];
for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
  const { raw, known } = JSON.parse(line);
  const document = normalise(raw);
  const names = Object.entries(known).map(([of, list]) => [of, new Set(list)]);
  answers.push(JSON.stringify({ document, problems: check(document, Object.fromEntries(names)) }));
}
process.stdout.write(`${answers.join("\n")}\n`);
