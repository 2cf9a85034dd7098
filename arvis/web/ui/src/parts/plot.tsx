/** Lines over time: the same axes everywhere, values on hover, and the figures as a table for screen readers. */

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { exactly } from "../words/format";
import { words } from "../words/words";
import { Button } from "./button";
import styles from "./plot.module.css";

const texts = words({ en: { csv: "CSV", time: "Time" } });

/** If a line has fewer values than this, each value is also drawn as a dot, because a line through one point is invisible. */
const FEW = 16;

/** `values[i]` belongs to `times[i]` (ms); `null`: no value. */
export type Series = { name: string; values: (number | null)[] };

type Props = {
  title: string;
  times: number[];
  series: Series[];
  /** A value as text, with its unit. */
  show: (value: number) => string;
  bars?: boolean;
  height?: number;
};

export default function Plot({ title, times, series, show, bars = false, height = 160 }: Props) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const plot = new uPlot(
      options(element, series, show, bars, height),
      [times.map((at) => at / 1000), ...series.map((one) => one.values)],
      element,
    );
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [times, series, show, bars, height]);
  return (
    <figure className={styles.plot}>
      <figcaption>
        <span>{title}</span>
        <Button label={texts.csv} kind="quiet" onClick={() => download(title, csvOf(times, series))} />
      </figcaption>
      <div ref={place} aria-hidden="true" />
      <div className="hidden">
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th>{texts.time}</th>
              {series.map((one) => (
                <th key={one.name}>{one.name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.slice(-12).map((at, index) => (
              <tr key={at}>
                <td>{exactly(at)}</td>
                {series.map((one) => {
                  const value = one.values[times.length - Math.min(12, times.length) + index];
                  return <td key={one.name}>{value === null || value === undefined ? "–" : show(value)}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

function options(
  element: HTMLElement,
  series: Series[],
  show: (value: number) => string,
  bars: boolean,
  height: number,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => resolved(style.getPropertyValue(name));
  const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
  return {
    width: element.clientWidth || 320,
    height,
    legend: { live: true },
    cursor: { drag: { x: false, y: false } },
    axes: [axis, { ...axis, size: 64, values: (_, ticks) => ticks.map(show) }],
    scales: { y: { range: (_, __, high) => [0, high > 0 ? high * 1.1 : 1] } },
    series: [
      { label: texts.time, value: (_, at) => (at === null ? "–" : exactly(at * 1000)) },
      ...series.map((one, index) => ({
        label: one.name,
        stroke: color(`--plot-${(index % 8) + 1}`),
        fill: bars ? color(`--plot-${(index % 8) + 1}`) : undefined,
        width: 1.5,
        dash: index >= 4 ? [6, 3] : undefined,
        paths: bars ? uPlot.paths.bars?.({ size: [0.7, 40] }) : undefined,
        points: { show: one.values.filter((value) => value !== null).length < FEW, size: 5 },
        value: (_: uPlot, value: number | null) => (value === null ? "–" : show(value)),
      })),
    ],
  };
}

/** The computed value of a colour, because a canvas does not support `light-dark()`. */
function resolved(color: string): string {
  const probe = document.createElement("span");
  probe.style.color = color;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** The figures as CSV. Text that a spreadsheet would read as a formula is escaped. */
export function csvOf(times: number[], series: Series[]): string {
  const cell = (text: string) => `"${(/^[=+\-@\t]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  const head = ["time", ...series.map((one) => one.name)].map(cell).join(",");
  const lines = times.map((at, index) =>
    [new Date(at).toISOString(), ...series.map((one) => one.values[index] ?? "")].join(","),
  );
  return [head, ...lines].join("\r\n");
}

function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = `${name}.csv`;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
