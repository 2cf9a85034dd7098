import { memo } from "react";
import { reveal } from "../../words/format";
import type { Note, NoteEntry } from "./conversation";
import styles from "./log.module.css";
import { texts } from "./texts";

/** A note between messages. */
export const NoteLine = memo(function NoteLine({
  entry,
  who,
}: {
  entry: NoteEntry;
  who: (slug: string | null) => string;
}) {
  return (
    <p className={styles.note} data-kind="note">
      {wordsOf(entry.note, who)}
    </p>
  );
});

function wordsOf(note: Note, who: (slug: string | null) => string): string {
  if (note.about === "moved") return texts.noteMoved(who(note.from), who(note.to));
  if (note.about === "clicked") return reveal(note.words);
  const graphs: Record<string, string> = texts.graphs;
  const hows: Record<string, string> = texts.hows;
  return texts.noteEnded(graphs[note.graph] ?? reveal(note.graph), hows[note.how] ?? reveal(note.how));
}
