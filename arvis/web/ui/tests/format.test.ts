import { expect, test } from "vitest";
import { ago, bytes, clock, count, duration, exactly, money, reveal, sentences } from "../src/words/format";

const NOW = Date.UTC(2026, 10, 26, 15, 0, 0);
const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

test("characters that hide or turn a text are shown", () => {
  expect(reveal("safe\u202Egpj.exe")).toBe("safe[U+202E]gpj.exe");
  expect(reveal("a\u0000b\u001Bc\u200Bd\uFEFF")).toBe("a[U+0000]b[U+001B]c[U+200B]d[U+FEFF]");
  expect(reveal("\u2066isolated\u2069")).toBe("[U+2066]isolated[U+2069]");
});

test("joiners, tabs, line breaks and letters of every language stay", () => {
  const family = "👩\u200D👩\u200D👧";
  expect(reveal(`می\u200Cخواهم ${family}\tשלום`)).toBe(`می\u200Cخواهم ${family}\tשלום`);
  expect(reveal("one\r\ntwo\rthree\n")).toBe("one\ntwo\nthree\n");
});

test("sentences end with one full stop", () => {
  expect(sentences("It failed", "Try again.", "", null, undefined, "Why?")).toBe("It failed. Try again. Why?");
  expect(sentences()).toBe("");
});

test("numbers follow the language", () => {
  expect(count(12345)).toBe("12,345");
  expect(bytes(1023)).toBe("1023 B");
  expect(bytes(1024)).toBe("1 KB");
  expect(bytes(1024 ** 2 * 1.4)).toBe("1.4 MB");
  expect(bytes(1024 ** 3 * 2)).toBe("2.0 GB");
});

test("small sums keep their significant digits", () => {
  expect(money(0)).toBe("US$0.00");
  expect(money(1234.5)).toBe("US$1,234.50");
  expect(money(0.0031)).toBe("US$0.0031");
  expect(money(0.00001)).toBe("< US$0.0001");
  expect(money(-0.05)).toBe("-US$0.0500");
});

test("durations have two units at most", () => {
  expect(duration(850)).toBe("850 ms");
  expect(duration(4_240)).toBe("4.2 s");
  expect(duration(59_400)).toBe("59 s");
  expect(duration(59_600)).toBe("1 min 0 s");
  expect(duration(185_000)).toBe("3 min 5 s");
  expect(duration(2 * HOUR + 10 * MINUTE)).toBe("2 h 10 min");
});

test("near times are relative, and times more than a week away are dates", () => {
  expect(ago(NOW, NOW)).toBe("now");
  expect(ago(NOW - 30 * SECOND, NOW)).toBe("30 seconds ago");
  expect(ago(NOW - 119 * MINUTE, NOW)).toBe("1 hour ago");
  expect(ago(NOW + 2 * HOUR, NOW)).toBe("in 2 hours");
  expect(ago(NOW - 7 * DAY, NOW)).toBe("7 days ago");
  expect(ago(NOW - 8 * DAY, NOW)).toBe("18 Nov 2026");
});

test("a time of day names the date unless it is today", () => {
  expect(clock(NOW - 6 * HOUR, NOW)).toBe("09:00");
  expect(clock(NOW - DAY, NOW)).toBe("25 Nov 2026, 15:00");
  expect(exactly(NOW)).toBe("26 Nov 2026, 15:00:00");
});
