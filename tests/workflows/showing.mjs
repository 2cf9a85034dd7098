// The texts of nodes in the diagram. Each line of the input is a node. Each line of the output has its summary and the names
// of its outputs.

import { createInterface } from "node:readline";
import { filled, handlesOf, kindOf } from "../../arvis/web/ui/src/workflow/node.ts";

const answers = [];
for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
  const node = JSON.parse(line);
  const { summary, fields } = kindOf(node);
  const ways = handlesOf(node).sources.map(({ name }) => name);
  answers.push(JSON.stringify({ summary: filled(summary, fields, node.data), ways }));
}
process.stdout.write(`${answers.join("\n")}\n`);
