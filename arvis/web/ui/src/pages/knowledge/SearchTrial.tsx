import { useState } from "react";
import { useApi } from "../../api/hooks";
import { Button } from "../../parts/button";
import { TextField } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { Section } from "../../parts/page";
import { UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { reveal } from "../../words/format";
import styles from "./knowledge.module.css";
import { texts } from "./texts";

const RESULTS = 5;

/** A search as agents make it, with the scores. */
export function SearchTrial({ slug }: { slug: string }) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  return (
    <Section title={texts.tryIt}>
      <Form label={texts.tryIt} dirty={false} onSend={() => setAsked(text.trim())}>
        <TextField label={texts.question} maxLength={200} required value={text} onChange={setText} />
        <FormButtons>
          <Button label={texts.find} type="submit" />
        </FormButtons>
      </Form>
      {asked !== "" && <Results slug={slug} text={asked} />}
    </Section>
  );
}

function Results({ slug, text }: { slug: string; text: string }) {
  const found = useApi("GET /api/knowledge/{slug}/search", { path: { slug }, query: { text, limit: RESULTS } });
  return (
    <Loaded of={found}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title={texts.nothing} why={texts.nothingWhy} />
        ) : (
          <ol className={styles.results} aria-label={texts.tryIt}>
            {items.map((part) => (
              <li key={part.mark}>
                <p>
                  <UntrustedText text={`[${part.mark}] ${part.source}`} />{" "}
                  <span className="muted">{texts.score(part.score.toFixed(4))}</span>
                </p>
                <blockquote>{reveal(part.text)}</blockquote>
              </li>
            ))}
          </ol>
        )
      }
    </Loaded>
  );
}
