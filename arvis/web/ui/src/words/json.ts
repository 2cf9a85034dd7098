/** The value of a JSON text, or `otherwise` if the text is not JSON. */
export function jsonOf(text: string, otherwise?: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** The value if it is a JSON object, else null. */
export function objectOf(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}
