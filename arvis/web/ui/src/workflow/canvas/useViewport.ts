import { getViewportForBounds, type Rect, useReactFlow, useStoreApi, type Viewport } from "@xyflow/react";
import { useEffect, useRef } from "react";
import { kindOf } from "../node";
import type { WorkflowDocument } from "../types";
import { heightOf, WIDTH } from "./geometry";
import { LEAST_ZOOM } from "./Zoom";

/** The smallest zoom with readable text. A diagram that does not fit at this zoom is not shown completely at first. */
const READABLE = 0.6;
const MARGIN = 40;
const PADDING = 0.08;
const PAN_MS = 300;

/** The initial view: the whole diagram if it is readable, else its beginning or the followed step. */
export function useViewport(document: WorkflowDocument, follow: string | undefined) {
  const flow = useReactFlow();
  const store = useStoreApi();
  const byHand = useRef(false);
  const latest = useRef({ document, follow });
  latest.current = { document, follow };
  const room = () => {
    const box = store.getState().domNode?.getBoundingClientRect();
    return { width: box?.width ?? 0, height: box?.height ?? 0 };
  };
  const look = () => {
    const view = viewOf(latest.current.document, latest.current.follow, room());
    if (view !== null) void flow.setViewport(view);
  };
  useEffect(() => {
    const box = follow === undefined ? null : boxOf(latest.current.document, follow);
    const size = room();
    if (box === null || byHand.current || size.width === 0) return;
    const now = flow.getViewport();
    if (isSeen(box, now, size)) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    void flow.setViewport(around(box, boundsOf(latest.current.document), now.zoom, size), {
      duration: still ? 0 : PAN_MS,
    });
  });
  return {
    look,
    opened: look,
    /** Called for every move of the view. A move without an event was not made by the user. */
    moved: (event: unknown) => {
      if (event !== null) byHand.current = true;
    },
  };
}

type Size = { width: number; height: number };

function viewOf(document: WorkflowDocument, follow: string | undefined, room: Size): Viewport | null {
  if (document.nodes.length === 0 || room.width === 0 || room.height === 0) return null;
  const bounds = boundsOf(document);
  const whole = getViewportForBounds(bounds, room.width, room.height, LEAST_ZOOM, 1, PADDING);
  if (whole.zoom >= READABLE) return whole;
  const begins = document.nodes.find((node) => kindOf(node)?.begins) ?? document.nodes[0];
  const first = (follow && boxOf(document, follow)) || boxOf(document, begins?.id ?? "");
  return first === null ? whole : around(first, bounds, READABLE, room);
}

/** Centre the view on this step, but show no empty space beyond the edges of the diagram. */
function around(box: Rect, bounds: Rect, zoom: number, room: Size): Viewport {
  const along = (at: number, size: number, from: number, whole: number, space: number) => {
    if (whole * zoom + 2 * MARGIN <= space) return (space - whole * zoom) / 2 - from * zoom;
    const middle = space / 2 - (at + size / 2) * zoom;
    return Math.min(MARGIN - from * zoom, Math.max(space - MARGIN - (from + whole) * zoom, middle));
  };
  return {
    x: along(box.x, box.width, bounds.x, bounds.width, room.width),
    y: along(box.y, box.height, bounds.y, bounds.height, room.height),
    zoom,
  };
}

function isSeen(box: Rect, { x, y, zoom }: Viewport, room: Size): boolean {
  const [left, top] = [box.x * zoom + x, box.y * zoom + y];
  return left >= 0 && top >= 0 && left + box.width * zoom <= room.width && top + box.height * zoom <= room.height;
}

function boxOf(document: WorkflowDocument, id: string): Rect | null {
  const node = document.nodes.find((one) => one.id === id);
  return node === undefined ? null : { x: node.x, y: node.y, width: WIDTH, height: heightOf(node) };
}

function boundsOf({ nodes }: WorkflowDocument): Rect {
  const [x, y] = [Math.min(...nodes.map((node) => node.x)), Math.min(...nodes.map((node) => node.y))];
  const right = Math.max(...nodes.map((node) => node.x)) + WIDTH;
  const bottom = Math.max(...nodes.map((node) => node.y + heightOf(node)));
  return { x, y, width: right - x, height: bottom - y };
}
