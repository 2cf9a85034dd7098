import { type KeyboardEvent, useRef, useState } from "react";
import { useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item } from "../../api/types";
import { sends } from "../../parts/actions";
import { Button, ButtonLink } from "../../parts/button";
import { useListKeys } from "../../parts/keys";
import { Chips, Page, useFilter } from "../../parts/page";
import { Status, Time, type Tone, UntrustedText } from "../../parts/show";
import { Empty, Failure, Skeleton } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import styles from "./notifications.module.css";
import { texts } from "./texts";

type Notification = Item<"GET /api/notifications">;

const TONES: Record<Notification["severity"], Tone> = { error: "trouble", warning: "warn", info: "plain" };

/** The problems and results that owners should know, newest first. */
export default function NotificationsPage() {
  const [filter] = useFilter("state");
  const state = filter === "resolved" || filter === "dismissed" ? filter : "open";
  return (
    <Page
      title={texts.title}
      about={texts.about}
      filters={
        <Chips
          label={texts.state}
          name="state"
          all={texts.open}
          options={[
            ["resolved", texts.ended.resolved],
            ["dismissed", texts.ended.dismissed],
          ]}
        />
      }
    >
      <List key={state} state={state} />
    </Page>
  );
}

/** The notifications of one state; `j` and `k` move between them. */
function List({ state }: { state: Notification["state"] }) {
  const found = useList("GET /api/notifications", { state });
  const list = useRef<HTMLUListElement>(null);
  const [active, setActive] = useState(0);
  if (found.rows.length === 0) {
    if (found.error !== null) return <Failure error={found.error} retry={found.retry} />;
    if (found.loading) return <Skeleton />;
    const open = state === "open";
    return <Empty title={open ? texts.empty : texts.emptyEnded} why={open ? texts.emptyWhy : texts.emptyEndedWhy} />;
  }
  const moved = (event: KeyboardEvent, index: number) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    list.current?.querySelector<HTMLElement>(`[data-index="${index + step}"]`)?.focus();
    event.preventDefault();
  };
  return (
    <>
      <ListKeys list={list} active={active} />
      <ul ref={list} className={styles.list} aria-label={texts.list} tabIndex={-1}>
        {found.rows.map((one, index) => (
          <li
            key={one.id}
            className={styles.item}
            data-index={index}
            tabIndex={index === active ? 0 : -1}
            onFocus={() => setActive(index)}
            onKeyDown={(event) => moved(event, index)}
          >
            <What one={one} />
            <Actions one={one} onDismissed={() => list.current?.focus()} />
          </li>
        ))}
      </ul>
      {found.more !== null && <Button label={common.more} onClick={found.more} />}
    </>
  );
}

type KeysProps = { list: React.RefObject<HTMLElement | null>; active: number };

/** The keys of the list. They are set after the list exists. */
function ListKeys({ list, active }: KeysProps) {
  useListKeys(list, active);
  return null;
}

function What({ one }: { one: Notification }) {
  return (
    <>
      <p className={styles.head}>
        <Status tone={TONES[one.severity]}>{texts.severities[one.severity]}</Status>
        <span className="muted">
          {texts.first} <Time at={one.firstAt} /> · {texts.times(one.count)} {one.count > 1 && <Time at={one.lastAt} />}
        </span>
        {one.endedAt !== null && (
          <span className="muted">
            {texts.endedAt} <Time at={one.endedAt} />
            {one.endedBy !== null && (
              <>
                , <UntrustedText text={texts.endedBy(one.endedBy)} />
              </>
            )}
          </span>
        )}
      </p>
      <p className={styles.text}>
        <UntrustedText text={one.text} />
      </p>
    </>
  );
}

function Actions({ one, onDismissed }: { one: Notification; onDismissed: () => void }) {
  const operates = useMay("operator");
  const dismiss = useSend("POST /api/notifications/{notification}/dismiss", { done: texts.dismissed });
  const request = { path: { notification: one.id } };
  return (
    <div className={styles.actions}>
      {one.link !== null && <ButtonLink label={texts.show} href={one.link} />}
      {one.state === "open" && operates && (
        <>
          <RemedyButton one={one} />
          <Button
            label={texts.dismiss}
            kind="quiet"
            busy={dismiss.isPending}
            onClick={() => dismiss.mutate(request, { onSuccess: onDismissed })}
          />
        </>
      )}
    </div>
  );
}

/** The action against the cause. */
function RemedyButton({ one }: { one: Notification }) {
  const owns = useMay("owner");
  const retry = useSend("POST /api/jobs/{job}/retry", { done: texts.done.retry_job });
  const restart = useSend("POST /api/bots/{platform}/{name}/restart", { done: texts.done.restart_bot });
  const backUp = useSend("POST /api/backups", { done: texts.done.make_backup });
  const subject = one.subject ?? "";
  switch (one.remedy) {
    case "retry_job":
      return <Button label={texts.remedies.retry_job} {...sends(retry, { path: { job: subject }, body: {} })} />;
    case "restart_bot": {
      const [platform = "", name = ""] = subject.split("/");
      if (!owns) return null;
      return <Button label={texts.remedies.restart_bot} {...sends(restart, { path: { platform, name } })} />;
    }
    case "make_backup":
      return owns ? <Button label={texts.remedies.make_backup} {...sends(backUp, {})} /> : null;
    default:
      return null;
  }
}
