import { CircleUser, CircleX, Command, Ellipsis, Moon, Pause, Play, Sun, SunMoon } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useId, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { useSend } from "../api/hooks";
import { useLive } from "../api/live";
import { useMay, useSession } from "../api/session";
import { clearOutboxes, unsentPlaces } from "../pages/chat/outbox";
import { Button, IconButton } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { isTyping } from "../parts/keys";
import { money, reveal } from "../words/format";
import { BellLink } from "./BellLink";
import styles from "./frame.module.css";
import { type PageEntry, usePages } from "./pages";
import { texts } from "./texts";
import { useTheme } from "./theme";
import { useUnreadCount } from "./title";

const Palette = lazy(() => import("./Palette"));
const SendUnsent = lazy(() => import("../pages/chat/SendUnsent"));

/** The frame around every page: navigation, search, live counters, and the user. */
export function Frame({ children }: { children: ReactNode }) {
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const [unsent, setUnsent] = useState(false);
  const { userId } = useSession().me;
  useEffect(() => {
    void unsentPlaces(userId).then((places) => setUnsent(places.length > 0));
  }, [userId]);
  return (
    <div className={styles.frame}>
      <a href="#main" className={styles.skip}>
        {texts.skip}
      </a>
      <SideBar />
      <div className={styles.column}>
        <TopBar onSearch={() => setPalette(true)} />
        <OfflineBanner />
        <main id="main" className={styles.main} tabIndex={-1}>
          {children}
        </main>
        <BottomBar />
      </div>
      <Keys onPalette={() => setPalette(true)} onHelp={() => setHelp(true)} />
      {palette && (
        <Suspense>
          <Palette onClose={() => setPalette(false)} onHelp={() => setHelp(true)} />
        </Suspense>
      )}
      {unsent && (
        <Suspense>
          <SendUnsent />
        </Suspense>
      )}
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}

function useIsHere(): (page: PageEntry) => boolean {
  const [location] = useLocation();
  return (page) => location === page.path || location.startsWith(`${page.path}/`);
}

function SideBar() {
  const pages = usePages();
  const groups = (["main", "agents", "more"] as const).map((place) => pages.filter((page) => page.place === place));
  return (
    <nav className={styles.side} aria-label={texts.navigation}>
      <Link href="/chat" className={styles.brand}>
        <img src="/icon.svg" alt="" width={24} height={24} />
        Arvis
      </Link>
      {groups.map((group) => (
        <ul key={group[0]?.place}>
          {group.map((page) => (
            <li key={page.path}>
              <PageLink page={page} />
            </li>
          ))}
        </ul>
      ))}
    </nav>
  );
}

function PageLink({ page }: { page: PageEntry }) {
  const here = useIsHere();
  const { counts } = useLive();
  const Icon = page.icon;
  const unread = useUnreadCount();
  const waiting = page.name === "questions" ? (counts?.waiting ?? 0) : page.name === "chat" ? unread : 0;
  return (
    <Link href={page.path} className={styles.link} aria-current={here(page) ? "page" : undefined}>
      {Icon && <Icon aria-hidden />}
      <span>{texts.pages[page.name]}</span>
      {waiting > 0 && <span className={styles.badge}>{waiting}</span>}
    </Link>
  );
}

function TopBar({ onSearch }: { onSearch: () => void }) {
  const { theme, next } = useTheme();
  const Sign = { auto: SunMoon, light: Sun, dark: Moon }[theme];
  return (
    <header className={styles.top}>
      <button type="button" className={styles.search} onClick={onSearch}>
        <Command aria-hidden />
        <span>{texts.search}</span>
        <kbd aria-hidden>⌘K</kbd>
      </button>
      <Counters />
      <BellLink />
      <IconButton icon={Sign} label={texts.theme[theme]} onClick={next} />
      <AccountMenu />
    </header>
  );
}

/** The live counters at the top of every page; each links to the items that it counts. */
function Counters() {
  const { counts } = useLive();
  const seesMoney = useMay("operator");
  if (counts === null) return <div className={styles.counters} />;
  const over = counts.budgetTodayUsd !== null && counts.costTodayUsd >= counts.budgetTodayUsd;
  return (
    <div className={styles.counters}>
      <Link href="/now" data-state={counts.running > 0 ? "running" : "none"}>
        <Play aria-hidden />
        {texts.running(counts.running)}
      </Link>
      <Link href="/questions" data-state={counts.waiting > 0 ? "waiting" : "none"}>
        <Pause aria-hidden />
        {texts.waiting(counts.waiting)}
      </Link>
      <Link href="/queue?status=failed" data-state={counts.failed > 0 ? "failed" : "none"}>
        <CircleX aria-hidden />
        {texts.failed(counts.failed)}
      </Link>
      {seesMoney && (
        <Link href="/usage" data-state={over ? "failed" : undefined} title={over ? texts.overBudget : undefined}>
          {texts.today(money(counts.costTodayUsd))}
        </Link>
      )}
    </div>
  );
}

/** On a phone: four entries below, all others under "More". */
function BottomBar() {
  const [more, setMore] = useState(false);
  const pages = usePages();
  const names = ["chat", "now", "questions"];
  const below = pages.filter((page) => names.includes(page.name));
  const others = pages.filter((page) => !names.includes(page.name) && page.place !== "hidden");
  return (
    <nav className={styles.bottom} aria-label={texts.navigation}>
      {below.map((page) => (
        <PageLink key={page.path} page={page} />
      ))}
      <button type="button" className={styles.link} onClick={() => setMore(true)}>
        <Ellipsis aria-hidden />
        <span>{texts.more}</span>
      </button>
      {more && (
        <Dialog title={texts.more} onClose={() => setMore(false)}>
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the links inside are what is pressed */}
          <ul className={styles.all} onClick={() => setMore(false)}>
            {others.map((page) => (
              <li key={page.path}>
                <PageLink page={page} />
              </li>
            ))}
          </ul>
        </Dialog>
      )}
    </nav>
  );
}

function Help({ onClose }: { onClose: () => void }) {
  const pages = usePages().filter((page) => page.key !== undefined);
  const rows: [string, string][] = [
    ["⌘K / Ctrl K", texts.helpRows.palette],
    ["j / k", texts.helpRows.rows],
    ["enter", texts.helpRows.open],
    ["esc", texts.helpRows.close],
    ["r", texts.helpRows.retry],
    ["a", texts.helpRows.approve],
    ["?", texts.helpRows.help],
  ];
  return (
    <Dialog title={texts.help} onClose={onClose}>
      <dl className={styles.help}>
        {[...rows, ...pages.map((page) => [`g ${page.key}`, texts.pages[page.name]] as [string, string])].map(
          ([keys, words]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{words}</dd>
            </div>
          ),
        )}
      </dl>
      <Button label={texts.close} onClick={onClose} />
    </Dialog>
  );
}

const PATIENCE_MS = 2_000;

/** A banner about a lost connection. It appears after some time, because a short loss needs no banner. */
function OfflineBanner() {
  const { link, retry } = useLive();
  const [lost, setLost] = useState(false);
  const ready = link.name === "ready";
  useEffect(() => {
    if (ready) {
      setLost(false);
      return;
    }
    const timer = window.setTimeout(() => setLost(true), PATIENCE_MS);
    return () => window.clearTimeout(timer);
  }, [ready]);
  return (
    <div role="status" className={lost ? styles.offline : "hidden"} data-link={link.name}>
      {lost && (
        <>
          <span>{texts.offline}</span>
          <Button label={texts.retryNow} kind="quiet" onClick={retry} />
        </>
      )}
    </div>
  );
}

/** The name of the user, a link to their password and logins, and the logout button. */
function AccountMenu() {
  const { me, refresh } = useSession();
  const logOut = useSend("POST /api/auth/logout");
  const id = useId();
  return (
    <>
      <button type="button" className={styles.me} popoverTarget={id} title={texts.account}>
        <CircleUser aria-hidden />
        <bdi>{reveal(me.name)}</bdi>
      </button>
      <div id={id} popover="auto" className={styles.menu}>
        <p>
          <bdi>{reveal(me.name)}</bdi> <span className="muted">{me.role}</span>
        </p>
        <Link href="/settings/users">{texts.pages.users}</Link>
        <button type="button" onClick={() => logOut.mutate({}, { onSuccess: clearOutboxes, onSettled: refresh })}>
          {texts.logOut}
        </button>
      </div>
    </>
  );
}

const SECOND_KEY_MS = 1_200;

/** Keyboard shortcuts that work everywhere: ⌘K, `g` and a letter, `?`. They are ignored while the user types. */
function Keys({ onPalette, onHelp }: { onPalette: () => void; onHelp: () => void }) {
  const [, navigate] = useLocation();
  const pages = usePages();
  const waiting = useRef(-Infinity);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        onPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const second = performance.now() - waiting.current < SECOND_KEY_MS;
      waiting.current = event.key === "g" && !second ? performance.now() : -Infinity;
      const page = second ? pages.find((one) => one.key === event.key) : undefined;
      if (page !== undefined) navigate(page.path);
      else if (event.key === "?") onHelp();
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [onPalette, onHelp, navigate, pages]);
  return null;
}
