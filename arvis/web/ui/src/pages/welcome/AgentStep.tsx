import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Failure } from "../../parts/states";
import { reveal } from "../../words/format";
import { Choices } from "./Choices";
import { BEGINNINGS, type Beginning, prompts, slugOf } from "./prompts";
import { Skip, type StepProps } from "./Step";
import { texts } from "./texts";

/** The first agent: one of three templates, or the user's own prompt. */
export function AgentStep({ onDone, onSkip }: StepProps) {
  const agents = useApi("GET /api/agents", {});
  const archived = useApi("GET /api/agents", { query: { status: "archived" } });
  const [beginning, setBeginning] = useState<Beginning>("assistant");
  const [name, setName] = useState<string>(prompts.assistant.name);
  const [prompt, setPrompt] = useState<string>(prompts.assistant.prompt);
  const make = useSend("POST /api/agents", { quiet: true });
  const choose = (one: Beginning) => {
    // Edited text is kept: a new template replaces only the text of the previous template.
    if (name === prompts[beginning].name) setName(prompts[one].name);
    if (prompt === prompts[beginning].prompt) setPrompt(prompts[one].prompt);
    setBeginning(one);
  };
  const send = () => {
    const taken = [...(agents.data?.items ?? []), ...(archived.data?.items ?? [])].map((one) => one.slug);
    const { about, role } = prompts[beginning];
    const body = { slug: slugOf(name, taken), name: name.trim(), role, prompt };
    make.mutate(
      { body: beginning === "own" ? body : { ...body, description: about } },
      { onSuccess: (agent) => onDone(texts.agent.made(reveal(agent.name))) },
    );
  };
  return (
    <>
      <Choices
        label={texts.agent.prompts}
        options={BEGINNINGS.map((one) => [one, prompts[one].title, prompts[one].about] as const)}
        chosen={beginning}
        onChoose={choose}
      />
      <Form onSend={send} label={texts.agent.title}>
        {make.error && <Failure error={make.error} />}
        <Field label={texts.agent.name}>
          <input value={name} required autoComplete="off" onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field label={texts.agent.prompt}>
          <textarea rows={5} value={prompt} required onChange={(event) => setPrompt(event.target.value)} />
        </Field>
        <FormButtons>
          <Button type="submit" kind="primary" busy={make.isPending}>
            {texts.agent.make}
          </Button>
          <Skip onSkip={onSkip} />
        </FormButtons>
      </Form>
    </>
  );
}
