import { X } from "lucide-react";
import { useList } from "../../api/hooks";
import type { Item } from "../../api/types";
import { Button, ButtonLink } from "../../parts/button";
import { AgentFilter, FilterChoice } from "../../parts/filters";
import { SearchField, useFilter, useFilters } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { Status, Time, UntrustedText } from "../../parts/show";
import { type Column, usePhone } from "../../parts/table";
import { count, reveal } from "../../words/format";
import { ConversationSheet } from "./ConversationSheet";
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
