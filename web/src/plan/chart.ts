// The rate over bits per key, on a logarithmic scale: real curves, the textbook's, and the chosen point.

import { s } from "../dom";
import { digits, rate } from "../format";
import type { Point } from "../records";

export interface Curve {
  name: string;
  points: Point[];
}

export interface ChartData {
  curves: Curve[];
  textbook: Point[];
  focus: string;
  chosen: { bits: number; fpr: number } | null;
}

const MARGIN = { top: 16, right: 108, bottom: 44, left: 74 };

/** Rates below this are not drawn. */
const LEAST = 1e-8;

/** Draws into the SVG element. `width` and `height` are those of its box. */
export function draw(svg: SVGSVGElement, data: ChartData, most: number, width: number, height: number): void {
  const narrow = width < 520;
  const margin = narrow ? { ...MARGIN, right: 14, left: 62 } : MARGIN;
  const x = (bits: number) => margin.left + ((width - margin.left - margin.right) * bits) / most;
  const decades = -Math.log10(LEAST);
  const y = (fpr: number) => {
    const share = -Math.log10(Math.max(LEAST, Math.min(1, fpr))) / decades;
    return margin.top + (height - margin.top - margin.bottom) * share;
  };
  const path = (points: Point[]) => {
    const inside = points.filter((point) => point.fpr >= LEAST && point.bits_per_key <= most * 1.001);
    return inside.map((p, i) => `${i ? "L" : "M"}${x(p.bits_per_key).toFixed(1)} ${y(p.fpr).toFixed(1)}`).join("");
  };
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const marks: SVGElement[] = [];
  for (let decade = 0; decade <= decades; decade += narrow ? 2 : 1) {
    const at = y(10 ** -decade);
    marks.push(s("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: at, y2: at }));
    marks.push(s("text", { class: "tick", x: margin.left - 10, y: at + 4, "text-anchor": "end" }, tick(decade)));
  }
  for (let bits = 0; bits <= most; bits += narrow ? 8 : 4) {
    marks.push(s("line", { class: "grid", x1: x(bits), x2: x(bits), y1: margin.top, y2: height - margin.bottom }));
    marks.push(s("text", { class: "tick", x: x(bits), y: height - margin.bottom + 18, "text-anchor": "middle" }, String(bits)));
  }
  marks.push(
    s("text", { class: "axis", x: (margin.left + width - margin.right) / 2, y: height - 6, "text-anchor": "middle" }, "bits per key"),
  );
  const lines = [s("path", { class: "curve textbook", d: path(data.textbook) })];
  const ordered = [...data.curves].sort((a, b) => Number(a.name === data.focus) - Number(b.name === data.focus));
  ordered.forEach((curve, i) => {
    const kind = curve.name === data.focus ? "focus" : `other dash-${i % 4}`;
    lines.push(s("path", { class: `curve ${kind}`, d: path(curve.points) }));
  });
  const labels = narrow ? [] : ends(data, most, y, height - margin.bottom).map(({ name, at, end }) =>
    s("text", { class: `end ${name === data.focus ? "focus" : name === "textbook" ? "textbook" : ""}`, x: x(end) + 8, y: at + 4 }, name),
  );
  const chosen: SVGElement[] = [];
  if (data.chosen && data.chosen.bits <= most) {
    const [cx, cy] = [x(data.chosen.bits), y(data.chosen.fpr)];
    chosen.push(
      s("line", { class: "lead", x1: cx, x2: cx, y1: cy, y2: height - margin.bottom }),
      s("line", { class: "lead", x1: margin.left, x2: cx, y1: cy, y2: cy }),
      s("circle", { class: "halo", cx, cy, r: 9 }),
      s("circle", { class: "point", cx, cy, r: 5 }),
    );
  }
  const title = s("title", { id: "chart-title" }, "False-positive rate over bits per key");
  svg.replaceChildren(title, s("desc", { id: "chart-desc" }, describe(data)), ...marks, ...lines, ...labels, ...chosen);
}

function tick(decade: number): string {
  if (decade === 0) return "100 %";
  return decade <= 4 ? `${digits(100 / 10 ** decade, 3)} %` : `1 in 10${superscript(decade)}`;
}

function superscript(value: number): string {
  return [...String(value)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");
}

/** The names at the ends of the curves, moved apart. */
function ends(data: ChartData, most: number, y: (fpr: number) => number, bottom: number) {
  const all = [...data.curves, { name: "textbook", points: data.textbook }];
  const found = all.flatMap(({ name, points }) => {
    const inside = points.filter((point) => point.fpr >= LEAST && point.bits_per_key <= most * 1.001);
    const last = inside[inside.length - 1];
    return last ? [{ name, at: y(last.fpr), end: last.bits_per_key }] : [];
  });
  found.sort((a, b) => a.at - b.at);
  for (let i = found.length - 1, limit = bottom; i >= 0; i--) {
    const label = found[i]!;
    label.at = Math.min(label.at, limit);
    limit = label.at - 15;
  }
  return found;
}

/** The chart in words. */
function describe(data: ChartData): string {
  const at = data.chosen ? `The chosen point: ${digits(data.chosen.bits, 3)} bits per key give ${rate(data.chosen.fpr)}. ` : "";
  const ten = data.curves.flatMap(({ name, points }) => {
    const near = points.find((point) => point.bits_per_key >= 9.99);
    return near ? [`${name} ${rate(near.fpr)}`] : [];
  });
  return `${at}With 10 bits per key: ${ten.join(", ")}.`;
}
