import { useEffect, useSyncExternalStore } from "react";
import { useSession } from "../../api/session";
import { Skeleton } from "../../parts/states";
import { type Agent, type Agents, useAgents } from "../chat/agents";
import { Column } from "../chat/Column";
import { type Chats, placeOf, useChats } from "../chat/chats";
import { Skip, type StepProps } from "./Step";
import { useFirstAgent } from "./setup";
import { texts } from "./texts";
import styles from "./welcome.module.css";

/** The chat with the first agent, with a prepared first message. */
export function HelloStep({ onDone, onSkip, answered }: StepProps & { answered: boolean }) {
  const slug = useFirstAgent();
  const agents = useAgents();
  const chats = useChats();
  const agent = slug === null ? undefined : agents.find(slug);
  return (
    <>
      {agent === undefined ? (
        agents.loaded ? (
          <p>{texts.hello.noAgent}</p>
        ) : (
          <Skeleton />
        )
      ) : (
        <Talk key={agent.slug} agent={agent} agents={agents} chats={chats} onDone={onDone} />
      )}
      {!answered && (
        <div>
          <Skip onSkip={onSkip} />
        </div>
      )}
    </>
  );
}

type Props = { agent: Agent; agents: Agents; chats: Chats; onDone: StepProps["onDone"] };

function Talk({ agent, agents, chats, onDone }: Props) {
  const { me } = useSession();
  const place = placeOf(me, agent.slug);
  const chat = chats.at(place);
  const drafts = chats.drafts(place.channel);
  const { loaded, talk } = useSyncExternalStore(chat.subscribe, () => chat.view);
  const silent = loaded && talk.entries.length === 0;
  const answered = talk.entries.some((entry) => entry.kind === "agent" && entry.final && !entry.aside);
  useEffect(() => {
    if (silent && drafts.draft.text === "") drafts.write(texts.hello.first);
  }, [silent, drafts]);
  useEffect(() => {
    if (answered) onDone();
  }, [answered, onDone]);
  return (
    <div className={styles.chat}>
      <Column agent={agent} chat={chat} drafts={drafts} chats={chats} nameOf={agents.nameOf} mayWrite onClose={null} />
    </div>
  );
}
