import { Paperclip, SendHorizontal } from "lucide-react";
import {
  type ClipboardEvent,
  type DragEvent,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { Button, IconButton } from "../../parts/button";
import { bytes } from "../../words/format";
import type { Chat } from "./chat";
import styles from "./composer.module.css";
import { Dictate } from "./Dictate";
import { DraftFiles } from "./DraftFiles";
import type { DraftStore } from "./draftStore";
import { Recorder } from "./Recorder";
import { texts } from "./texts";
import { LIMITS } from "./uploads";

type Props = { ref: RefObject<HTMLTextAreaElement | null>; chat: Chat; drafts: DraftStore; name: string | null };

/** The composer: text, files, voice. Limits are shown before sending; the server has the final decision. */
export function Composer({ ref, chat, drafts, name }: Props) {
  const draft = useSyncExternalStore(drafts.subscribe, () => drafts.draft);
  const chooser = useRef<HTMLInputElement>(null);
  const [recording, setRecording] = useState(false);
  useLayoutEffect(() => {
    const field = ref.current;
    if (field === null || draft.text === null) return;
    // The height follows the text up to the style sheet's limit; the content policy allows scripts to set it.
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight + 2}px`;
  }, [ref, draft.text]);

  const send = () => {
    const text = draft.text.trim();
    if (text === "" && draft.files.length === 0) return;
    const size = new TextEncoder().encode(text).length;
    if (size > LIMITS.text) {
      drafts.complain(texts.tooLong(bytes(size), bytes(LIMITS.text)));
      return;
    }
    chat.send(text, draft.files);
    drafts.clear();
    ref.current?.focus();
  };
  const offered = (event: ClipboardEvent | DragEvent, transfer: DataTransfer) => {
    if (transfer.files.length === 0) return;
    event.preventDefault();
    void drafts.take([...transfer.files]);
  };
  return (
    <form
      className={styles.composer}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => offered(event, event.dataTransfer)}
    >
      <DraftFiles drafts={drafts} files={draft.files} onRemoved={() => ref.current?.focus()} />
      {draft.complaint && (
        <p className={styles.complaint} role="alert">
          {draft.complaint}
        </p>
      )}
      <div className={styles.box}>
        <textarea
          ref={ref}
          rows={1}
          className={styles.text}
          aria-label={texts.message}
          placeholder={texts.writeTo(name ?? texts.anyone)}
          title={texts.keys}
          autoComplete="off"
          enterKeyHint="send"
          value={draft.text}
          onChange={(event) => drafts.write(event.target.value)}
          onPaste={(event) => offered(event, event.clipboardData)}
          onKeyDown={(event) => {
            // While an input method composes a word, Enter belongs to it.
            if (event.key === "Escape") event.currentTarget.blur(); // letters are keys again
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
        <div className={styles.tools}>
          <input
            ref={chooser}
            type="file"
            multiple
            hidden
            onChange={(event) => {
              void drafts.take([...(event.target.files ?? [])]);
              event.target.value = ""; // so that the same file can be chosen again
            }}
          />
          {!recording && (
            <>
              <IconButton
                icon={Paperclip}
                label={`${texts.attach}. ${texts.limit(LIMITS.count, bytes(LIMITS.files))}`}
                onClick={() => chooser.current?.click()}
              />
              <Dictate chat={chat} />
            </>
          )}
          <Recorder
            onActive={setRecording}
            onFile={(file) => chat.send("", [file], true)}
            onProblem={(words) => drafts.complain(words)}
          />
          <span className={styles.space} />
          {!recording && <Button label={texts.send} type="submit" kind="primary" icon={SendHorizontal} />}
        </div>
      </div>
    </form>
  );
}
