import { useList } from "../../api/hooks";
import { useDetail } from "../../parts/detail";
import { Choice } from "../../parts/field";
import { Chips, Page, SearchField, useFilter } from "../../parts/page";
import { Status, Time, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { reveal } from "../../words/format";
import { PairingRequests } from "./PairingRequests";
import { PersonSheet } from "./PersonSheet";
import { nameOf, type Person, type Role, RoleState } from "./person";
import { texts } from "./texts";

const PLATFORMS = ["web", "discord", "telegram", "slack"];
const ROLES = Object.entries(texts.roles) as [Role, string][];

const FIRST: Column<Person>[] = [
  { name: texts.name, width: "minmax(110px, 2fr)", show: (person) => <UntrustedText text={nameOf(person)} /> },
  { name: texts.platform, width: "90px", show: (person) => <UntrustedText text={person.platform} /> },
];
const ROLE: Column<Person> = { name: texts.role, width: "104px", show: (person) => <RoleState role={person.role} /> };
const COLUMNS: Column<Person>[] = [
  ...FIRST,
  { name: texts.user, width: "minmax(100px, 2fr)", show: (person) => <UntrustedText text={person.userId} /> },
  ROLE,
  {
    name: texts.pairing,
    width: "108px",
    show: (person) =>
      person.paired ? <Status tone="good">{texts.isPaired}</Status> : <span className="muted">{texts.notPaired}</span>,
  },
  { name: texts.since, width: "116px", show: (person) => <Time at={person.createdAt} /> },
];
/** The columns if a detail is shown beside the list. */
const FEWER: Column<Person>[] = [...FIRST, ROLE];

/** The people whose messages Arvis has accepted, and pairing requests. */
export default function PeoplePage() {
  const [platform, setPlatform] = useFilter("platform");
  const [role] = useFilter("role");
  const [paired, setPaired] = useFilter("paired");
  const [text] = useFilter("q");
  const { id, open, close } = useDetail("/settings/people");
  const pages = useList("GET /api/people", {
    platform,
    role: role as Role,
    paired: paired === "" ? undefined : paired === "true",
    q: text,
  });
  const platforms = PLATFORMS.includes(platform) || platform === "" ? PLATFORMS : [platform, ...PLATFORMS];
  const filtered = Boolean(platform || role || paired || text);
  return (
    <Page
      title={texts.title}
      about={texts.about}
      filters={
        <>
          <SearchField label={texts.search} />
          <Chips label={texts.role} name="role" options={ROLES} />
          <Choice
            aria-label={texts.platform}
            value={platform}
            options={[["", texts.everyPlatform], ...platforms.map((one) => [one, reveal(one)] as const)]}
            onChange={setPlatform}
          />
          <Choice
            aria-label={texts.pairing}
            value={paired}
            options={[
              ["", texts.everyPairing],
              ["true", texts.isPaired],
              ["false", texts.notPaired],
            ]}
            onChange={setPaired}
          />
        </>
      }
      sheet={id && <PersonSheet key={id} id={id} onClose={close} />}
    >
      <PairingRequests />
      <Table
        label={texts.title}
        columns={id === null ? COLUMNS : FEWER}
        pages={pages}
        idOf={(person) => person.id}
        onOpen={(person) => open(person.id)}
        openId={id}
        empty={
          filtered ? (
            <Empty title={texts.noMatch}>{texts.noMatchWhy}</Empty>
          ) : (
            <Empty title={texts.empty}>{texts.emptyWhy}</Empty>
          )
        }
      />
    </Page>
  );
}
