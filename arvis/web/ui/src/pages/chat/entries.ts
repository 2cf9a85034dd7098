/** What stands in a conversation, as values. */

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

/** A file as it is shown. `url` is of our own server or a blob of this page; `null`: but its name is known. */
export type ShownFile = { name: string; size: number | null; contentType: string; url: string | null };

export type Choice = { id: string; label: string };

/** The question that a stored message shows, and what became of it. */
export type Asked = { id: string; open: boolean; decision: string | null };

/** What a person wrote. `id` is our own until and after the server's `messageId`; `past`: the history brought it. */
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
  past: boolean;
};

/** What an agent or Arvis itself (`notice`) said. A stream is one that is not `final`; `length` is what came of it, in code
 * points. `aside` marks a notice on the way, which answers nothing. `question` is known of stored messages only. */
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
  past: boolean;
};

/** A quiet line: who has taken over, how a plan has ended, what a pressed button did. */
export type Note =
  | { about: "moved"; from: string; to: string }
  | { about: "ended"; graph: string; how: string }
  | { about: "clicked"; words: string };
export type NoteEntry = { key: string; kind: "note"; at: number; note: Note; messageId: null };

export type Entry = UserEntry | AgentEntry | NoteEntry;

export type Told = { status: Status; reason?: string | null };

/** `early` holds what was said about messages before their acknowledgement named them (an answer may be that fast); `cut`: the
 * oldest entries were let go. */
export type Talk = {
  entries: readonly Entry[];
  lastSeq: number | null;
  early: Readonly<Record<string, Told>>;
  cut: boolean;
};
