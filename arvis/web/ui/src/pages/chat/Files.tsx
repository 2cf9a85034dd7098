import { Paperclip } from "lucide-react";
import { UntrustedText } from "../../parts/show";
import { bytes, reveal } from "../../words/format";
import type { ShownFile } from "./conversation";
import styles from "./log.module.css";
import { texts } from "./texts";

// The types that the server serves inline; the type that a sender claims is ignored.
const PICTURE = /^image\/(png|jpeg|gif|webp)$/;
const SOUND = /^audio\//;

/** Files of a message: images and audio inline, others as downloads. Only files stored on our server are loaded. */
export function Files({ files }: { files: readonly ShownFile[] }) {
  if (files.length === 0) return null;
  return (
    <ul className={styles.files} aria-label={texts.files}>
      {files.map((file, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the files of a message never change their order
        <li key={index}>
          <Preview file={file} />
          <span className={styles.file}>
            <Paperclip aria-hidden />
            <Name file={file} />
            {file.size !== null && <span className="muted"> · {bytes(file.size)}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

const isOurs = (url: string | null): url is string => url !== null && /^(\/api\/|blob:)/.test(url);

function Preview({ file }: { file: ShownFile }) {
  const name = reveal(file.name);
  if (!isOurs(file.url)) return null;
  if (PICTURE.test(file.contentType)) {
    return (
      <a href={file.url} target="_blank" rel="noopener noreferrer" className={styles.picture}>
        <img src={file.url} alt={texts.image(name)} loading="lazy" />
      </a>
    );
  }
  if (!SOUND.test(file.contentType)) return null;
  // biome-ignore lint/a11y/useMediaCaption: the transcript is shown beside it as text
  return <audio controls preload="none" src={file.url} aria-label={texts.sound(name)} />;
}

function Name({ file }: { file: ShownFile }) {
  if (!file.url?.startsWith("/api/")) return <UntrustedText text={file.name} />;
  return (
    <a href={file.url} download>
      <UntrustedText text={file.name} />
    </a>
  );
}
