import { Mic, SendHorizontal, Trash2 } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { Button, IconButton } from "../../parts/button";
import styles from "./composer.module.css";
import { type Upload, upload } from "./draftStore";
import { Elapsed } from "./Elapsed";
import { texts } from "./texts";

const KINDS = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus", "audio/mp4"];

type Running = { recorder: MediaRecorder; pieces: Blob[]; keep: boolean };

type Props = {
  onActive: (active: boolean) => void;
  onFile: (file: Upload) => void;
  onProblem: (words: string) => void;
};

/** Record a voice message and pass it on as audio. */
export function Recorder({ onActive, onFile, onProblem }: Props) {
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
