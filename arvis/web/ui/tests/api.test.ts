import { expect, test } from "vitest";
import { ApiError, addressOf, randomId } from "../src/api/client";
import { backOff } from "../src/api/connection";
import { makeQueryClient, readAgain, topicOf } from "../src/api/hooks";
import { TOPICS, topicsOf } from "../src/api/live";
import routes from "../src/api/routes.ts?raw";

test("an address has its ids and filters escaped, and no empty filters", () => {
  expect(addressOf("GET /api/jobs/{job}", { path: { job: "a/b?c" } })).toBe("/api/jobs/a%2Fb%3Fc");
  const query = { agent: "a&b", platform: "", limit: 0, cursor: undefined };
  expect(addressOf("GET /api/conversations", { query } as never)).toBe("/api/conversations?agent=a%26b&limit=0");
  expect(addressOf("GET /api/agents", {})).toBe("/api/agents");
});

test("ids are 128 random bits", () => {
  const ids = new Set(Array.from({ length: 100 }, randomId));
  expect(ids.size).toBe(100);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
});

test("the delays between connections grow to two seconds, and after a minute to thirty", () => {
  const between = (failures: number, least: number, most: number) => {
    for (let draw = 0; draw < 50; draw += 1) {
      expect(backOff(failures)).toBeGreaterThanOrEqual(least * 0.9);
      expect(backOff(failures)).toBeLessThanOrEqual(most * 1.1);
    }
  };
  between(0, 500, 500);
  between(1, 1_000, 1_000);
  between(29, 2_000, 2_000);
  between(30, 30_000, 30_000);
  between(1_000, 30_000, 30_000);
});

test("every topic of the socket is a part of the API, so that its notices reload something", () => {
  const known = new Set([...routes.matchAll(/"GET (\/[^"]+)"/g)].map(([, address]) => topicOf(`GET ${address}`)));
  expect(TOPICS.flatMap(topicsOf).filter((topic) => !known.has(topic))).toEqual([]);
});

test("a notice reloads the data of its topic, but not a list of which many pages are loaded", async () => {
  const client = makeQueryClient();
  const page = { items: [], nextCursor: null };
  const keys = { one: ["jobs", "GET /api/jobs", 1], long: ["jobs", "GET /api/jobs", 2], other: ["agents", "x", 3] };
  client.setQueryData(keys.one, { pages: [page, page, page], pageParams: [] });
  client.setQueryData(keys.long, { pages: [page, page, page, page], pageParams: [] });
  client.setQueryData(keys.other, page);
  await readAgain(client, "jobs");
  const stale = Object.entries(keys).filter(([, key]) => client.getQueryState(key)?.isInvalidated);
  expect(stale.map(([name]) => name)).toEqual(["one"]);
});

test("reads are repeated after a failure of the server or the network, never after a refusal", () => {
  const retry = makeQueryClient().getDefaultOptions().queries?.retry as (count: number, error: unknown) => boolean;
  const error = (status: number) => new ApiError(status, "code", "", "");
  expect([0, 500, 503].map((status) => retry(0, error(status)))).toEqual([true, true, true]);
  expect([401, 404, 422].map((status) => retry(0, error(status)))).toEqual([false, false, false]);
  expect(retry(3, error(500))).toBe(false);
});
