import { Ellipsis, Pencil, Play } from "lucide-react";
import { useId } from "react";
import { Link, useLocation } from "wouter";
import { ApiError, call } from "../../api/client";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { IconButton } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { useToast } from "../../parts/toast";
import { reveal } from "../../words/format";
import { texts } from "./texts";
import { addressOf, HOME, type Workflow } from "./workflow";
import styles from "./workflows.module.css";

type Props = { of: Pick<Workflow, "id" | "name">; onRun: () => void };

/** The actions for a workflow in its row. */
export function RowActions({ of: one, onRun }: Props) {
  const operates = useMay("operator");
  const name = reveal(one.name);
  return (
    <span className={styles.rowActions}>
      {operates && (
        <>
          <IconButton icon={Play} label={texts.runOf(name)} onClick={onRun} />
          <EditLink of={one} />
        </>
      )}
      <More of={one} />
    </span>
  );
}

function EditLink({ of: one }: { of: Props["of"] }) {
  const words = texts.editOf(reveal(one.name));
  return (
    <Link href={addressOf(one.id, "edit")} aria-label={words} title={words} className={styles.sign}>
      <Pencil aria-hidden />
    </Link>
  );
}

/** Less common actions: export, copy, remove. */
export function More({ of: one }: { of: Pick<Workflow, "id" | "name"> }) {
  const id = useId();
  const operates = useMay("operator");
  const file = `/api/workflows/${encodeURIComponent(one.id)}/export?form=`;
  return (
    <>
      <IconButton icon={Ellipsis} label={texts.moreOf(reveal(one.name))} popoverTarget={id} />
      <div id={id} popover="auto" className={styles.menu}>
        <a href={`${file}json`} download>
          {texts.exportJson}
        </a>
        <a href={`${file}yaml`} download>
          {texts.exportYaml}
        </a>
        {operates && <Duplicate of={one} menu={id} />}
        {operates && <Remove of={one} />}
      </div>
    </>
  );
}

function Duplicate({ of: one, menu }: { of: Pick<Workflow, "id" | "name">; menu: string }) {
  const [, navigate] = useLocation();
  const { fail } = useToast();
  const make = useSend("POST /api/workflows", { done: texts.duplicated });
  const copy = async () => {
    document.getElementById(menu)?.hidePopover();
    try {
      const whole = await call("GET /api/workflows/{workflow}", { path: { workflow: one.id } });
      const { name, description, document: drawn } = whole;
      make.mutate(
        { body: { name: texts.copyOf(name), description, document: drawn, draft: true, enabled: false } },
        { onSuccess: (made) => navigate(addressOf(made.id)) },
      );
    } catch (error) {
      if (error instanceof ApiError) fail(error);
    }
  };
  return (
    <button type="button" disabled={make.isPending} onClick={() => void copy()}>
      {texts.duplicate}
    </button>
  );
}

function Remove({ of: one }: { of: Pick<Workflow, "id" | "name"> }) {
  const [, navigate] = useLocation();
  const ask = useAsk();
  const { tell } = useToast();
  const remove = useSend("DELETE /api/workflows/{workflow}");
  const name = reveal(one.name);
  const drop = async () => {
    const { askRemoveWords: words, remove: yes } = texts;
    if (!(await ask({ title: texts.askRemove(name), words, yes, danger: true }))) return;
    const removed = () => {
      tell(texts.removed(name));
      navigate(HOME);
    };
    remove.mutate({ path: { workflow: one.id } }, { onSuccess: removed });
  };
  return (
    <button type="button" onClick={() => void drop()}>
      {texts.remove}
    </button>
  );
}
