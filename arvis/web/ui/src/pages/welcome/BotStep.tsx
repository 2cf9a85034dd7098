import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/hooks";
import { UntrustedText } from "../../parts/show";
import { Loaded } from "../../parts/states";
import { reveal } from "../../words/format";
import { BotSetup } from "../bots/BotSetup";
import { BotState } from "../bots/BotSheet";
import { addressOf, type Bot } from "../bots/bots";
import { Choices, Skip, type StepProps } from "./Step";
import { useFirstAgent } from "./setup";
import { texts } from "./texts";

/** A bot on a chat platform that the first agent answers for. */
export function BotStep({ onDone, onSkip }: StepProps) {
  const platforms = useApi("GET /api/platforms", {});
  const bots = useApi("GET /api/bots", {});
  const agent = useFirstAgent();
  const [name, setName] = useState<string | null>(null);
  const [started, setStarted] = useState<Bot | null>(null);
  if (started) {
    const now = bots.data?.items.find((one) => one.platform === started.platform && one.name === started.name);
    return <Started bot={now ?? started} onRunning={() => onDone(texts.bot.started)} />;
  }
  return (
    <Loaded of={platforms}>
      {({ items }) => {
        const offered = items.filter((one) => one.fields.length > 0);
        const chosen = offered.find((one) => one.name === name);
        const taken = (bots.data?.items ?? []).filter((one) => one.platform === name).map((one) => one.name);
        return (
          <>
            <Choices
              label={texts.bot.platforms}
              options={offered.map((one) => [one.name, one.title, one.description] as const)}
              chosen={name}
              onChoose={setName}
            />
            {chosen && (
              <BotSetup
                key={chosen.name}
                platform={chosen}
                taken={taken}
                agent={agent ?? undefined}
                onStarted={setStarted}
              />
            )}
            <div>
              <Skip onSkip={onSkip} />
            </div>
          </>
        );
      }}
    </Loaded>
  );
}

/** The step is done once the bot is connected; errors stay on the screen. */
function Started({ bot, onRunning }: { bot: Bot; onRunning: () => void }) {
  const running = bot.state === "running";
  const latest = useRef(onRunning);
  latest.current = onRunning;
  useEffect(() => {
    if (running) latest.current();
  }, [running]);
  return (
    <div role="status">
      <BotState bot={bot} />
      {bot.error && (
        <p>
          <UntrustedText text={bot.error} />
        </p>
      )}
      {bot.state === "running" && bot.userName && <p>{texts.bot.write(reveal(bot.userName))}</p>}
      <Link href={addressOf(bot.platform, bot.name)}>{texts.bot.look}</Link>
    </div>
  );
}
