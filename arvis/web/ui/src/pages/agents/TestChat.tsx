import { useMay, useSession } from "../../api/session";
import { ButtonLink } from "../../parts/button";
import { Empty } from "../../parts/states";
import { useAgents } from "../chat/agents";
import { Column } from "../chat/Column";
import { addressOf, placeOf, useChats } from "../chat/chats";
import styles from "./agents.module.css";
import type { Agent } from "./draft";
import { texts } from "./texts";

/** A chat with the agent, beside its settings. */
export function TestChat({ agent }: { agent: Agent }) {
  const { me } = useSession();
  const mayWrite = useMay("operator");
  const chats = useChats();
  const { nameOf } = useAgents();
  if (agent.status === "archived") return <Empty title={texts.cannotChat} />;
  const place = placeOf(me, agent.slug);
  return (
    <>
      <div className={styles.aside}>
        <p className="muted">{texts.chatAbout}</p>
        <ButtonLink label={texts.openChat} href={addressOf([agent.slug])} />
      </div>
      <div className={styles.chat}>
        <Column
          agent={{ ...agent, paused: agent.status === "paused" }}
          chat={chats.at(place)}
          drafts={chats.drafts(place.channel)}
          chats={chats}
          nameOf={nameOf}
          mayWrite={mayWrite}
          onClose={null}
        />
      </div>
    </>
  );
}
