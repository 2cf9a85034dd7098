import { useSend } from "../../api/hooks";
import type { Answer } from "../../api/types";
import { TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { ModelField } from "../../parts/modelFields";
import { texts } from "./texts";

type Props = { suite: string; agent: Answer<"GET /api/agents/{agent}"> };

/** Start the evaluation of a suite with the agent as it is, or with another prompt or model. */
export function StartForm({ suite, agent }: Props) {
  const { draft, of } = useDraft({ prompt: agent.prompt, model: "", limit: "" });
  const start = useSend("POST /api/evaluations", { quiet: true, done: texts.started });
  const changes = {
    ...(draft.prompt === agent.prompt ? {} : { prompt: draft.prompt }),
    ...(draft.model === "" ? {} : { model: draft.model }),
  };
  const limit = draft.limit === "" ? {} : { maxCostUsd: Number(draft.limit) };
  return (
    <Form
      label={texts.start}
      save={texts.start}
      by={[start]}
      onSend={() => start.mutate({ body: { suite, changes, ...limit } })}
    >
      <TextArea label={texts.prompt} hint={texts.promptHint} rows={8} {...of("prompt")} />
      <ModelField label={texts.model} unset={texts.sameModel} {...of("model")} />
      <TextField label={texts.limit} hint={texts.limitHint} type="number" min={0} step="any" {...of("limit")} />
    </Form>
  );
}
