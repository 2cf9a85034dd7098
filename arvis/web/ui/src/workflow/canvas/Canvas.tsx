import "@xyflow/react/dist/base.css";
import {
  Background,
  BackgroundVariant,
  type Connection,
  type EdgeChange,
  type NodeChange,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStoreApi,
} from "@xyflow/react";
import { type DragEvent, type KeyboardEvent, type Ref, useImperativeHandle, useMemo, useRef } from "react";
import { SUBAGENT } from "../kinds";
import type { WorkflowConnection, WorkflowDocument } from "../types";
import styles from "./canvas.module.css";
import { GRID } from "./geometry";
import { LineEdge } from "./LineEdge";
import { FoldContext, StepNode } from "./StepNode";
import { settled } from "./same";
import { handleName, type Line, linesOf, type NodeStatus, type Step, stepsOf, type Trouble } from "./shapes";
import { texts } from "./texts";
import { useSteps } from "./useSteps";
import { useViewport } from "./useViewport";
import { LEAST_ZOOM, MOST_ZOOM, Zoom } from "./Zoom";

export type { NodeState, NodeStatus, Trouble } from "./shapes";

/** The ids of the selected nodes and connections. */
export type Selection = { nodes: ReadonlySet<string>; lines: ReadonlySet<string> };
export type Point = { x: number; y: number };

/** Edits of a document by hand; without it the canvas is read-only. */
export type Editing = {
  move: (positions: Record<string, Point>) => void;
  connect: (connection: Omit<WorkflowConnection, "id">) => void;
  mayConnect: (connection: Omit<WorkflowConnection, "id">) => boolean;
  /** A kind of nodes was dropped here. */
  drop: (kind: string, at: Point) => void;
};

/** Methods of the canvas for its parents. */
export type CanvasHandle = {
  /** Bring a node into view, and optionally focus it. */
  show: (id: string, focus?: boolean) => void;
  fit: () => void;
  /** The middle of the view, in document coordinates. */
  middle: () => Point;
};

/** The data type under which the palette passes the dragged kind. */
export const DRAGGED = "application/x-arvis-node";

const NODE_TYPES = { step: StepNode };
const EDGE_TYPES = { line: LineEdge };
const NOTHING: Selection = { nodes: new Set(), lines: new Set() };

type Props = {
  document: WorkflowDocument;
  /** The accessible name. */
  label: string;
  /** The states of nodes in a run, by id. */
  states?: Readonly<Record<string, NodeStatus>>;
  /** Connections that a run has taken. */
  taken?: ReadonlySet<string>;
  troubles?: ReadonlyMap<string, Trouble>;
  selection?: Selection;
  onSelect?: (selection: Selection) => void;
  /** Enter was pressed on a node, or it was double-clicked. */
  onOpen?: (id: string) => void;
  /** Show or hide the subagents of an agent. */
  onFold?: (id: string) => void;
  /** The node to keep in view, such as the running one: the view follows it until the user moves the view. */
  follow?: string;
  /** A key on the canvas, with the focused node or connection; returns true if it was handled. */
  onKey?: (event: KeyboardEvent, node: string | null, line: string | null) => boolean;
  edit?: Editing;
  ref?: Ref<CanvasHandle>;
};

/** A workflow as a diagram. It has no state of the document: it reports the user's actions and shows its props. */
export function Canvas(props: Props) {
  return (
    <ReactFlowProvider>
      <FoldContext value={props.onFold ?? null}>
        <Drawing {...props} />
      </FoldContext>
    </ReactFlowProvider>
  );
}

function Drawing({ document, label, states, taken, troubles, selection = NOTHING, onSelect, ...rest }: Props) {
  const { onOpen, onKey, edit, ref, follow } = rest;
  const frame = useRef<HTMLElement>(null);
  const editable = edit !== undefined;
  const wanted = useMemo(
    () => stepsOf({ document, states, troubles, selected: selection.nodes, editable }),
    [document, states, troubles, selection.nodes, editable],
  );
  const [steps, changeSteps] = useSteps(wanted);
  const drawn = useRef<Line[]>([]);
  const lines = useMemo(() => {
    drawn.current = settled(drawn.current, linesOf(document, selection.lines, taken));
    return drawn.current;
  }, [document, selection.lines, taken]);
  const { change, screenToFlow } = useChoosing(selection, onSelect);
  const { opened, moved, look } = useViewport(document, follow);
  useCanvasHandle(ref, frame, look);
  const drop = (event: DragEvent) => {
    const kind = event.dataTransfer.getData(DRAGGED);
    if (kind === "" || !edit) return;
    event.preventDefault();
    edit.drop(kind, screenToFlow({ x: event.clientX, y: event.clientY }));
  };
  const pressed = (event: KeyboardEvent) => {
    const id = focused(event.target, "react-flow__node");
    if (id !== null && event.key === "Enter" && onOpen) onOpen(id);
    else if (!onKey?.(event, id, focused(event.target, "react-flow__edge"))) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section ref={frame} className={styles.canvas} aria-label={label} onKeyDownCapture={pressed}>
      <ReactFlow<Step, Line>
        nodes={steps}
        edges={lines}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodesChange={(changes) => {
          changeSteps(changes);
          change(changes, "nodes");
        }}
        onEdgesChange={(changes) => change(changes, "lines")}
        onNodeDoubleClick={(_, node) => onOpen?.(node.id)}
        onNodeDragStop={(_, __, moved) => edit?.move(positionsOf(moved))}
        onSelectionDragStop={(_, moved) => edit?.move(positionsOf(moved))}
        onConnect={(connection) => edit?.connect(connectionOf(connection))}
        isValidConnection={(connection) => edit?.mayConnect(connectionOf(connection as Connection)) ?? false}
        onDragOver={(event) => editable && event.preventDefault()}
        onDrop={drop}
        nodesDraggable={editable}
        nodesConnectable={editable}
        edgesFocusable={editable}
        edgesReconnectable={false}
        elementsSelectable
        elevateNodesOnSelect={false}
        deleteKeyCode={null}
        zoomOnDoubleClick={false}
        connectionRadius={32}
        snapToGrid
        snapGrid={[GRID, GRID]}
        minZoom={LEAST_ZOOM}
        maxZoom={MOST_ZOOM}
        onInit={opened}
        onMoveStart={moved}
        proOptions={{ hideAttribution: true }}
        ariaLabelConfig={{
          "node.a11yDescription.default": editable ? texts.describe.node : texts.describe.readOnly,
          "edge.a11yDescription.default": texts.describe.line,
        }}
      >
        <Background variant={BackgroundVariant.Dots} gap={GRID} size={1.5} />
        <Zoom />
      </ReactFlow>
    </section>
  );
}

/** The library reports selection changes one by one; the parents need the whole selection. */
function useChoosing(selection: Selection, onSelect: Props["onSelect"]) {
  const { screenToFlowPosition } = useReactFlow();
  const latest = useRef(selection);
  latest.current = selection;
  const change = (changes: (NodeChange<Step> | EdgeChange<Line>)[], what: keyof Selection) => {
    const chosen = new Set(latest.current[what]);
    let differs = false;
    for (const one of changes) {
      if (one.type !== "select" || chosen.has(one.id) === one.selected) continue;
      differs = true;
      if (one.selected) chosen.add(one.id);
      else chosen.delete(one.id);
    }
    if (!differs) return;
    latest.current = { ...latest.current, [what]: chosen };
    onSelect?.(latest.current);
  };
  return { change, screenToFlow: screenToFlowPosition };
}

function useCanvasHandle(ref: Props["ref"], frame: { current: HTMLElement | null }, look: () => void) {
  const { fitView, getZoom, screenToFlowPosition } = useReactFlow();
  const store = useStoreApi();
  useImperativeHandle(ref, () => ({
    show: (id, focus = false) => {
      // A new node is rendered in the next frame.
      requestAnimationFrame(() => {
        void fitView({ nodes: [{ id }], maxZoom: Math.max(getZoom(), 0.6), minZoom: Math.min(getZoom(), 1) });
        if (focus) frame.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`)?.focus();
      });
    },
    fit: () => requestAnimationFrame(look),
    middle: () => {
      const box = store.getState().domNode?.getBoundingClientRect();
      if (!box) return { x: 0, y: 0 };
      return screenToFlowPosition({ x: box.x + box.width / 2, y: box.y + box.height / 2 });
    },
  }));
}

const positionsOf = (moved: readonly Step[]) => Object.fromEntries(moved.map(({ id, position }) => [id, position]));

function connectionOf({ source, target, sourceHandle, targetHandle }: Connection): Omit<WorkflowConnection, "id"> {
  const from = handleName(sourceHandle);
  return { source, target, sourceHandle: from, targetHandle: from === SUBAGENT ? "" : handleName(targetHandle) };
}

/** The focused node or connection; null if the focus is on an element inside a node, or outside the canvas. */
function focused(target: EventTarget, what: string): string | null {
  const element = target instanceof HTMLElement || target instanceof SVGElement ? target : null;
  if (!element?.classList.contains(what)) return null;
  return element.dataset.id ?? null;
}
