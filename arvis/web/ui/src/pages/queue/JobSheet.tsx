import { Pencil, RotateCcw, Trash2, X } from "lucide-react";
import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer } from "../../api/types";
import { AskButton } from "../../parts/askButton";
import { Button } from "../../parts/button";
import { useKey } from "../../parts/keys";
import { Raw } from "../../parts/raw";
import { type Opening, ResourceSheet } from "../../parts/resource";
import { Failure } from "../../parts/states";
import { stepsOf } from "../../parts/steps";
import { Summary, Timeline } from "../../parts/timeline";
import { reveal } from "../../words/format";
import { EditRetry } from "./EditRetry";
import { JobFacts, JobHead } from "./JobFacts";
import { mayCancel, mayEdit, mayRemove, mayRetry } from "./job";
import { texts } from "./texts";

type Detail = Answer<"GET /api/jobs/{job}">;

/** One job: its state, timeline and actions. */
export function JobSheet({ id, onClose, onOpen }: { id: string } & Opening) {
  const job = useApi("GET /api/jobs/{job}", { path: { job: id } });
  const story = useApi("GET /api/jobs/{job}/timeline", { path: { job: id } });
  const [editing, setEditing] = useState(false);
  const mayAct = useMay("operator");
  return (
    <ResourceSheet
      of={job}
      texts={texts}
      title={({ subject, kind }) => reveal(subject) || texts.kinds[kind]}
      onClose={onClose}
      actions={(data) => mayAct && <Actions job={data} onEdit={() => setEditing(true)} onGone={onClose} />}
    >
      {(data) => (
        <>
          {editing && (
            <EditRetry
              job={data.id}
              content={story.data?.content ?? ""}
              onCancel={() => setEditing(false)}
              onDone={(next) => {
                setEditing(false);
                onOpen(next);
              }}
            />
          )}
          {story.data && <Summary>{reveal(story.data.explanation)}</Summary>}
          <JobHead job={data} />
          <h3>{texts.timeline}</h3>
          {story.error && <Failure error={story.error} retry={() => void story.refetch()} />}
          {story.data && <Timeline steps={stepsOf(story.data.steps)} />}
          <h3>{texts.details}</h3>
          <JobFacts job={data} story={story.data ?? null} />
          {story.data?.content && <Raw title={texts.content} value={story.data.content} />}
          <Raw title={texts.payload} value={data} />
        </>
      )}
    </ResourceSheet>
  );
}

function Actions({ job, onEdit, onGone }: { job: Detail; onEdit: () => void; onGone: () => void }) {
  const path = { job: job.id };
  const retry = useSend("POST /api/jobs/{job}/retry", { done: texts.retried });
  const cancel = useSend("POST /api/jobs/{job}/cancel", { done: texts.cancelled });
  const remove = useSend("DELETE /api/jobs/{job}", { done: texts.removed });
  const again = () => retry.mutate({ path, body: {} });
  useKey("r", mayRetry(job) && !retry.isPending ? again : null);
  return (
    <>
      {mayRetry(job) && (
        <Button
          label={texts.retry}
          kind="primary"
          icon={RotateCcw}
          aria-keyshortcuts="r"
          busy={retry.isPending}
          onClick={again}
        />
      )}
      {mayEdit(job) && <Button label={texts.edit} icon={Pencil} onClick={onEdit} />}
      {mayCancel(job) && (
        <AskButton
          icon={X}
          busy={cancel.isPending}
          label={texts.cancel}
          title={texts.askCancel}
          words={texts.askCancelWords}
          onYes={() => cancel.mutate({ path })}
        />
      )}
      {mayRemove(job) && (
        <AskButton
          kind="danger"
          icon={Trash2}
          busy={remove.isPending}
          label={texts.remove}
          title={texts.askRemove}
          words={texts.askRemoveWords}
          onYes={() => remove.mutate({ path }, { onSuccess: onGone })}
        />
      )}
    </>
  );
}
