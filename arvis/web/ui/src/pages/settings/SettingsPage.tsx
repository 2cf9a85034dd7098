import { Link } from "wouter";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import { usePages } from "../../frame/pages";
import { texts as frame } from "../../frame/texts";
import { ButtonLink } from "../../parts/button";
import { Page } from "../../parts/page";
import styles from "./settings.module.css";
import { texts } from "./texts";

type Name = keyof typeof texts.abouts;

/** Links to the settings pages. */
export default function SettingsPage() {
  const pages = usePages().filter((page) => page.place === "settings");
  return (
    <Page title={texts.title} about={texts.about} actions={<FirstRun />}>
      <ul className={styles.list}>
        {pages.map((page) => (
          <li key={page.path}>
            <Link href={page.path}>
              <h2>{frame.pages[page.name]}</h2>
              <p className="muted">{texts.abouts[page.name as Name]}</p>
            </Link>
          </li>
        ))}
      </ul>
    </Page>
  );
}

/** A link to the welcome page while the setup is not finished. */
function FirstRun() {
  const owns = useMay("owner");
  const setup = useApi("GET /api/setup", owns ? {} : null);
  if (setup.data?.done !== false) return null;
  return <ButtonLink label={texts.finish} href="/welcome" />;
}
