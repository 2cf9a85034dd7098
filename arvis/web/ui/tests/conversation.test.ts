import { expect, test } from "vitest";
import * as talk from "../src/pages/chat/conversation";

type Talk = talk.Talk;

const said = (state: Talk, id: string): Talk =>
  talk.written(state, { id, text: id, files: [], at: 1, voice: false, quotations: [] });
const sent = (state: Talk, id: string): Talk => talk.acknowledged(said(state, id), id, `m-${id}`);
const delivery = (seq: number, answers: string[], fields: Partial<talk.Delivery> = {}): talk.Delivery => ({
  ...{ seq, messageId: `d-${seq}`, replyTo: answers[0] ?? null, answers, content: `answer ${seq}`, at: 2 },
  ...{ agent: "helper", buttons: [], files: [] },
  ...fields,
});
const statuses = ({ entries }: Talk) => entries.map((entry) => (entry.kind === "user" ? entry.status : entry.kind));
const shown = ({ entries }: Talk) => entries.map((entry) => (entry.kind === "note" ? entry.key : entry.text));
const past = (id: string, fields: Partial<talk.UserEntry> = {}): talk.UserEntry => ({
  ...{ key: `past ${id}`, kind: "user", id: null, messageId: id, text: `old ${id}`, files: [], at: 0 },
  ...{ status: "answered", reason: null, fix: null, voice: false, quotations: [], versions: [], past: true },
  ...fields,
});
const pastAnswer = (id: string, replyTo: string | null): talk.AgentEntry => ({
  ...{ key: `past ${id}`, kind: "agent", messageId: id, replyTo, text: `old ${id}`, length: 0, files: [], at: 0 },
  ...{
    agent: "helper",
    final: true,
    streaming: false,
    aside: false,
    notice: false,
    question: null,
    buttons: [],
    ratings: [],
  },
  past: true,
});

test("a message is unsent until it is acknowledged, and open until it is answered", () => {
  let state = said(talk.empty(), "a");
  expect(talk.unsent(state).map(({ id }) => id)).toEqual(["a"]);
  state = talk.acknowledged(state, "a", "m-a");
  expect(talk.unsent(state)).toEqual([]);
  expect(talk.firstOpen(state)?.messageId).toBe("m-a");
  state = talk.delivered(state, delivery(1, ["m-a"]));
  expect(statuses(state)).toEqual(["answered", "agent"]);
  expect(talk.firstOpen(state)).toBeUndefined();
});

test("a report that arrives before the acknowledgement is kept for it", () => {
  let state = talk.statusChanged(said(talk.empty(), "a"), "m-a", "running", null);
  expect(statuses(state)).toEqual(["sending"]);
  state = talk.acknowledged(state, "a", "m-a");
  expect(statuses(state)).toEqual(["working"]);
  expect(state.early).toEqual({});
  let fast = talk.delivered(said(talk.empty(), "a"), delivery(1, ["m-a"]));
  fast = talk.acknowledged(fast, "a", "m-a");
  expect(statuses(fast)[0]).toBe("answered");
});

test("reports about strangers are not kept while no message waits for its id", () => {
  expect(talk.statusChanged(talk.empty(), "m-x", "running", null).early).toEqual({});
});

test("a late report does not reopen an answered message, but its failure counts", () => {
  const state = talk.delivered(sent(talk.empty(), "a"), delivery(1, ["m-a"]));
  expect(talk.statusChanged(state, "m-a", "running", null)).toBe(state);
  expect(statuses(talk.statusChanged(state, "m-a", "failed", "late"))[0]).toBe("failed");
});

test("a message that returns to the queue is delayed", () => {
  const state = sent(talk.empty(), "a");
  expect(statuses(talk.statusChanged(state, "m-a", "queued", "budget"))).toEqual(["delayed"]);
  expect(statuses(talk.statusChanged(state, "m-a", "queued", null))).toEqual(["sent"]);
});

test("a refused message can be withdrawn", () => {
  const state = talk.refused(said(talk.empty(), "a"), "a", "Too long.", "Send less.");
  expect(state.entries[0]).toMatchObject({ status: "failed", reason: "Too long.", fix: "Send less." });
  expect(talk.withdrawn(state, "a").entries).toEqual([]);
});

test("a stream grows by code points, and repeated or overlapping chunks count once", () => {
  let state = sent(talk.empty(), "a");
  state = talk.streamed(state, "m-a", 0, "👍 go", 2);
  state = talk.streamed(state, "m-a", 4, "od", 2);
  expect(shown(state)).toEqual(["a", "👍 good"]);
  expect(talk.streamed(state, "m-a", 2, "great", 2).entries[1]).toMatchObject({ text: "👍 great", length: 7 });
  expect(shown(talk.streamed(state, "m-a", 99, "gap", 2))).toEqual(["a", "👍 good"]);
  expect(talk.isStreaming(state)).toBe(true);
});

test("a stream whose beginning was missed is not shown", () => {
  const state = talk.streamed(sent(talk.empty(), "a"), "m-a", 10, "rest", 2);
  expect(shown(state)).toEqual(["a"]);
  expect(statuses(state)).toEqual(["working"]);
});

test("an answer completes its stream in place and keeps its key", () => {
  let state = talk.streamed(sent(talk.empty(), "a"), "m-a", 0, "answ", 2);
  const key = state.entries[1]?.key;
  state = said(state, "b");
  state = talk.delivered(state, delivery(1, ["m-a"]));
  expect(shown(state)).toEqual(["a", "answer 1", "b"]);
  expect(state.entries[1]?.key).toBe(key);
  expect(talk.streamed(state, "m-a", 0, "late", 2)).toBe(state);
});

test("a failed turn stops its stream", () => {
  const state = talk.streamed(sent(talk.empty(), "a"), "m-a", 0, "half", 2);
  expect(talk.isStreaming(talk.statusChanged(state, "m-a", "failed", null))).toBe(false);
});

test("each delivery counts once, also after a reconnect", () => {
  const state = talk.delivered(sent(talk.empty(), "a"), delivery(5, ["m-a"]));
  expect(talk.delivered(state, delivery(5, ["m-a"]))).toBe(state);
  expect(talk.delivered(state, delivery(4, ["m-a"]))).toBe(state);
  const loaded = talk.remembered(talk.empty(), [pastAnswer("d-6", null)]);
  expect(shown(talk.delivered(loaded, delivery(6, [])))).toEqual(["old d-6"]);
});

test("one answer settles all messages that it answers, and a notice none", () => {
  const state = sent(sent(talk.empty(), "a"), "b");
  expect(statuses(talk.delivered(state, delivery(1, ["m-a", "m-b"]))).slice(0, 2)).toEqual(["answered", "answered"]);
  const notice = talk.delivered(state, delivery(1, [], { agent: null }));
  expect(statuses(notice)).toEqual(["sent", "sent", "agent"]);
  expect(notice.entries[2]).toMatchObject({ notice: true, aside: true });
});

test("the history comes before what is shown, and known entries keep their places", () => {
  let state = sent(talk.empty(), "a");
  state = talk.delivered(state, delivery(1, ["m-a"]));
  state = said(state, "b");
  const history = [past("m-0"), past("m-a"), pastAnswer("d-1", "m-a"), past("m-1")];
  const merged = talk.remembered(state, history);
  expect(shown(merged)).toEqual(["old m-0", "old m-a", "answer 1", "old m-1", "b"]);
  expect(merged.entries[1]?.key).toBe("a");
});

test("a stored message has the transcript of a voice message and its outcome", () => {
  const state = sent(talk.empty(), "a");
  const merged = talk.remembered(state, [past("m-a", { text: "spoken words", status: "failed", reason: "why" })]);
  expect(merged.entries).toHaveLength(1);
  expect(merged.entries[0]).toMatchObject({ key: "a", text: "spoken words", status: "failed", reason: "why" });
  expect(talk.remembered(state, [past("m-a", { status: "working", text: "" })]).entries[0]).toBe(state.entries[0]);
});

test("a half stream is dropped when the history has its answer", () => {
  const state = talk.streamed(sent(talk.empty(), "a"), "m-a", 0, "half", 2);
  expect(shown(talk.remembered(state, [past("m-a"), pastAnswer("d-1", "m-a")]))).toEqual(["old m-a", "old d-1"]);
});

test("the acknowledgement of a message that the history already showed leaves one entry", () => {
  const state = talk.remembered(said(talk.empty(), "a"), [past("m-a", { status: "sent" })]);
  expect(talk.acknowledged(state, "a", "m-a").entries.map(({ key }) => key)).toEqual(["a"]);
});

test("the oldest entries are dropped first, but never an unsent one", () => {
  let state = said(talk.empty(), "unsent");
  for (let number = 0; number <= talk.MOST_ENTRIES; number += 1) {
    state = talk.noted(state, `n${number}`, 1, { about: "clicked", words: "" });
  }
  expect(state.cut).toBe(true);
  expect(state.entries).toHaveLength(talk.MOST_ENTRIES);
  expect(state.entries[0]?.key).toBe("unsent");
  expect(state.entries[1]?.key).toBe("n2");
});

test("a note appears once, and the last agent speaks next", () => {
  let state = talk.noted(talk.empty(), "n", 1, { about: "moved", from: "a", to: "b" });
  expect(talk.noted(state, "n", 1, { about: "clicked", words: "" })).toBe(state);
  expect(talk.speaker(state)).toBeNull();
  state = talk.delivered(state, delivery(1, [], { agent: "guide" }));
  state = talk.delivered(state, delivery(2, [], { agent: null }));
  expect(talk.speaker(state)).toBe("guide");
});

test("the agent works on the oldest open message, unless it waits for a person", () => {
  const state = talk.typing(sent(sent(talk.empty(), "a"), "b"));
  expect(statuses(state)).toEqual(["working", "sent"]);
  const waiting = talk.statusChanged(state, "m-a", "waiting", null);
  expect(talk.typing(waiting)).toBe(waiting);
});

test("another version replaces the stored entries and keeps unsent ones and its running answer", () => {
  const streaming = talk.streamed(sent(talk.empty(), "a"), "m-b", 0, "New", 2);
  const after = talk.rewound(said(streaming, "c"), [past("m-b")]);
  expect(shown(after)).toEqual(["old m-b", "New", "c"]);
});

test("another version keeps refused messages, and no draft of an answer that is stored", () => {
  const streaming = talk.streamed(sent(talk.empty(), "a"), "m-b", 0, "Draft", 2);
  const refused = talk.refused(said(streaming, "c"), "c", "It is too long.", "Shorten it.");
  const after = talk.rewound(refused, [past("m-b"), pastAnswer("m-x", "m-b")]);
  expect(shown(after)).toEqual(["old m-b", "old m-x", "c"]);
  expect(statuses(after)).toEqual(["answered", "agent", "failed"]);
});

test("the stored quotations of a message replace those that the page knew", () => {
  const quotation = {
    kind: "reply",
    writer: "agent",
    author: "",
    messageId: "d-1",
    text: "Hel",
    partial: true,
  } as const;
  const stored = { ...quotation, text: "Hello", partial: false };
  const written = talk.written(talk.empty(), {
    id: "a",
    text: "Why?",
    files: [],
    at: 1,
    voice: false,
    quotations: [quotation],
  });
  const acknowledged = talk.acknowledged(written, "a", "m-a");
  const [entry] = talk.remembered(acknowledged, [past("m-a", { text: "Why?", quotations: [stored] })]).entries;
  expect(entry?.kind === "user" && entry.quotations).toEqual([stored]);
});
