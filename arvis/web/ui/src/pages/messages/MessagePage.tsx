import { useList } from "../../api/hooks";
import { useMay } from "../../api/session";
import { ButtonLink } from "../../parts/button";
import { AgentFilter, FilterChoice } from "../../parts/filters";
import { Chips, SearchField, useFilters } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { columns } from "./columns";
import { MessageSheet } from "./MessageSheet";
import { type MessageStatus, STATUSES } from "./message";
import { texts } from "./texts";

/** Messages of people, with their outcomes. */
export default function MessagePage() {
  const { status, agent, platform, q } = useFilters("status", "agent", "platform", "q");
  return (
    <ResourcePage
      home="/messages"
      texts={texts}
      label={texts.table}
      pages={useList("GET /api/messages", { status: status as MessageStatus, agent, platform, q })}
      columns={columns(useMay("operator"))}
      idOf={(message) => message.id}
      filters={
        <>
          <Chips
            label={texts.status}
            name="status"
            options={STATUSES.map((one) => [one, texts.statuses[one]] as const)}
          />
          <SearchField label={texts.search} />
          <AgentFilter />
          <FilterChoice
            label={texts.platform}
            name="platform"
            all={texts.everyPlatform}
            options={Object.entries(texts.platforms)}
          />
        </>
      }
      filtered={Boolean(status || agent || platform || q)}
      action={<ButtonLink label={texts.emptyAction} href="/chat" />}
      sheet={(id, { onClose }) => <MessageSheet id={id} onClose={onClose} />}
    />
  );
}
