/**
 * A conversation as values: each function takes a state and an event and returns the next state. This module knows neither
 * sockets nor elements and never changes a state in place: an entry that is the same object need not be drawn again.
 */

import type {
  AgentEntry,
  Choice,
  Draft,
  Entry,
  Note,
  ShownFile,
  Status,
  StatusReport,
  Talk,
  UserEntry,
} from "./entries";

export type * from "./entries";

/** The largest number of entries; the oldest are dropped first, but never an unsent one. */
export const MOST_ENTRIES = 5_000;

const STATUS: Record<string, Status> = { accepted: "sent", queued: "sent", running: "working" };
const OPEN: ReadonlySet<string> = new Set(["sent", "delayed", "working", "waiting"]);

export const statusOf = (said: string): Status => STATUS[said] ?? (said as Status);
export const isOpen = (status: string): boolean => OPEN.has(status);

export const empty = (): Talk => ({ entries: [], lastSeq: null, early: {}, cut: false });

/** Unacknowledged messages: to be resent, with the same ids, in this order. */
export const unsent = (talk: Talk): UserEntry[] =>
  talk.entries.filter((entry): entry is UserEntry => entry.kind === "user" && entry.status === "sending");

/** The oldest message that waits for its answer; undefined if there is none. */
export const firstOpen = (talk: Talk): UserEntry | undefined =>
  talk.entries.find((entry): entry is UserEntry => entry.kind === "user" && OPEN.has(entry.status));

export const isStreaming = (talk: Talk): boolean =>
  talk.entries.some((entry) => entry.kind === "agent" && entry.streaming);

/** The agent that answered last, and so most likely answers next: a stream does not name its agent. */
export function speaker(talk: Talk): string | null {
  const last = talk.entries.findLast((entry) => entry.kind === "agent" && entry.agent !== null);
  return last?.kind === "agent" ? last.agent : null;
}

/** The person sent a message. */
export function written(talk: Talk, draft: Draft): Talk {
  const state = { messageId: null, status: "sending", reason: null, fix: null, past: false } as const;
  return added(talk, { ...draft, ...state, key: draft.id, kind: "user", versions: [] });
}

/** The server committed a message. */
export function acknowledged(talk: Talk, id: string, messageId: string): Talk {
  // After a reconnect the history may already contain the message: the entry with our id is kept.
  const entries = talk.entries.filter(
    (entry) => entry.kind !== "user" || entry.messageId !== messageId || entry.id === id,
  );
  const { [messageId]: report = { status: "sent" as Status }, ...early } = talk.early;
  return user(
    { ...talk, entries, early },
    (entry) => entry.id === id,
    (entry) => (entry.status === "sending" ? { messageId, ...report } : { messageId }),
  );
}

/** The server refused a message; `reason` and `fix` are its texts. */
export function refused(talk: Talk, id: string, reason: string, fix: string): Talk {
  return user(
    talk,
    (entry) => entry.id === id,
    () => ({ status: "failed", reason, fix }),
  );
}

/** Remove a refused message so that it can be edited. */
export function withdrawn(talk: Talk, id: string): Talk {
  return { ...talk, entries: talk.entries.filter((entry) => entry.kind !== "user" || entry.id !== id) };
}

/** The agent starts: it works on the oldest waiting message. */
export function typing(talk: Talk): Talk {
  const first = firstOpen(talk);
  return user(
    talk,
    (entry) => entry === first && entry.status !== "waiting",
    () => ({ status: "working" }),
  );
}

/**
 * The server reports the status of a message. The report may arrive after the delivery, so it never reopens an answered
 * message.
 */
export function statusChanged(talk: Talk, messageId: string, status: string, reason: string | null): Talk {
  // Only a message that returns to the queue has a reason.
  const next = status === "queued" && reason ? "delayed" : statusOf(status);
  const updated = user(
    keepEarly(talk, [messageId], { status: next, reason }),
    (entry) => entry.messageId === messageId && !(entry.status === "answered" && OPEN.has(next)),
    (entry) => ({ status: next, reason: reason ?? entry.reason }),
  );
  if (OPEN.has(next)) return updated;
  return agent(
    updated,
    (entry) => entry.streaming && entry.replyTo === messageId,
    () => ({ streaming: false }),
  );
}

/** A chunk of an answer. `offset` counts characters as the server does: code points, not UTF-16 units. */
export function streamed(talk: Talk, messageId: string, offset: number, text: string, at: number): Talk {
  const working = user(
    talk,
    (entry) => entry.messageId === messageId && OPEN.has(entry.status) && entry.status !== "working",
    () => ({ status: "working" }),
  );
  const known = talk.entries.find(
    (entry): entry is AgentEntry => entry.kind === "agent" && entry.replyTo === messageId && !entry.aside,
  );
  if (known?.final) return working;
  if (known)
    return agent(
      working,
      (entry) => entry === known,
      () => grown(known, offset, text),
    );
  // The beginning was missed while we were disconnected: show nothing instead of half a sentence; the final message is
  // complete.
  if (offset > 0) return working;
  const begun: AgentEntry = {
    ...{ key: `stream ${messageId}`, kind: "agent", messageId: null, replyTo: messageId, agent: speaker(talk), at },
    ...{ final: false, text: "", length: 0, streaming: true, aside: false, buttons: [], files: [], past: false },
    ...{ notice: false, question: null, ratings: [] },
  };
  return added(working, { ...begun, ...grown(begun, 0, text) });
}

function grown({ text: before, length }: AgentEntry, offset: number, text: string): Partial<AgentEntry> {
  if (offset > length) return {};
  const kept = offset === length ? before : Array.from(before).slice(0, offset).join("");
  return { text: kept + text, length: offset + Array.from(text).length, streaming: true };
}

/** A delivery as sent by the socket. */
export type Delivery = {
  seq: number;
  messageId: string;
  replyTo: string | null;
  answers: string[];
  content: string;
  at: number;
  agent: string | null;
  buttons: Choice[];
  files: ShownFile[];
};

/** A delivery: the complete final text, which replaces its stream. Each `seq` counts once. */
export function delivered(talk: Talk, frame: Delivery): Talk {
  if (talk.lastSeq !== null && frame.seq <= talk.lastSeq) return talk;
  const seen = { ...talk, lastSeq: frame.seq };
  // A `seq` above `lastSeq` may already be shown if the history arrived before the delivery.
  if (seen.entries.some((entry) => entry.kind === "agent" && entry.past && entry.messageId === frame.messageId)) {
    return seen;
  }
  const { answers } = frame;
  const entry: AgentEntry = {
    ...{ key: `seq ${frame.seq}`, kind: "agent", messageId: frame.messageId, replyTo: frame.replyTo, final: true },
    ...{ text: frame.content, length: 0, at: frame.at, agent: frame.agent, streaming: false, past: false },
    ...{ buttons: frame.buttons, files: frame.files, aside: answers.length === 0 },
    ...{ notice: frame.agent === null, question: null, ratings: [] },
  };
  const early = answers.filter((id) => OPEN.has(talk.early[id]?.status ?? "sent"));
  const settled = user(
    keepEarly(seen, early, { status: "answered" }),
    (item) => item.messageId !== null && answers.includes(item.messageId) && OPEN.has(item.status),
    () => ({ status: "answered" }),
  );
  const stream = settled.entries.find(
    (item) => item.kind === "agent" && !item.final && item.replyTo !== null && answers.includes(item.replyTo),
  );
  // The key of the stream is kept, so that the answer is completed in place and nothing jumps.
  if (stream === undefined) return added(settled, entry);
  return agent(
    settled,
    (item) => item === stream,
    () => ({ ...entry, key: stream.key }),
  );
}

/** Add a note at the end. */
export function noted(talk: Talk, key: string, at: number, note: Note): Talk {
  if (talk.entries.some((entry) => entry.key === key)) return talk;
  return added(talk, { key, kind: "note", at, note, messageId: null });
}

/** Merge the stored history (oldest first): known entries keep their places, the others are inserted before them. */
export function remembered(talk: Talk, past: readonly (UserEntry | AgentEntry)[]): Talk {
  const answered = new Set<string | null>();
  for (const item of past) {
    if (item.kind === "agent" && !item.aside) answered.add(item.replyTo);
    if (item.kind === "user" && !OPEN.has(item.status)) answered.add(item.messageId);
  }
  const entries = talk.entries.filter((entry) => entry.kind !== "agent" || entry.final || !answered.has(entry.replyTo));
  const places = new Map<string, number>();
  const key = (entry: Entry) => `${entry.kind} ${entry.messageId}`;
  const woven: Entry[] = [];
  for (const [index, entry] of entries.entries()) if (entry.messageId !== null) places.set(key(entry), index);
  let next = 0;
  for (const item of past) {
    const known = places.get(key(item));
    if (known === undefined) woven.push(item);
    else {
      while (next <= known) {
        const entry = entries[next];
        if (entry !== undefined) woven.push(next === known ? met(entry, item) : entry);
        next += 1;
      }
      if (known < next - 1) replace(woven, entries[known], item);
    }
  }
  return { ...talk, entries: [...woven, ...entries.slice(next)] };
}

/** Another version of the conversation is active: show its stored history, the unsent and refused messages, and the running answers. */
export function rewound(talk: Talk, past: readonly (UserEntry | AgentEntry)[]): Talk {
  const running = new Set<string | null>(past.map((item) => item.messageId));
  for (const item of past) if (item.kind === "agent" && !item.aside) running.delete(item.replyTo);
  const kept = talk.entries.filter((entry) =>
    entry.kind === "user"
      ? entry.messageId === null
      : entry.kind === "agent" && !entry.final && running.has(entry.replyTo),
  );
  return { ...talk, entries: [...past, ...kept], cut: false };
}

/** An entry that was merged before. */
function replace(woven: Entry[], known: Entry | undefined, item: UserEntry | AgentEntry): void {
  const place = known === undefined ? -1 : woven.indexOf(known);
  if (place >= 0 && known !== undefined) woven[place] = met(known, item);
}

/** An entry that is both shown and stored: the stored one has its outcome and the transcript of a voice message. */
function met(entry: Entry, item: UserEntry | AgentEntry): Entry {
  if (entry.kind !== "user" || item.kind !== "user" || OPEN.has(item.status)) return entry;
  const files = item.files.some((file) => file.url !== null) ? item.files : entry.files;
  const same = entry.status === item.status && entry.text === item.text && files === entry.files;
  if (same && entry.quotations.length === item.quotations.length) return entry;
  const stored = { status: item.status, reason: item.reason ?? entry.reason, text: item.text || entry.text };
  return { ...entry, ...stored, files, quotations: item.quotations };
}

/** Keep reports about unknown messages as long as one of our messages has no server id yet. */
function keepEarly(talk: Talk, messageIds: readonly string[], report: StatusReport): Talk {
  if (unsent(talk).length === 0) return Object.keys(talk.early).length === 0 ? talk : { ...talk, early: {} };
  const known = new Set(talk.entries.filter((entry) => entry.kind === "user").map((entry) => entry.messageId));
  const strange = messageIds.filter((messageId) => !known.has(messageId));
  return { ...talk, early: { ...talk.early, ...Object.fromEntries(strange.map((id) => [id, report])) } };
}

const added = (talk: Talk, entry: Entry): Talk => bounded({ ...talk, entries: [...talk.entries, entry] });

function user(
  talk: Talk,
  matches: (entry: UserEntry) => boolean,
  change: (entry: UserEntry) => Partial<UserEntry>,
): Talk {
  return changed(talk, (entry) => (entry.kind === "user" && matches(entry) ? { ...entry, ...change(entry) } : entry));
}

function agent(
  talk: Talk,
  matches: (entry: AgentEntry) => boolean,
  change: (entry: AgentEntry) => Partial<AgentEntry>,
): Talk {
  return changed(talk, (entry) => (entry.kind === "agent" && matches(entry) ? { ...entry, ...change(entry) } : entry));
}

/** Return the same state if no entry changed, so that nothing is redrawn. */
function changed(talk: Talk, next: (entry: Entry) => Entry): Talk {
  let touched = false;
  const entries = talk.entries.map((entry) => {
    const after = next(entry);
    touched ||= after !== entry;
    return after;
  });
  return touched ? { ...talk, entries } : talk;
}

function bounded(talk: Talk): Talk {
  const surplus = talk.entries.length - MOST_ENTRIES;
  if (surplus <= 0) return talk;
  const gone = new Set(
    talk.entries.filter((entry) => entry.kind !== "user" || entry.status !== "sending").slice(0, surplus),
  );
  return { ...talk, entries: talk.entries.filter((entry) => !gone.has(entry)), cut: true };
}
