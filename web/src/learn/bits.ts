// Drawings of small arrays.

import { s } from "../dom";
import type { Touched } from "../records";

export interface Grid {
  columns: number;
  bits: Uint8Array;
  length: number;
  /** The key whose probes are drawn, and its positions. */
  touched?: Touched | null;
  /** The key is not inserted yet: its bits are shown as those it would set. */
  planned?: boolean;
  /** Positions to mark as just lost. */
  lost?: Set<number>;
  label: string;
}

const CELL = 20;

export function isSet(bits: Uint8Array, at: number): boolean {
  return ((bits[at >> 3] ?? 0) >> (at & 7) & 1) === 1;
}

/** The bits as squares, with rings around those that a key tests. */
export function grid(wish: Grid): SVGSVGElement {
  const rows = Math.ceil(wish.length / wish.columns);
  const [width, height] = [wish.columns * CELL, rows * CELL];
  const cells: SVGElement[] = [];
  for (let at = 0; at < wish.length; at++) {
    const [x, y] = [(at % wish.columns) * CELL, Math.floor(at / wish.columns) * CELL];
    const state = wish.lost?.has(at) ? "lost" : isSet(wish.bits, at) ? "on" : "off";
    cells.push(s("rect", { class: `bit ${state}`, x: x + 2, y: y + 2, width: CELL - 4, height: CELL - 4, rx: 3 }));
  }
  const rings = (wish.touched?.probes ?? []).map((at, i) =>
    s("rect", {
      class: wish.planned ? "ring will" : wish.touched?.set[i] ? "ring hit" : "ring miss",
      x: (at % wish.columns) * CELL + 0.5, y: Math.floor(at / wish.columns) * CELL + 0.5, width: CELL - 1, height: CELL - 1, rx: 5,
    }));
  return s("svg", { class: "grid-bits", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": wish.label }, ...cells, ...rings);
}

/** Cache lines as bars, one below the other, with the lines that a key touches filled. */
export function cacheLines(count: number, lineBits: number, touched: Touched, label: string): SVGSVGElement {
  const [width, row] = [250, 15];
  const reached = new Set(touched.probes.map((at) => Math.floor(at / lineBits)));
  const bars = Array.from({ length: count }, (_, line) =>
    s("rect", { class: reached.has(line) ? "cache-line read" : "cache-line", x: 0, y: line * row + 1, width, height: row - 3, rx: 2 }));
  const marks = touched.probes.map((at) =>
    s("circle", {
      class: "probe-dot", cx: ((at % lineBits) / lineBits) * width + 2, cy: Math.floor(at / lineBits) * row + row / 2 - 0.5, r: 3.6,
    }));
  return s("svg", { class: "cache-lines", viewBox: `0 0 ${width} ${count * row}`, role: "img", "aria-label": label }, ...bars, ...marks);
}
