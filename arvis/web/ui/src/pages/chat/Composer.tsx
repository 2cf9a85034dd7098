import { AudioLines, Mic, Paperclip, SendHorizontal, Trash2, X } from "lucide-react";
import {
  type ClipboardEvent,
  type DragEvent,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { Button, IconButton } from "../../parts/button";
import { UntrustedText } from "../../parts/show";
import { bytes, duration, reveal } from "../../words/format";
import { language } from "../../words/words";
import type { Chat } from "./chat";
import styles from "./composer.module.css";
import { recogniser } from "./dictation";
import { type DraftStore, LIMITS, type Upload, upload } from "./draftStore";
import { Quoted } from "./Quoted";
import { texts } from "./texts";

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
    chat.send(text, draft.files, draft.answered);
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
      {draft.answered !== null && (
        <div className={styles.answered}>
          <Quoted quotation={draft.answered} own />
          <IconButton
            icon={X}
            label={texts.cancelReply}
            onClick={() => {
              drafts.answer(null);
              ref.current?.focus();
            }}
          />
        </div>
      )}
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
            onFile={(file) => {
              chat.send("", [file], drafts.draft.answered, true);
              drafts.answer(null);
            }}
            onProblem={(words) => drafts.complain(words)}
          />
          <span className={styles.space} />
          {!recording && <Button label={texts.send} type="submit" kind="primary" icon={SendHorizontal} />}
        </div>
      </div>
    </form>
  );
}

type DraftFilesProps = { drafts: DraftStore; files: readonly Upload[]; onRemoved: () => void };

/** Files that will be sent with the message. */
function DraftFiles({ drafts, files, onRemoved }: DraftFilesProps) {
  if (files.length === 0) return null;
  return (
    <ul className={styles.files} aria-label={texts.filesToSend}>
      {files.map((file, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two files may have the same name
        <li key={index}>
          {file.url !== null && file.contentType.startsWith("image/") && <img src={file.url} alt="" />}
          <span>
            <UntrustedText text={file.name} /> <span className="muted">· {bytes(file.size)}</span>
          </span>
          <IconButton
            icon={X}
            label={texts.remove(reveal(file.name))}
            onClick={() => {
              drafts.remove(file);
              onRemoved();
            }}
          />
        </li>
      ))}
    </ul>
  );
}

/** Dictation, in browsers that support speech recognition. */
function Dictate({ chat: { dictation } }: { chat: Chat }) {
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

const KINDS = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus", "audio/mp4"];

type Running = { recorder: MediaRecorder; pieces: Blob[]; keep: boolean };

type RecorderProps = {
  onActive: (active: boolean) => void;
  onFile: (file: Upload) => void;
  onProblem: (words: string) => void;
};

/** Record a voice message and pass it on as audio. */
function Recorder({ onActive, onFile, onProblem }: RecorderProps) {
  const [began, setBegan] = useState<number | null>(null);
  const running = useRef<Running | null>(null);
  const done = useRef(onFile);
  done.current = onFile;

  const end = useCallback((keep: boolean) => {
    if (running.current === null) return;
    running.current.keep = keep;
    running.current.recorder.stop();
  }, []);
  useEffect(() => () => end(false), [end]); // leaving discards the recording

  const start = async () => {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const mimeType = KINDS.find((kind) => MediaRecorder.isTypeSupported(kind));
      const recorder = new MediaRecorder(stream, mimeType === undefined ? {} : { mimeType });
      const current: Running = { recorder, pieces: [], keep: false };
      recorder.ondataavailable = (event) => current.pieces.push(event.data);
      recorder.onstop = () => {
        for (const track of stream.getTracks()) track.stop();
        running.current = null;
        setBegan(null);
        onActive(false);
        if (current.keep) void fileOf(current).then((file) => done.current(file));
      };
      running.current = current;
      recorder.start(1_000);
      setBegan(Date.now());
      onActive(true);
    } catch {
      onProblem(texts.noMicrophone);
    }
  };
  if (began === null) {
    return <IconButton icon={Mic} label={texts.record} onClick={() => void start()} />;
  }
  return (
    <div className={styles.recorder}>
      <span className={styles.light} aria-hidden />
      <span role="timer">
        <Elapsed since={began} words={texts.recording} />
      </span>
      <IconButton icon={Trash2} label={texts.cancelRecording} onClick={() => end(false)} />
      <Button label={texts.sendRecording} kind="primary" icon={SendHorizontal} onClick={() => end(true)} />
    </div>
  );
}

function fileOf({ recorder, pieces }: Running): Promise<Upload> {
  const [contentType = "audio/webm"] = recorder.mimeType.split(";");
  const moment = new Date().toISOString().slice(0, 19).replace(/[:T]/g, "-");
  const name = `voice-${moment}.${contentType.slice(contentType.indexOf("/") + 1)}`;
  return upload(new File(pieces, name, { type: contentType }));
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

type ElapsedProps = { since: number; after?: number; words: (time: string) => string };

/** The elapsed time, updated every second; nothing before `after` ms. */
export function Elapsed({ since, after = 0, words }: ElapsedProps) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), SECOND_MS / 2);
    return () => window.clearInterval(timer);
  }, []);
  const elapsed = Math.max(0, now - since);
  if (elapsed < after) return null;
  return words(elapsed < MINUTE_MS ? `${Math.floor(elapsed / SECOND_MS)} s` : duration(elapsed));
}
