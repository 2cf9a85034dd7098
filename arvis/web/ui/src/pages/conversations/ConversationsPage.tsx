import { X } from "lucide-react";
import { useList } from "../../api/hooks";
import type { Item } from "../../api/types";
import { Button, ButtonLink } from "../../parts/button";
import { useDetail } from "../../parts/detail";
import { Choice } from "../../parts/field";
import { AgentFilter } from "../../parts/filters";
import { Page, SearchField, useFilter } from "../../parts/page";
import { Status, Time, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { type Column, Table, usePhone } from "../../parts/table";
import { count, reveal } from "../../words/format";
import { ConversationSheet } from "./ConversationSheet";
import { texts } from "./texts";

type Talk = Item<"GET /api/conversations">;

const PLATFORMS = ["web", "discord", "telegram", "slack"];
const TITLE: Column<Talk> = {
  name: texts.talk,
  width: "minmax(160px, 3fr)",
  show: (talk) => <UntrustedText text={talk.title || texts.untitled} />,
};
const AGENT: Column<Talk> = {
  name: texts.agent,
  width: "minmax(80px, 1fr)",
  show: (talk) => <UntrustedText text={talk.agent} />,
};
const LAST: Column<Talk> = { name: texts.last, width: "116px", show: (talk) => <Time at={talk.lastMessageAt} /> };
const COLUMNS: Column<Talk>[] = [
  TITLE,
  AGENT,
  {
    name: texts.place,
    width: "minmax(110px, 2fr)",
    show: (talk) => (
      <span>
        <UntrustedText text={talk.platform} className="muted" /> <UntrustedText text={talk.channelId} />
      </span>
    ),
  },
  { name: texts.people, width: "64px", show: (talk) => count(talk.participants) },
  { name: texts.turns, width: "64px", show: (talk) => count(talk.turns) },
  LAST,
  {
    name: texts.state,
    width: "84px",
    show: (talk) => <Status tone={talk.open ? "accent" : "plain"}>{talk.open ? texts.open : texts.closed}</Status>,
  },
];
/** The columns on a phone, or if a detail is shown beside the list. */
const FEWER: Column<Talk>[] = [TITLE, AGENT, LAST];

/** All conversations, the last used one first. */
export default function ConversationsPage() {
  const [agent] = useFilter("agent");
  const [platform, setPlatform] = useFilter("platform");
  const [channel, setChannel] = useFilter("channel");
  const [text] = useFilter("q");
  const pages = useList("GET /api/conversations", { agent, platform, channel, q: text, limit: 200 });
  const { id, open, close } = useDetail("/conversations");
  const phone = usePhone();
  const platforms = PLATFORMS.includes(platform) || platform === "" ? PLATFORMS : [platform, ...PLATFORMS];
  const filtered = Boolean(agent || platform || channel || text);
  return (
    <Page
      title={texts.title}
      about={texts.about}
      filters={
        <>
          <SearchField label={texts.search} />
          <AgentFilter />
          <Choice
            aria-label={texts.platform}
            value={platform}
            options={[["", texts.everyPlatform], ...platforms.map((one) => [one, reveal(one)] as const)]}
            onChange={setPlatform}
          />
          {channel !== "" && (
            <Button icon={<X aria-hidden />} title={texts.clearChannel} onClick={() => setChannel("")}>
              {texts.channel(reveal(channel))}
            </Button>
          )}
        </>
      }
      sheet={id && <ConversationSheet key={id} id={id} onClose={close} />}
    >
      <Table
        label={texts.title}
        columns={id === null && !phone ? COLUMNS : FEWER}
        pages={pages}
        idOf={(talk) => talk.id}
        onOpen={(talk) => open(talk.id)}
        openId={id}
        empty={
          filtered ? (
            <Empty title={texts.noMatch}>{texts.noMatchWhy}</Empty>
          ) : (
            <Empty title={texts.empty} action={<ButtonLink href="/chat">{texts.emptyAction}</ButtonLink>}>
              {texts.emptyWhy}
            </Empty>
          )
        }
      />
    </Page>
  );
}
