// Judges documents by the editor's rules. Each line of the input has a document and the known names. Each line of the
// output has the judgement.

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
