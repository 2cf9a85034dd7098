import { X } from "lucide-react";
import { IconButton } from "../../parts/button";
import { UntrustedText } from "../../parts/show";
import { bytes, reveal } from "../../words/format";
import styles from "./composer.module.css";
import type { DraftStore } from "./draftStore";
import { texts } from "./texts";
import type { Upload } from "./uploads";

type Props = { drafts: DraftStore; files: readonly Upload[]; onRemoved: () => void };

/** Files that will be sent with the message. */
export function DraftFiles({ drafts, files, onRemoved }: Props) {
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
