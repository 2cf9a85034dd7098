import { useList } from "../../api/hooks";
import { FilterChoice } from "../../parts/filters";
import { Chips, SearchField, useFilters } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { Status, Time, UntrustedText } from "../../parts/show";
import type { Column } from "../../parts/table";
import { PairingRequests } from "./PairingRequests";
import { PersonSheet } from "./PersonSheet";
import { nameOf, type Person, pairingOf, type Role, RoleState } from "./person";
import { texts } from "./texts";

const PLATFORMS = ["web", "discord", "telegram", "slack"].map((name) => [name, name] as const);
const ROLES = Object.entries(texts.roles) as [Role, string][];

const COLUMNS: Column<Person>[] = [
  { name: texts.name, width: "minmax(110px, 2fr)", show: (person) => <UntrustedText text={nameOf(person)} /> },
  { name: texts.platform, width: "90px", show: (person) => <UntrustedText text={person.platform} /> },
  {
    name: texts.user,
    width: "minmax(100px, 2fr)",
    wide: true,
    show: (person) => <UntrustedText text={person.userId} />,
  },
  { name: texts.role, width: "104px", show: (person) => <RoleState role={person.role} /> },
  {
    name: texts.pairing,
    width: "108px",
    wide: true,
    show: (person) =>
      person.paired ? (
        <Status tone="good">{pairingOf(person)}</Status>
      ) : (
        <span className="muted">{pairingOf(person)}</span>
      ),
  },
  { name: texts.since, width: "116px", wide: true, show: (person) => <Time at={person.createdAt} /> },
];

/** The people whose messages Arvis has accepted, and pairing requests. */
export default function PeoplePage() {
  const { platform, role, paired, q } = useFilters("platform", "role", "paired", "q");
  const pages = useList("GET /api/people", {
    ...{ platform, role: role as Role, q },
    paired: paired === "" ? undefined : paired === "true",
  });
  return (
    <ResourcePage
      home="/settings/people"
      texts={texts}
      pages={pages}
      columns={COLUMNS}
      idOf={(person) => person.id}
      filters={
        <>
          <SearchField label={texts.search} />
          <Chips label={texts.role} name="role" options={ROLES} />
          <FilterChoice label={texts.platform} name="platform" all={texts.everyPlatform} options={PLATFORMS} />
          <FilterChoice
            label={texts.pairing}
            name="paired"
            all={texts.everyPairing}
            options={[
              ["true", texts.isPaired],
              ["false", texts.notPaired],
            ]}
          />
        </>
      }
      filtered={Boolean(platform || role || paired || q)}
      sheet={(id, { onClose }) => <PersonSheet id={id} onClose={onClose} />}
    >
      <PairingRequests />
    </ResourcePage>
  );
}
