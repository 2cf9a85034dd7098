import { useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useEffect } from "react";
import { useApi, useList, useSend } from "../../api/hooks";
import { useLive } from "../../api/live";
import { useMay } from "../../api/session";
import type { Answer, Item } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { Button, ButtonLink } from "../../parts/button";
import { AgentFilter, FilterChoice, SearchField, useFilter, useFilters } from "../../parts/page";
import { ResourcePage, ResourceSheet } from "../../parts/resource";
import { Facts, Status, Time, UntrustedText } from "../../parts/show";
import { type Column, usePhone } from "../../parts/table";
import { count, reveal } from "../../words/format";
import styles from "./conversations.module.css";
import { Log } from "./Log";
import { texts } from "./texts";

type Talk = Item<"GET /api/conversations">;

const PLATFORMS = ["web", "discord", "telegram", "slack"].map((name) => [name, name] as const);
const COLUMNS: Column<Talk>[] = [
  { name: texts.talk, width: "minmax(160px, 3fr)", show: (talk) => talk.title || texts.untitled },
  { name: texts.agent, width: "minmax(80px, 1fr)", show: (talk) => talk.agent },
  {
    name: texts.place,
    width: "minmax(110px, 2fr)",
    wide: true,
    show: (talk) => (
      <span>
        <UntrustedText text={talk.platform} className="muted" /> <UntrustedText text={talk.channelId} />
      </span>
    ),
  },
  { name: texts.people, width: "64px", wide: true, show: (talk) => count(talk.participants) },
  { name: texts.turns, width: "64px", wide: true, show: (talk) => count(talk.turns) },
  { name: texts.last, width: "116px", show: (talk) => <Time at={talk.lastMessageAt} /> },
  {
    name: texts.state,
    width: "84px",
    wide: true,
    show: (talk) => <Status tone={talk.open ? "accent" : "plain"}>{talk.open ? texts.open : texts.closed}</Status>,
  },
];
const ON_PHONE = COLUMNS.filter((column) => !column.wide);

/** All conversations, the last used one first. */
export default function ConversationsPage() {
  const { agent, platform } = useFilters("agent", "platform");
  const [channel, setChannel] = useFilter("channel");
  const [q] = useFilter("q");
  return (
    <ResourcePage
      home="/conversations"
      texts={texts}
      pages={useList("GET /api/conversations", { agent, platform, channel, q, limit: 200 })}
      columns={usePhone() ? ON_PHONE : COLUMNS}
      idOf={(talk) => talk.id}
      filters={
        <>
          <SearchField label={texts.search} />
          <AgentFilter />
          <FilterChoice label={texts.platform} name="platform" all={texts.everyPlatform} options={PLATFORMS} />
          {channel !== "" && (
            <Button
              label={texts.channel(reveal(channel))}
              icon={X}
              title={texts.clearChannel}
              onClick={() => setChannel("")}
            />
          )}
        </>
      }
      filtered={Boolean(agent || platform || channel || q)}
      action={<ButtonLink label={texts.emptyAction} href="/chat" />}
      sheet={(id, { onClose }) => <ConversationSheet id={id} onClose={onClose} />}
    />
  );
}

type Detail = Answer<"GET /api/conversations/{conversation}">;

/** One conversation: its channel, messages and summaries. It is updated while the user reads. */
function ConversationSheet({ id, onClose }: { id: string; onClose: () => void }) {
  useWatched(id);
  return (
    <ResourceSheet
      of={useApi("GET /api/conversations/{conversation}", { path: { conversation: id } })}
      texts={texts}
      title={(talk) => reveal(talk.title) || texts.untitled}
      onClose={onClose}
      actions={(talk) => <Actions talk={talk} />}
    >
      {(talk) => (
        <>
          <TalkFacts talk={talk} onErased={onClose} />
          <Log talk={talk.id} agent={talk.agent} />
        </>
      )}
    </ResourceSheet>
  );
}

/** The channel in one line; the numbers follow, because readers come for the messages. */
function TalkFacts({ talk, onErased }: { talk: Detail; onErased: () => void }) {
  const owns = useMay("owner");
  return (
    <details className={styles.about}>
      <summary>
        <UntrustedText text={[talk.agent, talk.platform, talk.channelId, talk.thread].filter(Boolean).join(" · ")} />{" "}
        <Status tone={talk.open ? "accent" : "plain"}>{talk.open ? texts.open : texts.closed}</Status>
      </summary>
      <Facts
        of={[
          [texts.started, <Time key="began" at={talk.createdAt} />],
          [texts.last, <Time key="last" at={talk.lastMessageAt} />],
          [texts.turns, count(talk.turns)],
          [texts.people, count(talk.participants)],
          [texts.context, texts.inContext(count(talk.messagesInContext), count(talk.tokensInContext))],
          [texts.memory, texts.memoryIs(talk.remembers)],
          [texts.summaries, talk.summaries === 0 ? null : count(talk.summaries)],
        ]}
      />
      {owns && <ChannelData talk={talk} onErased={onErased} />}
    </details>
  );
}

/** The export and the erasure of the whole channel, for owners. */
function ChannelData({ talk, onErased }: { talk: Detail; onErased: () => void }) {
  const { platform, connector, channelId } = talk;
  const erase = useSend("POST /api/erasures", { done: texts.eraseBegun });
  const channel = encodeURIComponent([platform, connector, channelId].join(":"));
  return (
    <div className={styles.channel}>
      <a className={styles.save} href={`/api/export?channel=${channel}`} download>
        {texts.exportChannel}
      </a>
      <AskButton
        label={texts.eraseChannel}
        title={texts.eraseTitle(reveal(channelId))}
        words={texts.eraseWhy}
        busy={erase.isPending}
        onClick={() => erase.mutate({ body: { channel: { platform, connector, channelId } } }, { onSuccess: onErased })}
      />
    </div>
  );
}

function Actions({ talk }: { talk: Detail }) {
  const operates = useMay("operator");
  const close = useSend("POST /api/conversations/{conversation}/close", { done: texts.closedNow });
  const remember = useSend("PATCH /api/conversations/{conversation}", {
    done: talk.remembers ? texts.memoryIsOff : texts.memoryIsOn,
  });
  const change = (remembers: boolean) => sends(remember, { path: { conversation: talk.id }, body: { remembers } });
  const file = `/api/conversations/${encodeURIComponent(talk.id)}/export?format=`;
  return (
    <>
      {talk.platform === "web" && talk.channelId.startsWith("dashboard-agent-") && (
        <ButtonLink label={texts.chat} href={`/chat/${talk.agent}`} />
      )}
      {operates && talk.open && (
        <AskButton
          label={texts.close}
          title={texts.closeTitle}
          words={texts.closeWhy}
          danger={false}
          {...sends(close, { path: { conversation: talk.id } })}
        />
      )}
      {operates &&
        (talk.remembers ? (
          <AskButton
            label={texts.memoryOff}
            title={texts.memoryTitle}
            words={texts.memoryWhy}
            danger={false}
            {...change(false)}
          />
        ) : (
          <Button label={texts.memoryOn} {...change(true)} />
        ))}
      <a className={styles.save} href={`${file}markdown`} download>
        {texts.markdown}
      </a>
      <a className={styles.save} href={`${file}json`} download>
        {texts.json}
      </a>
    </>
  );
}

/** Reload an open conversation when something happens in its channel. */
function useWatched(conversation: string): void {
  const { watch, listen } = useLive();
  const client = useQueryClient();
  // biome-ignore lint/correctness/useExhaustiveDependencies: both are new objects at every change of the counters, with the same effect
  useEffect(() => {
    const topic = `conversation:${conversation}`;
    const ends = [
      watch(topic),
      listen((frame) => {
        if (frame.type !== "changed" || frame.topic !== topic) return;
        void client.invalidateQueries({
          predicate: ({ queryKey }) => JSON.stringify(queryKey[2] ?? null).includes(conversation),
        });
      }),
    ];
    return () => {
      for (const end of ends) end();
    };
  }, [conversation, client]);
}
