/** The entries of a conversation, as values. */

import type { Link } from "../../api/connection";
import type { Item } from "../../api/types";

export type Status =
  | "sending"
  | "sent"
  | "delayed"
  | "working"
  | "waiting"
  | "answered"
  | "failed"
  | "dropped"
  | "cancelled"
  | "expired";

/** A file as shown. `url` is on our server or a blob of this page; `null`: only its name is known. */
export type ShownFile = { name: string; size: number | null; contentType: string; url: string | null };

/** A message that a message of the user answers, quotes or forwards. */
export type Quotation = Item<"GET /api/conversations/{conversation}/messages">["quotations"][number];

export type Choice = { id: string; label: string };

export type Rating = "up" | "down";

/** The ratings of an answer by people. */
export type Ratings = readonly { platform: string; userId: string; rating: Rating }[];

/** The versions of the conversation that continue from the point before a message, oldest first. */
export type Versions = readonly { id: string; conversation: string; active: boolean }[];

/** The question that a stored message shows, and its decision. */
export type Asked = { id: string; open: boolean; decision: string | null };

/** A message of a person. `id` is ours, even after the server's `messageId` is known; `past`: it came from the history. */
export type UserEntry = {
  key: string;
  kind: "user";
  id: string | null;
  messageId: string | null;
  text: string;
  files: ShownFile[];
  at: number;
  status: Status;
  reason: string | null;
  fix: string | null;
  voice: boolean;
  quotations: readonly Quotation[];
  versions: Versions;
  past: boolean;
};

/** A message that is being sent; `id` is ours. */
export type Draft = Pick<UserEntry, "text" | "files" | "at" | "voice" | "quotations"> & { id: string };

/**
 * A message of an agent or of Arvis itself (`notice`). It is not `final` while it is streamed; `length` is the length so far, in
 * code points. `aside` marks a progress notice, which answers no message. `question` is known only for stored messages.
 */
export type AgentEntry = {
  key: string;
  kind: "agent";
  messageId: string | null;
  replyTo: string | null;
  text: string;
  length: number;
  files: ShownFile[];
  at: number;
  agent: string | null;
  final: boolean;
  streaming: boolean;
  aside: boolean;
  notice: boolean;
  question: Asked | null;
  buttons: Choice[];
  ratings: Ratings;
  past: boolean;
};

/** A note: a handover, the end of a plan, the effect of a button. */
export type Note =
  | { about: "moved"; from: string; to: string }
  | { about: "ended"; graph: string; how: string }
  | { about: "clicked"; words: string };
export type NoteEntry = { key: string; kind: "note"; at: number; note: Note; messageId: null };

export type Entry = UserEntry | AgentEntry | NoteEntry;

export type StatusReport = { status: Status; reason?: string | null };

/**
 * `early` holds reports about messages that arrived before their acknowledgement named them (an answer may be that fast);
 * `cut`: the oldest entries were dropped.
 */
export type Talk = {
  entries: readonly Entry[];
  lastSeq: number | null;
  early: Readonly<Record<string, StatusReport>>;
  cut: boolean;
};

/** Server errors that belong to no message. */
export type Fault = { message: string; fix: string };

/** The view of a channel; a new object whenever a part of it changes. */
export type View = {
  talk: Talk;
  link: Link;
  /** True once the stored history was loaded. */
  loaded: boolean;
  /** `more`: older messages exist; `loading`: they are being requested. */
  older: "none" | "more" | "loading";
  fault: Fault | null;
};
