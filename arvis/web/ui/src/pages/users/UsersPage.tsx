import { KeyRound, UserPlus } from "lucide-react";
import { useLocation } from "wouter";
import { useList } from "../../api/hooks";
import { useMay } from "../../api/session";
import { ButtonLink } from "../../parts/button";
import { Page } from "../../parts/page";
import { useDetail } from "../../parts/resource";
import { Tabs } from "../../parts/tabs";
import { AddKey, KeySheet, Keys } from "./Keys";
import { texts } from "./texts";
import { AddUser, UserSheet, Users } from "./Users";
import { You } from "./You";

const HOME = "/settings/users";
const ALL = `${HOME}/all`;
const KEYS = `${HOME}/keys`;
/** The addresses of the forms. They are not below `ALL` or `KEYS`, because a user may have any name. */
const ADD_USER = `${HOME}/add-user`;
const ADD_KEY = `${HOME}/add-key`;

const TABS = [
  [HOME, texts.tabs.you],
  [ALL, texts.tabs.users],
  [KEYS, texts.tabs.keys],
] as const;

/** Users find their password and logins here; owners also manage all users and keys. */
export default function UsersPage() {
  const [location] = useLocation();
  if (!useMay("owner")) {
    return (
      <Page title={texts.title} about={texts.aboutYou}>
        <You />
      </Page>
    );
  }
  if (location.startsWith(ALL) || location === ADD_USER) return <UsersTab adding={location === ADD_USER} />;
  if (location.startsWith(KEYS) || location === ADD_KEY) return <KeysTab adding={location === ADD_KEY} />;
  return (
    <Page title={texts.title} about={texts.about}>
      <Tabs label={texts.parts} tabs={TABS} current={HOME} />
      <You />
    </Page>
  );
}

function UsersTab({ adding }: { adding: boolean }) {
  const pages = useList("GET /api/users", {});
  const { id, open, close } = useDetail(ALL);
  const [, navigate] = useLocation();
  const sheet = adding ? (
    <AddUser onClose={() => navigate(ALL)} />
  ) : (
    id && <UserSheet key={id} id={id} onClose={close} />
  );
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={<ButtonLink label={texts.addUser} href={ADD_USER} kind="primary" icon={UserPlus} />}
      sheet={sheet}
    >
      <Tabs label={texts.parts} tabs={TABS} current={ALL} />
      <Users pages={pages} openId={id} onOpen={open} />
    </Page>
  );
}

function KeysTab({ adding }: { adding: boolean }) {
  const pages = useList("GET /api/keys", {});
  const { id, open, close } = useDetail(KEYS);
  const [, navigate] = useLocation();
  const add = <ButtonLink label={texts.addKey} href={ADD_KEY} kind="primary" icon={KeyRound} />;
  const sheet = adding ? (
    <AddKey onClose={() => navigate(KEYS)} />
  ) : (
    id && <KeySheet key={id} id={id} pages={pages} onClose={close} />
  );
  return (
    <Page title={texts.title} about={texts.about} actions={add} sheet={sheet}>
      <Tabs label={texts.parts} tabs={TABS} current={KEYS} />
      <Keys pages={pages} openId={id} onOpen={open} action={add} />
    </Page>
  );
}
