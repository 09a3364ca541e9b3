// An array drawn: its fill along its length, and the probes of one key on it.

import { s } from "../dom";
import { count, percent } from "../format";
import type { Answer, Drawn } from "../records";

const FILL = { top: 26, height: 64 };
const LINE = FILL.top + FILL.height + 26;

/** The strip of an array, as wide as its box. `mean` is the fill of the whole. */
export function strip(drawn: Drawn, mean: number, answer: Answer | null, width: number): SVGSVGElement {
  const parts = drawn.fill.length;
  const each = width / parts;
  const most = Math.max(0.6, ...drawn.fill);
  const y = (fill: number) => FILL.top + FILL.height * (1 - fill / most);
  const bars = drawn.fill.map((fill, i) => {
    // A part that lost its bits stands out against the others, at full height.
    const hole = fill < mean / 3 && mean > 0.05;
    const top = hole ? FILL.top : y(fill);
    return s("rect", {
      class: hole ? "bar hole" : "bar",
      x: (i * each + 0.5).toFixed(2), width: Math.max(0.5, each - 1).toFixed(2), y: top.toFixed(2),
      height: (FILL.top + FILL.height - top).toFixed(2),
    });
  });
  const probes = answer?.probes ?? [];
  const x = (position: number) => (width * (position + 0.5)) / Math.max(1, drawn.array_len);
  const marks = probes.flatMap((probe, i) => [
    s("line", { class: probe.set ? "probe set" : "probe clear", x1: x(probe.position), x2: x(probe.position), y1: FILL.top - 6, y2: LINE }),
    s("circle", { class: probe.set ? "probe set" : "probe clear", cx: x(probe.position), cy: LINE + 2 + (i % 2) * 12, r: 5 }),
  ]);
  const height = LINE + 26;
  return s("svg", { class: "strip", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words(drawn, mean, answer) },
    s("line", { class: "mean", x1: 0, x2: width, y1: y(mean), y2: y(mean) }),
    ...bars, ...marks,
  );
}

function words(drawn: Drawn, mean: number, answer: Answer | null): string {
  const [least, most] = [Math.min(...drawn.fill), Math.max(...drawn.fill)];
  const fill = `Fill along the array: ${percent(mean)} on average, from ${percent(least)} to ${percent(most)}.`;
  if (!answer || answer.probes.length === 0) return fill;
  const set = answer.probes.filter((probe) => probe.set).length;
  return `${fill} ${set} of ${answer.probes.length} probes of the key hit set bits.`;
}

/** The probes of a key as a list, for those who want the numbers. */
export function positions(answer: Answer): string {
  return answer.probes.map((probe) => `${count(probe.position)} ${probe.set ? "set" : "clear"}`).join(", ");
}
