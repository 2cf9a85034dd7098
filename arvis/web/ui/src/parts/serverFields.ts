/** The values of a tool server's form: their text in the fields, and the values for the API. */

import type { Item } from "../api/types";
import { texts } from "./texts";

export type ServerField = NonNullable<Item<"GET /api/questions">["form"]>["fields"][number];
export type Written = Readonly<Record<string, string | readonly string[]>>;

/** The initial contents of the fields. */
export function startOf(fields: readonly ServerField[], values: Record<string, unknown>): Written {
  return Object.fromEntries(
    fields.map(({ name, kind }) => {
      const value = values[name];
      if (kind === "choices") return [name, Array.isArray(value) ? value.map(String) : []];
      return [name, value === undefined || value === null ? "" : String(value)];
    }),
  );
}

/** The value for the API, `undefined` for an empty optional field, or the reason why it cannot be sent. */
export function readValue(
  field: ServerField,
  written: string | readonly string[],
): { value: unknown } | { problem: string } {
  if (written.length === 0) return field.required ? { problem: texts.missing } : { value: undefined };
  if (typeof written !== "string") return { value: written };
  if (field.kind === "boolean") return { value: written === "true" };
  if (field.kind !== "number" && field.kind !== "integer") return { value: written };
  const number = Number(written);
  if (!Number.isFinite(number)) return { problem: texts.notNumber };
  if (field.kind === "integer" && !Number.isInteger(number)) return { problem: texts.notWhole };
  if (field.least !== null && number < field.least) return { problem: texts.atLeast(field.least) };
  if (field.most !== null && number > field.most) return { problem: texts.atMost(field.most) };
  return { value: number };
}
