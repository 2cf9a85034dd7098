import { ArrowLeft, Plus } from "lucide-react";
import { useLocation } from "wouter";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item } from "../../api/types";
import { Button, ButtonLink } from "../../parts/button";
import { Page } from "../../parts/page";
import { UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { reveal } from "../../words/format";
import { Preview } from "./Preview";
import { texts } from "./texts";
import { addressOf, documentOf, HOME } from "./workflow";
import styles from "./workflows.module.css";

type Example = Item<"GET /api/workflows/examples">;

/** Example workflows, each with its picture. */
export function Gallery() {
  const examples = useApi("GET /api/workflows/examples", {});
  const says = texts.gallery;
  return (
    <Page title={says.title} about={says.about} actions={<Back />}>
      <Loaded of={examples}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={says.none} action={<Blank />} />
          ) : (
            <ul className={styles.cards}>
              <li className={styles.card}>
                <h2>{says.blank}</h2>
                <p className="muted">{says.blankWhy}</p>
                <Blank />
              </li>
              {items.map((one) => (
                <Card key={one.slug} of={one} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Page>
  );
}

export function Back() {
  return <ButtonLink label={texts.all} kind="quiet" href={HOME} icon={ArrowLeft} />;
}

function Blank() {
  const operates = useMay("operator");
  if (!operates) return null;
  return (
    <div>
      <ButtonLink label={texts.add} kind="primary" href={`${HOME}/new`} icon={Plus} />
    </div>
  );
}

function Card({ of: one }: { of: Example }) {
  const [, navigate] = useLocation();
  const operates = useMay("operator");
  const make = useSend("POST /api/workflows", { done: texts.gallery.taken });
  const { name, description, document: drawn } = one;
  const take = () =>
    make.mutate(
      { body: { name, description, document: drawn, enabled: false } },
      { onSuccess: (made) => navigate(addressOf(made.id)) },
    );
  return (
    <li className={styles.card}>
      <div className={styles.picture}>
        <Preview document={documentOf(one)} label={texts.drawingOf(reveal(name))} />
      </div>
      <h2>
        <UntrustedText text={name} />
      </h2>
      <p className="muted">
        <UntrustedText text={description} />
      </p>
      <p className="muted">{texts.nodes(documentOf(one).nodes.length)}</p>
      {operates && (
        <div>
          <Button
            label={texts.gallery.take}
            busy={make.isPending}
            aria-label={texts.gallery.takeOf(reveal(name))}
            onClick={take}
          />
        </div>
      )}
    </li>
  );
}
