import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { type ApiError, addressOf, upload } from "../../api/client";
import { useApi, useSend } from "../../api/hooks";
import type { Answer, Item } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { FileButton } from "../../parts/file";
import { Sheet } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { Facts, Status, Time } from "../../parts/show";
import { asPages, type Column } from "../../parts/table";
import { useToast } from "../../parts/toast";
import { bytes, count, reveal } from "../../words/format";
import styles from "./backups.module.css";
import { texts } from "./texts";

type Backup = Item<"GET /api/backups">;

/** The backups of the data folder. An owner makes, uploads, downloads and restores them. */
export default function BackupsPage() {
  const backups = useApi("GET /api/backups", {});
  const rows = backups.data?.items ?? [];
  const make = useSend("POST /api/backups", { done: texts.made });
  const [restarts, setRestarts] = useState(false);
  return (
    <>
      <ResourcePage
        home="/settings/backups"
        texts={texts}
        pages={asPages(backups, rows)}
        columns={COLUMNS}
        idOf={idOf}
        filters={
          <>
            <Button label={texts.make} kind="primary" {...sends(make, {})} />
            <UploadButton />
          </>
        }
        sheet={(id, { onClose }) => (
          <Detail
            backup={rows.find((backup) => idOf(backup) === id)}
            onClose={onClose}
            onRestore={() => setRestarts(true)}
          />
        )}
      >
        <LastRestore />
      </ResourcePage>
      {restarts && (
        <Dialog title={texts.restarting} onClose={() => setRestarts(false)}>
          <p>{texts.restartingWhy}</p>
          <Button label={texts.reload} kind="primary" onClick={() => window.location.reload()} />
        </Dialog>
      )}
    </>
  );
}

/** The part of a file name that is used in addresses. The server would take a name with dots for a file of the page. */
function idOf({ name }: Backup): string {
  return name.replace(/\.tar\.gz$/, "").replace(/\.tar\.gz\.enc$/, "-encrypted");
}

const COLUMNS: Column<Backup>[] = [
  { name: texts.created, width: "minmax(150px, 1fr)", show: (backup) => <Time at={backup.createdAt} /> },
  { name: texts.messages, width: "120px", show: (backup) => messagesOf(backup) },
  { name: texts.size, width: "100px", show: (backup) => bytes(backup.bytes) },
  { name: texts.note, width: "minmax(140px, 2fr)", show: (backup) => <Note backup={backup} /> },
];

function messagesOf(backup: Backup): string {
  return backup.messages === null ? texts.none : count(backup.messages);
}

function Note({ backup }: { backup: Backup }) {
  if (backup.messages === null) return <Status tone="trouble">{texts.unreadable}</Status>;
  const notes = [
    backup.migration === null ? null : texts.before(backup.migration),
    backup.encrypted ? texts.encrypted : null,
    backup.uploaded ? texts.fromElsewhere : null,
  ];
  return notes.filter((note) => note !== null).join(", ") || texts.none;
}

type DetailProps = { backup: Backup | undefined; onClose: () => void; onRestore: () => void };

function Detail({ backup, onClose, onRestore }: DetailProps) {
  const restore = useSend("POST /api/backups/{backup}/restore");
  if (backup === undefined) {
    return (
      <Sheet title={texts.gone} onClose={onClose}>
        <p className="muted">{texts.goneWhy}</p>
      </Sheet>
    );
  }
  const path = { backup: backup.name };
  return (
    <Sheet
      title={<Time at={backup.createdAt} />}
      onClose={onClose}
      actions={
        <>
          <a className={styles.download} href={addressOf("GET /api/backups/{backup}/file", { path })} download>
            <Download aria-hidden /> {texts.download}
          </a>
          <AskButton
            label={texts.restore}
            kind="danger"
            title={texts.restoreTitle}
            words={texts.restoreWords(messagesOf(backup))}
            yes={texts.restoreYes}
            busy={restore.isPending}
            disabled={backup.messages === null}
            onClick={() => restore.mutate({ path }, { onSuccess: onRestore })}
          />
        </>
      }
    >
      <Facts
        of={[
          [texts.name, backup.name],
          [texts.path, backup.path],
          [texts.messages, messagesOf(backup)],
          [texts.size, bytes(backup.bytes)],
          [texts.note, <Note key="note" backup={backup} />],
          [texts.missing, count(backup.missingAttachments)],
        ]}
      />
    </Sheet>
  );
}

function UploadButton() {
  const client = useQueryClient();
  const { tell, fail } = useToast();
  const send = useMutation<Answer<"POST /api/backups/uploads">, ApiError, File>({
    mutationFn: (file) => upload("POST /api/backups/uploads", {}, file),
    retry: false,
    onSuccess: () => tell(texts.uploaded),
    onError: fail,
    onSettled: () => client.invalidateQueries({ queryKey: ["backups"] }),
  });
  return (
    <FileButton label={texts.upload} accept=".gz,.enc" busy={send.isPending} onChoose={(file) => send.mutate(file)} />
  );
}

/** The outcome of the last restore that was requested here. */
function LastRestore() {
  const last = useApi("GET /api/backups/restore", {}).data;
  if (last === undefined || last.name === null || last.state === "requested") return null;
  if (last.state === "done") {
    return (
      <p className="muted">
        {texts.done(last.name, count(last.messages ?? 0))} <Time at={last.at} />{" "}
        {last.aside !== null && reveal(texts.aside(last.aside))}
      </p>
    );
  }
  return (
    <div role="alert" className={styles.failed}>
      <p>
        <strong>{texts.failed(last.name)}</strong> <Time at={last.at} />
      </p>
      <p>
        {reveal(last.what)} {reveal(last.why)}
      </p>
      <p>
        {texts.fix} {reveal(last.fix)}
      </p>
    </div>
  );
}
