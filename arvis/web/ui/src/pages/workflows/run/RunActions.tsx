import { ArrowLeft, RotateCcw, X } from "lucide-react";
import { useLocation } from "wouter";
import { useSend } from "../../../api/hooks";
import { useMay } from "../../../api/session";
import { Button, ButtonLink } from "../../../parts/button";
import { useAsk } from "../../../parts/dialog";
import { addressOf, isLive, type RunDetail } from "../workflow";
import { texts } from "./texts";

/** Rerun from the start or from a step, and open the new run. */
export function useAgain(run: RunDetail): { again: (node?: string, newest?: boolean) => void; busy: boolean } {
  const [, navigate] = useLocation();
  const send = useSend("POST /api/runs/{run}/rerun", { done: texts.begun });
  const again = (node?: string, newest = false) =>
    send.mutate(
      { path: { run: run.id }, body: { ...(node === undefined ? {} : { node }), version: newest ? "newest" : "same" } },
      { onSuccess: (made) => navigate(addressOf(made.workflow.id, "runs", made.id)) },
    );
  return { again, busy: send.isPending };
}

/** Cancel a current run, or rerun an ended one. */
export function RunActions({ run, newest }: { run: RunDetail; newest: boolean }) {
  const operates = useMay("operator");
  const ask = useAsk();
  const cancel = useSend("POST /api/runs/{run}/cancel", { done: texts.cancelled });
  const { again, busy } = useAgain(run);
  const end = async () => {
    const { askCancel: title, askCancelWords: words, cancel: yes } = texts;
    if (await ask({ title, words, yes, danger: true })) cancel.mutate({ path: { run: run.id } });
  };
  return (
    <>
      <ButtonLink label={texts.back} kind="quiet" href={addressOf(run.workflow.id, "runs")} icon={ArrowLeft} />
      {operates && isLive(run) && (
        <Button label={texts.cancel} kind="danger" icon={X} busy={cancel.isPending} onClick={() => void end()} />
      )}
      {operates && !isLive(run) && (
        <>
          {newest && <Button label={texts.newest} busy={busy} onClick={() => again(undefined, true)} />}
          <Button label={texts.again} kind="primary" icon={RotateCcw} busy={busy} onClick={() => again()} />
        </>
      )}
    </>
  );
}
