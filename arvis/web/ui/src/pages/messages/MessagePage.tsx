import { useList } from "../../api/hooks";
import { useMay } from "../../api/session";
import { ButtonLink } from "../../parts/button";
import { useDetail } from "../../parts/detail";
import { Choice } from "../../parts/field";
import { AgentFilter } from "../../parts/filters";
import { Chips, Page, SearchField, useFilter } from "../../parts/page";
import { Empty } from "../../parts/states";
import { Table } from "../../parts/table";
import { reveal } from "../../words/format";
import { columns } from "./columns";
import { MessageSheet } from "./MessageSheet";
import { type MessageStatus, STATUSES } from "./message";
import { texts } from "./texts";

/** Messages of people, with their outcomes. */
export default function MessagePage() {
  const [status] = useFilter("status");
  const [agent] = useFilter("agent");
  const [platform] = useFilter("platform");
  const [q] = useFilter("q");
  const pages = useList("GET /api/messages", { status: status as MessageStatus, agent, platform, q });
  const { id, open, close } = useDetail("/messages");
  const mayAct = useMay("operator");
  const filtered = Boolean(status || agent || platform || q);
  return (
    <Page
      title={texts.title}
      about={texts.about}
      filters={
        <>
          <Chips
            label={texts.status}
            name="status"
            options={STATUSES.map((one) => [one, texts.statuses[one]] as const)}
          />
          <SearchField label={texts.search} />
          <AgentFilter />
          <PlatformFilter />
        </>
      }
      sheet={id && <MessageSheet key={id} id={id} onClose={close} />}
    >
      <Table
        label={texts.table}
        columns={columns(mayAct, id !== null)}
        pages={pages}
        idOf={(message) => message.id}
        onOpen={(message) => open(message.id)}
        openId={id}
        empty={
          filtered ? (
            <Empty title={texts.noMatch}>{texts.noMatchWords}</Empty>
          ) : (
            <Empty title={texts.empty} action={<ButtonLink href="/chat">{texts.emptyAction}</ButtonLink>}>
              {texts.emptyWords}
            </Empty>
          )
        }
      />
    </Page>
  );
}

function PlatformFilter() {
  const [platform, setPlatform] = useFilter("platform");
  const known: [string, string][] = Object.entries(texts.platforms);
  const others: [string, string][] =
    platform === "" || platform in texts.platforms ? [] : [[platform, reveal(platform)]];
  return (
    <Choice
      aria-label={texts.platform}
      value={platform}
      options={[["", texts.everyPlatform], ...known, ...others]}
      onChange={setPlatform}
    />
  );
}
