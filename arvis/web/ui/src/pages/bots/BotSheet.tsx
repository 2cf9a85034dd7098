import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { AskButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { Form, FormButtons } from "../../parts/form";
import { Section } from "../../parts/page";
import { Code, Facts, Status, Time } from "../../parts/show";
import { Failure } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { reveal } from "../../words/format";
import { BotFields } from "./BotFields";
import { Findings } from "./BotSetup";
import { type Bot, type Draft, EMPTY, HOME, type Platform, TONES } from "./bots";
import { texts } from "./texts";

/** One bot: its state, a setup check, and its settings. */
export function BotSheet({ bot, platform }: { bot: Bot; platform: Platform }) {
  const owns = useMay("owner");
  const mine = bot.source === "product";
  const check = useSend("POST /api/bots/{platform}/{name}/test", { quiet: true });
  const restart = useSend("POST /api/bots/{platform}/{name}/restart", { done: texts.restarted });
  const path = { platform: bot.platform, name: bot.name };
  return (
    <>
      <Facts
        of={[
          [texts.state, <BotState key="state" bot={bot} />],
          [texts.error, bot.error],
          [texts.user, bot.userName],
          [texts.since, bot.since !== null && <Time at={bot.since} />],
          [texts.source, texts.sources[bot.source]],
        ]}
      />
      {check.error && <Failure error={check.error} />}
      {check.data && !check.isPending && <Findings findings={check.data.findings} />}
      {owns && (
        <FormButtons>
          <Button label={texts.check} {...sends(check, { path })} />
          <Button label={texts.restart} {...sends(restart, { path })} />
          {mine && <Switch bot={bot} platform={platform} />}
        </FormButtons>
      )}
      <Section title={texts.settings}>
        {mine && owns && platform.fields.length > 0 ? (
          <Edit bot={bot} platform={platform} />
        ) : (
          <>
            {!mine && <p className="muted">{texts.readOnly}</p>}
            <Code value={bot.settings} label={texts.settings} />
          </>
        )}
      </Section>
    </>
  );
}

function Switch({ bot, platform }: { bot: Bot; platform: Platform }) {
  const [, navigate] = useLocation();
  const change = useSend("PATCH /api/bots/{platform}/{name}");
  const remove = useSend("DELETE /api/bots/{platform}/{name}", { done: texts.removed });
  const path = { platform: bot.platform, name: bot.name };
  return (
    <>
      <Button
        label={bot.enabled ? texts.disable : texts.enable}
        {...sends(change, { path, body: { enabled: !bot.enabled } })}
      />
      <AskButton
        kind="danger"
        label={common.delete}
        words={texts.removeWhy(reveal(bot.name), platform.title)}
        {...sends(remove, { path }, { onSuccess: () => navigate(HOME) })}
      />
    </>
  );
}

function Edit({ bot, platform }: { bot: Bot; platform: Platform }) {
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const latest = useRef(draft);
  const [saves, setSaves] = useState(0);
  const change = (next: Draft) => {
    latest.current = next;
    setDraft(next);
  };
  const save = useSend("PATCH /api/bots/{platform}/{name}", { quiet: true, done: common.saved });
  const send = () =>
    save.mutate(
      { path: { platform: bot.platform, name: bot.name }, body: draft },
      {
        onSuccess: () => {
          if (latest.current !== draft) return; // keep what was entered while Arvis saved
          change(EMPTY);
          setSaves((before) => before + 1); // reset the fields; those of secrets are empty
        },
      },
    );
  return (
    <Form onSend={send} by={[save]} label={texts.settings}>
      <BotFields
        key={saves}
        platform={platform}
        draft={draft}
        onChange={change}
        settings={bot.settings}
        secrets={bot.secrets}
        open
      />
    </Form>
  );
}

/** The state of a bot, in one word. */
export function BotState({ bot }: { bot: Bot }) {
  if (!bot.enabled) return <Status tone="plain">{texts.off}</Status>;
  return <Status tone={TONES[bot.state]}>{texts.states[bot.state]}</Status>;
}
