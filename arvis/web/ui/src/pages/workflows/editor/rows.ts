/** Rows of a field that define outputs: each connection moves with its row. */

import { kindOf } from "../../../workflow/node";
import type { JsonObject, WorkflowDocument, WorkflowNode } from "../../../workflow/types";

export function addRow(document: WorkflowDocument, id: string, field: string, row: JsonObject): WorkflowDocument {
  const node = nodeIn(document, id);
  if (node === undefined) return document;
  return renumbered(document, node, field, [...rowsIn(node, field), row], (place) => place);
}

/** The connections of the row are removed with it. */
export function removeRow(document: WorkflowDocument, id: string, field: string, row: number): WorkflowDocument {
  const node = nodeIn(document, id);
  const rows = node === undefined ? [] : rowsIn(node, field);
  if (node === undefined || rows[row] === undefined) return document;
  const after = (place: number) => (place === row ? null : place > row ? place - 1 : place);
  return renumbered(document, node, field, rows.toSpliced(row, 1), after);
}

export function moveRow(
  document: WorkflowDocument,
  id: string,
  field: string,
  row: number,
  to: number,
): WorkflowDocument {
  const node = nodeIn(document, id);
  const rows = node === undefined ? [] : rowsIn(node, field);
  const moving = rows[row];
  if (node === undefined || moving === undefined || to === row || to < 0 || to >= rows.length) return document;
  const order = rows
    .map((_, place) => place)
    .toSpliced(row, 1)
    .toSpliced(to, 0, row);
  const next = order.map((place) => rows[place] as JsonObject);
  return renumbered(document, node, field, next, (place) => order.indexOf(place));
}

const nodeIn = (document: WorkflowDocument, id: string) => document.nodes.find((node) => node.id === id);

function rowsIn(node: WorkflowNode, field: string): JsonObject[] {
  const rows = node.data[field];
  return Array.isArray(rows) ? (rows as JsonObject[]) : [];
}

/** Replace the rows; `after` maps each row's connections to their new row, `null`: removed. */
function renumbered(
  document: WorkflowDocument,
  node: WorkflowNode,
  field: string,
  rows: JsonObject[],
  after: (place: number) => number | null,
): WorkflowDocument {
  const handles = kindOf(node)?.rowHandles;
  const prefix = handles?.[0] === field ? handles[1] : null;
  const nodes = document.nodes.map((one) => (one === node ? { ...one, data: { ...one.data, [field]: rows } } : one));
  if (prefix === null) return { ...document, nodes };
  const connections = document.connections.flatMap((one) => {
    const place = one.source === node.id ? placeOf(one.sourceHandle, prefix) : null;
    if (place === null) return [one];
    const now = after(place);
    return now === null || now < 0 ? [] : [now === place ? one : { ...one, sourceHandle: `${prefix}${now}` }];
  });
  return { ...document, nodes, connections };
}

function placeOf(handle: string, prefix: string): number | null {
  const number = handle.startsWith(prefix) ? handle.slice(prefix.length) : "";
  return /^\d+$/.test(number) ? Number(number) : null;
}
