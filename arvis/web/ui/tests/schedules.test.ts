import { expect, test } from "vitest";
import { BLANK, bodyOf, draftOf, given } from "../src/pages/schedules/draft";
import { kindOf, nameOf, type ScheduleDetail, whenInWords } from "../src/pages/schedules/schedule";

test.each([
  ["every 5 m", "Every 5 minutes"],
  ["every 1 hours", "Every hour"],
  ["EVERY DAY", "Every day"],
  ["@weekly", "Every Sunday at midnight"],
  ["*/15 * * * *", "Every 15 minutes"],
  ["0 8 * * *", "Every day at 08:00"],
  ["5 9 * * 1-5", "Monday to Friday at 09:05"],
  ["0 8 * * 0,6", "Sunday and Saturday at 08:00"],
  ["0 8 * * 7", "Sunday at 08:00"],
  ["0 0 15 * *", "On day 15 of every month at 00:00"],
  ["at 2027-01-15 08:00", "Once at 2027-01-15 08:00"],
])("%s is shown as text", (written, words) => expect(whenInWords(written)).toBe(words));

test.each(["0 8 1 * 1", "0 8 * 2 *", "1,2 8 * * *", "0 8 * * MON", "0 8 * * * *", "every 5 x", "\u202E0 8"])(
  "%s is shown unchanged, with its hidden characters",
  (written) => expect(whenInWords(written)).toBe(written.replace("\u202E", "[U+202E]")),
);

const KNOWN = {
  ...{ id: "1", kind: "heartbeat", agent: "helper", name: "", schedule: "@daily", timezone: null, prompt: "Look" },
  ...{ platform: "slack", connector: "main", channelId: "C1", thread: "", misfirePolicy: "all" },
  ...{ misfireGraceMs: 90_000, graph: null, maxIterations: 3, script: null },
} as unknown as ScheduleDetail;

test("a schedule is written as it was read", () => {
  expect(bodyOf(draftOf(KNOWN))).toEqual({
    ...{ name: "", schedule: "@daily", prompt: "Look", timezone: null, graph: null, maxIterations: 3, script: null },
    ...{ platform: "slack", connector: "main", channelId: "C1", thread: "" },
    ...{ misfirePolicy: "all", misfireGraceMs: 90_000, model: null, effort: null },
  });
});

test("a schedule of a workflow has no model and no effort of its own", () => {
  const draft = { ...BLANK, model: "openai/gpt-5", effort: "high" as const };
  expect(bodyOf(draft)).toMatchObject({ model: "openai/gpt-5", effort: "high" });
  expect(bodyOf({ ...draft, graph: "workflow:1" })).toMatchObject({ model: null, effort: null });
});

test("minutes may have fractions, and an empty field means no limit", () => {
  expect(draftOf(KNOWN).grace).toBe("1.5");
  expect(bodyOf({ ...BLANK, grace: "0.1" }).misfireGraceMs).toBe(6_000);
  expect(bodyOf({ ...BLANK, grace: "" }).misfireGraceMs).toBeNull();
});

test("a script is JSON and has no graph", () => {
  const draft = { ...BLANK, kind: "script" as const, graph: "agent", script: '{"type": "script"}' };
  expect(bodyOf(draft)).toMatchObject({ script: { type: "script" }, graph: null });
  expect(() => bodyOf({ ...draft, script: "{" })).toThrow(/JSON/);
  expect(JSON.parse(draftOf({ ...KNOWN, script: { url: "x" } }).script)).toEqual({ url: "x" });
  expect(JSON.parse(draftOf(KNOWN).script)).toMatchObject({ type: "script" });
  expect(kindOf({ kind: "heartbeat", script: {} } as never)).toBe("script");
});

test("a new schedule has no values to remove", () => {
  expect(Object.values(given(bodyOf(BLANK)))).not.toContain(null);
});

test("a schedule without a name has one in the list", () => {
  expect(nameOf({ name: "" })).toBe("Unnamed");
  expect(nameOf({ name: "a\u200Bb" })).toBe("a[U+200B]b");
});
