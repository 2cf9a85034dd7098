import { expect, test } from "vitest";
import { language, words } from "../src/words/words";

test("the browser's language is used if the page has texts in it", () => expect(language).toBe("en-GB"));

test("a translation replaces texts, and its missing or wrong texts are English", () => {
  const texts = words({
    en: { title: "Queue", rows: (count: number) => `${count} jobs`, states: { done: "Done", failed: "Failed" } },
    "en-GB": { title: "Waiting line", rows: "jobs", states: { done: "Finished" } } as never,
  });
  expect(texts.title).toBe("Waiting line");
  expect(texts.rows(3)).toBe("3 jobs");
  expect(texts.states).toEqual({ done: "Finished", failed: "Failed" });
});
