import { ArrowLeft, Pause, Play, Trash2, Undo2 } from "lucide-react";
import type { ReactNode } from "react";
import { useLocation } from "wouter";
import { useApi, useSend } from "../../api/hooks";
import { useMay, useSession } from "../../api/session";
import { AskButton, sends } from "../../parts/actions";
import { Button, ButtonLink } from "../../parts/button";
import { Page } from "../../parts/page";
import { Empty, Loaded } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { reveal } from "../../words/format";
import { useAgents } from "../chat/agents";
import { Column } from "../chat/Column";
import { addressOf, placeOf, useChats } from "../chat/chats";
import { FactTable } from "../memory/FactTable";
import styles from "./agents.module.css";
import { Channels } from "./Channels";
import { type Agent, CONDUCTOR } from "./draft";
import { EditAgent } from "./EditAgent";
import { History } from "./History";
import { Overview } from "./Overview";
import { texts } from "./texts";

const HOME = "/agents";
const NOT_FOUND = 404;
const PARTS: Record<string, (agent: Agent) => ReactNode> = {
  "": (agent) => <Overview agent={agent} />,
  edit: (agent) => <EditAgent agent={agent} />,
  history: (agent) => <History agent={agent} />,
  channels: (agent) => <Channels agent={agent} />,
  memory: (agent) => <AgentMemory agent={agent} />,
  chat: (agent) => <TestChat agent={agent} />,
};

/** One agent: overview, editing, history, channels, memory, and a test chat. */
export function AgentPage({ slug, tab }: { slug: string; tab: string }) {
  const agent = useApi("GET /api/agents/{agent}", { path: { agent: slug } });
  const owns = useMay("owner");
  const found = agent.data;
  const base = `${HOME}/${encodeURIComponent(slug)}`;
  const here = tab === "" ? base : `${base}/${tab}`;
  const part = PARTS[tab];
  if (agent.error?.status === NOT_FOUND || part === undefined) return <Gone />;
  const tabs: (readonly [string, string])[] = [
    [base, texts.tabs.overview],
    ...(owns && found?.status !== "archived" ? [[`${base}/edit`, texts.tabs.edit] as const] : []),
    [`${base}/history`, texts.tabs.history],
    [`${base}/channels`, texts.tabs.channels],
    [`${base}/memory`, texts.tabs.memory],
    [`${base}/chat`, texts.tabs.chat],
  ];
  const locked = tab === "edit" && (!owns || found?.status === "archived");
  return (
    <Page
      title={found === undefined ? slug : reveal(found.name)}
      about={found && reveal(found.description || texts.noDescription)}
      actions={found && <Actions agent={found} />}
    >
      <Tabs label={texts.parts} tabs={tabs} current={here} />
      <Loaded of={agent}>
        {(known) => (
          <>
            {known.status !== "active" && (
              <p className={styles.note}>{known.status === "paused" ? texts.isPaused : texts.isDeleted}</p>
            )}
            {locked ? <Empty why={texts.ownersOnlyWhy} title={texts.ownersOnly} /> : part(known)}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Gone() {
  return (
    <Page title={texts.title}>
      <Empty why={texts.goneWhy} title={texts.gone} action={<ButtonLink label={texts.all} href={HOME} />} />
    </Page>
  );
}

function Actions({ agent }: { agent: Agent }) {
  const [, navigate] = useLocation();
  const { tell } = useToast();
  const mayPause = useMay("operator");
  const owns = useMay("owner");
  const path = { agent: agent.slug };
  const pause = useSend("POST /api/agents/{agent}/pause", { done: texts.paused });
  const resume = useSend("POST /api/agents/{agent}/resume", { done: texts.resumed });
  const remove = useSend("DELETE /api/agents/{agent}");
  const undo = useSend("POST /api/agents/{agent}/undo", { done: common.undone });
  const name = reveal(agent.name);
  const deleted = () => {
    tell(texts.deleted(name), { words: common.undo, act: () => undo.mutate({ path }) });
    navigate(HOME);
  };
  return (
    <>
      <ButtonLink label={texts.all} kind="quiet" href={HOME} icon={ArrowLeft} />
      {mayPause && agent.status === "active" && <Button label={texts.pause} icon={Pause} {...sends(pause, { path })} />}
      {mayPause && agent.status === "paused" && (
        <Button label={texts.resume} kind="primary" icon={Play} {...sends(resume, { path })} />
      )}
      {owns && agent.status === "archived" && (
        <Button label={texts.bringBack} kind="primary" icon={Undo2} {...sends(undo, { path })} />
      )}
      {owns && agent.status !== "archived" && agent.role !== CONDUCTOR && (
        <AskButton
          kind="danger"
          icon={Trash2}
          label={texts.delete}
          words={texts.deleteWhy(name)}
          {...sends(remove, { path }, { onSuccess: deleted })}
        />
      )}
    </>
  );
}

/** The facts of one agent; each opens on the Memory page. */
function AgentMemory({ agent }: { agent: Agent }) {
  const [, navigate] = useLocation();
  const search = `?agent=${encodeURIComponent(agent.slug)}`;
  return (
    <>
      <div className={styles.aside}>
        <p className="muted">{texts.memoryAbout}</p>
        <ButtonLink label={texts.openMemory} href={`/memory${search}`} />
      </div>
      <FactTable filter={{ agent: agent.slug }} onOpen={(fact) => navigate(`/memory/${fact.id}${search}`)} />
    </>
  );
}

/** A chat with the agent, beside its settings. */
function TestChat({ agent }: { agent: Agent }) {
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
