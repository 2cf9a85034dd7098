import { Pencil, RotateCcw, Trash2, X } from "lucide-react";
import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer } from "../../api/types";
import { Button } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { useKey } from "../../parts/keys";
import { Sheet } from "../../parts/page";
import { Raw } from "../../parts/raw";
import { Empty, Failure, Loaded } from "../../parts/states";
import { stepsOf } from "../../parts/steps";
import { Summary, Timeline } from "../../parts/timeline";
import { reveal } from "../../words/format";
import { EditRetry } from "./EditRetry";
import { JobFacts, JobHead } from "./JobFacts";
import { mayCancel, mayEdit, mayRemove, mayRetry } from "./job";
import { texts } from "./texts";

type Detail = Answer<"GET /api/jobs/{job}">;

const NOT_FOUND = 404;

/** One job: its state, timeline and actions. */
export function JobSheet({ id, onClose, onOpen }: { id: string; onClose: () => void; onOpen: (id: string) => void }) {
  const job = useApi("GET /api/jobs/{job}", { path: { job: id } });
  const story = useApi("GET /api/jobs/{job}/timeline", { path: { job: id } });
  const [editing, setEditing] = useState(false);
  const mayAct = useMay("operator");
  const title = job.data === undefined ? "" : reveal(job.data.subject) || texts.kinds[job.data.kind];
  return (
    <Sheet
      title={title}
      onClose={onClose}
      actions={job.data && mayAct && <Actions job={job.data} onEdit={() => setEditing(true)} onGone={onClose} />}
    >
      {job.error?.status === NOT_FOUND ? (
        <Empty title={texts.gone}>{texts.goneWords}</Empty>
      ) : (
        <Loaded of={job}>
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
        </Loaded>
      )}
    </Sheet>
  );
}

function Actions({ job, onEdit, onGone }: { job: Detail; onEdit: () => void; onGone: () => void }) {
  const ask = useAsk();
  const path = { job: job.id };
  const retry = useSend("POST /api/jobs/{job}/retry", { done: texts.retried });
  const cancel = useSend("POST /api/jobs/{job}/cancel", { done: texts.cancelled });
  const remove = useSend("DELETE /api/jobs/{job}", { done: texts.removed });
  const again = () => retry.mutate({ path, body: {} });
  useKey("r", mayRetry(job) && !retry.isPending ? again : null);
  const end = async () => {
    const { askCancel: title, askCancelWords: words, cancel: yes } = texts;
    if (await ask({ title, words, yes, danger: true })) cancel.mutate({ path });
  };
  const drop = async () => {
    const { askRemove: title, askRemoveWords: words, remove: yes } = texts;
    if (await ask({ title, words, yes, danger: true })) remove.mutate({ path }, { onSuccess: onGone });
  };
  return (
    <>
      {mayRetry(job) && (
        <Button
          kind="primary"
          icon={<RotateCcw aria-hidden />}
          aria-keyshortcuts="r"
          busy={retry.isPending}
          onClick={again}
        >
          {texts.retry}
        </Button>
      )}
      {mayEdit(job) && (
        <Button icon={<Pencil aria-hidden />} onClick={onEdit}>
          {texts.edit}
        </Button>
      )}
      {mayCancel(job) && (
        <Button icon={<X aria-hidden />} busy={cancel.isPending} onClick={() => void end()}>
          {texts.cancel}
        </Button>
      )}
      {mayRemove(job) && (
        <Button kind="danger" icon={<Trash2 aria-hidden />} busy={remove.isPending} onClick={() => void drop()}>
          {texts.remove}
        </Button>
      )}
    </>
  );
}
