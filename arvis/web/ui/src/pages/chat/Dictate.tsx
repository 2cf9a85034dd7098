import { AudioLines } from "lucide-react";
import { useEffect, useSyncExternalStore } from "react";
import { Button } from "../../parts/button";
import { reveal } from "../../words/format";
import { language } from "../../words/words";
import type { Chat } from "./chat";
import styles from "./composer.module.css";
import { recogniser } from "./dictation";
import { texts } from "./texts";

/** Dictation, in browsers that support speech recognition. */
export function Dictate({ chat: { dictation } }: { chat: Chat }) {
  const heard = useSyncExternalStore(dictation.subscribe, () => dictation.heard);
  useEffect(() => () => dictation.stop(), [dictation]);
  const Kind = recogniser();
  if (Kind === null) return null;
  const toggle = () => (heard.listening ? dictation.stop() : dictation.start(Kind, language));
  return (
    <>
      <Button
        label={<span className={styles.words}>{heard.listening ? texts.dictating : texts.dictate}</span>}
        kind="quiet"
        icon={AudioLines}
        aria-pressed={heard.listening}
        onClick={toggle}
      />
      <span role="status" className={styles.heard}>
        {heard.problem !== "" && texts.notHeard(reveal(heard.problem))}
        {heard.problem === "" && heard.listening && (reveal(heard.words) || texts.listening)}
      </span>
    </>
  );
}
