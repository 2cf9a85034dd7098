import { useMemo } from "react";
import { useLocation, useRoute } from "wouter";
import { useMay, useSession } from "../../api/session";
import { useTitle } from "../../frame/title";
import { Empty, Failure } from "../../parts/states";
import { usePhone } from "../../parts/table";
import { reveal } from "../../words/format";
import { AgentList } from "./AgentList";
import { useAgents } from "./agents";
import { Column } from "./Column";
import styles from "./chat.module.css";
import { ANYONE, addressOf, placeOf, useChats } from "./chats";
import { texts } from "./texts";

/** The largest number of conversations side by side. */
const MOST_COLUMNS = 4;

/** The chat: the list of agents, and one conversation or several side by side (`/chat/helper,writer`). */
export default function ChatPage() {
  const [, parameters] = useRoute("/chat/:agents?");
  const [, navigate] = useLocation();
  const agents = useAgents();
  const chats = useChats();
  const { me } = useSession();
  const named = parameters?.agents ?? ANYONE;
  const chosen = useMemo(() => [...new Set(named.split(",").map(decoded))].slice(0, MOST_COLUMNS), [named]);
  const phone = usePhone();
  const shown = phone ? chosen.slice(0, 1) : chosen;
  const known = shown.filter((slug) => agents.find(slug) !== undefined);
  useTitle(known.map((slug) => reveal(agents.nameOf(slug))).join(", ") || texts.title);
  const mayWrite = useMay("operator") || me.role === "chat";
  const close = (slug: string) => navigate(addressOf(chosen.filter((one) => one !== slug)));
  return (
    <div className={styles.page}>
      <h1 className="hidden">{texts.title}</h1>
      <AgentList
        agents={agents.all.filter((agent) => !agent.paused || shown.includes(agent.slug))}
        chosen={shown}
        chats={chats}
        mayOpenBeside={!phone && chosen.length < MOST_COLUMNS}
      />
      {agents.error && <Failure error={agents.error} retry={agents.retry} />}
      <div className={styles.columns}>
        {agents.loaded &&
          shown.map((slug) => {
            const agent = agents.find(slug);
            if (agent === undefined) return <Empty why={texts.goneWords} key={slug} title={texts.gone} />;
            const place = placeOf(me, slug);
            return (
              <Column
                key={place.channel}
                agent={agent}
                chat={chats.at(place)}
                drafts={chats.drafts(place.channel)}
                chats={chats}
                nameOf={agents.nameOf}
                mayWrite={mayWrite}
                onClose={shown.length > 1 ? () => close(slug) : null}
              />
            );
          })}
      </div>
    </div>
  );
}

function decoded(slug: string): string {
  try {
    return decodeURIComponent(slug);
  } catch {
    return slug;
  }
}
