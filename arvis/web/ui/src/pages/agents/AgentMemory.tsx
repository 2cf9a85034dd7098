import { useLocation } from "wouter";
import { ButtonLink } from "../../parts/button";
import { FactTable } from "../memory/FactTable";
import styles from "./agents.module.css";
import type { Agent } from "./draft";
import { texts } from "./texts";

/** The facts of one agent; each opens on the Memory page. */
export function AgentMemory({ agent }: { agent: Agent }) {
  const [, navigate] = useLocation();
  const search = `?agent=${encodeURIComponent(agent.slug)}`;
  return (
    <>
      <div className={styles.aside}>
        <p className="muted">{texts.memoryAbout}</p>
        <ButtonLink label={texts.openMemory} href={`/memory${search}`} />
      </div>
      <FactTable filter={{ agent: agent.slug }} onOpen={(fact) => navigate(`/memory/${fact.id}${search}`)} />
    </>
  );
}
