import { Panel, useReactFlow, useStore } from "@xyflow/react";
import { Maximize, Minus, Plus } from "lucide-react";
import { IconButton } from "../../parts/button";
import styles from "./canvas.module.css";
import { texts } from "./texts";

export const LEAST_ZOOM = 0.1;
export const MOST_ZOOM = 2;

/** Zoom in and out in steps of 10 %, and fit the whole diagram. */
export function Zoom() {
  const { zoomTo, fitView } = useReactFlow();
  const zoom = useStore((state) => Math.round(state.transform[2] * 100));
  const step = (by: number) => {
    const next = (Math.round(zoom / 10) + by) / 10;
    void zoomTo(Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, next)));
  };
  return (
    <Panel position="bottom-left" className={styles.zoom}>
      <div role="group" aria-label={texts.view}>
        <IconButton icon={Minus} label={texts.zoomOut} disabled={zoom <= LEAST_ZOOM * 100} onClick={() => step(-1)} />
        <span>{texts.percent(zoom)}</span>
        <IconButton icon={Plus} label={texts.zoomIn} disabled={zoom >= MOST_ZOOM * 100} onClick={() => step(1)} />
        <IconButton icon={Maximize} label={texts.fit} onClick={() => void fitView({ maxZoom: 1, padding: 0.08 })} />
      </div>
    </Panel>
  );
}
