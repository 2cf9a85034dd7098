import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { TextArea, TextField } from "../../parts/fields";
import { Form } from "../../parts/form";
import { reveal } from "../../words/format";
import { BEGINNINGS, type Beginning, prompts, slugOf } from "./prompts";
import { Choices, Skip, type StepProps } from "./Step";
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
      <Form
        onSend={send}
        by={[make]}
        save={texts.agent.make}
        label={texts.agent.title}
        buttons={<Skip onSkip={onSkip} />}
      >
        <TextField label={texts.agent.name} required value={name} onChange={setName} />
        <TextArea label={texts.agent.prompt} rows={5} required value={prompt} onChange={setPrompt} />
      </Form>
    </>
  );
}
