import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { TextArea, TextField } from "../../parts/fields";
import { Form } from "../../parts/form";
import { reveal, unusedName } from "../../words/format";
import { words } from "../../words/words";
import { Choices, Skip, type StepProps } from "./Step";
import { texts } from "./texts";

const prompts = words({
  en: {
    assistant: {
      name: "Ada",
      title: "Everyday assistant",
      about: "Answers questions, plans, drafts and remembers what matters to you.",
      role: "assistant",
      prompt:
        "You are a helpful assistant for everyday questions. Answer first, in plain words and as briefly as the question " +
        "allows; explain only when asked. Say openly when you do not know something or when a fact may be out of date. When " +
        "a request is unclear, ask one short question instead of guessing. Remember what people tell you about themselves " +
        "and their plans when it will help later.",
    },
    team: {
      name: "Sam",
      title: "Team helper",
      about: "Works in a group: answers questions, summarizes, keeps track of decisions.",
      role: "team helper",
      prompt:
        "You help a team in its shared channels. Answer questions about what was said and decided there, and name who said " +
        "it. When asked for a summary, give decisions first, then open questions, then who does what until when. Do not " +
        "answer messages that do not concern you. Never invent a decision: if none was made, say so.",
    },
    writer: {
      name: "Wren",
      title: "Text editor",
      about: "Rewrites, shortens and corrects what you paste, in your tone.",
      role: "editor",
      prompt:
        "You edit texts. When a person pastes one, return it corrected and tightened in the same language and tone, then " +
        "list at most three changes that matter and why. Do not add facts. Ask about the reader only when it changes the " +
        "result. When asked to write something new, offer one version, not several.",
    },
    own: { name: "", title: "Your own prompt", about: "Write your own instructions.", role: "", prompt: "" },
  },
});

type Beginning = keyof typeof prompts;
const BEGINNINGS = Object.keys(prompts) as Beginning[];

/** The slug: lower-case letters and digits, different from those already used. */
function slugOf(name: string, taken: readonly string[]): string {
  const plain = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  const base = plain === "" || RESERVED.includes(plain) ? "agent" : plain;
  return unusedName(base, taken);
}

const RESERVED = ["drop", "all", "channel", "everyone", "here"];

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
