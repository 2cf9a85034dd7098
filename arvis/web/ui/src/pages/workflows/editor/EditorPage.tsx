import { useState } from "react";
import { useLocation, useRoute } from "wouter";
import { useApi } from "../../../api/hooks";
import { useMay } from "../../../api/session";
import { Loaded } from "../../../parts/states";
import { useToast } from "../../../parts/toast";
import { emptyNode } from "../../../workflow/node";
import { addressOf, type WorkflowDetail } from "../workflow";
import { type Base, baseOf } from "./base";
import { Editor } from "./Editor";
import { texts } from "./texts";

const BLANK: Base = {
  id: null,
  slug: "",
  version: 0,
  document: {
    schema: 1,
    name: "",
    description: "",
    settings: {},
    nodes: [{ id: "start-1", x: 0, y: 0, ...emptyNode("start") }],
    connections: [],
  },
};

/** The editor at `/workflows/new` and `/workflows/:workflow/edit`. */
export default function EditorPage() {
  const [, params] = useRoute("/workflows/:workflow/edit");
  const id = params === null ? null : decodeURIComponent(params.workflow);
  // A new workflow gets its address when it is saved; the content on the screen is kept.
  const [made, setMade] = useState<string | null>(null);
  const fresh = id === null || id === made;
  const found = useApi("GET /api/workflows/{workflow}", fresh || id === null ? null : { path: { workflow: id } });
  if (fresh) return <Session key="new" begin={BLANK} onMade={setMade} />;
  return <Loaded of={found}>{(detail) => <Session key={detail.id} begin={baseOf(detail)} latest={detail} />}</Loaded>;
}

type Props = { begin: Base; latest?: WorkflowDetail; onMade?: (id: string) => void };

/** One editing session: it keeps its base version until it is saved, even if others save. */
function Session({ begin, latest, onMade }: Props) {
  const [, navigate] = useLocation();
  const { tell } = useToast();
  const editable = useMay("operator");
  const [base, setBase] = useState(begin);
  const [round, setRound] = useState(0);
  const saved = (next: Base, detail: WorkflowDetail) => {
    setBase(next);
    tell(detail.runnable === detail.version ? texts.saved : texts.savedDraft);
    if (base.id !== null || onMade === undefined) return;
    onMade(detail.id);
    navigate(addressOf(detail.id, "edit"), { replace: true });
  };
  const reload = (detail: WorkflowDetail) => {
    setBase(baseOf(detail));
    setRound(round + 1);
  };
  return (
    <Editor
      key={round}
      base={base}
      newer={latest && latest.version > base.version ? latest : null}
      editable={editable}
      onSaved={saved}
      onReload={reload}
    />
  );
}
