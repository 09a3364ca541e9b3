// The table of all systems. Its roles are written out, because on phones its rows are drawn as grids.

import { h } from "../dom";
import { bytes, digits, rate } from "../format";
import type { About, DialectPlan, PlanReport } from "../records";
import type { PlanState } from "./state";

/** The kind compact of the native dialect: a system of its own in the table and in the chart. */
export const COMPACT = "native-compact";
const ABOUT_COMPACT = "ours, the kind compact: for sets of keys that do not change";

/** The names of all systems, in the order of the table. */
export function systemNames(about: About): string[] {
  return about.dialects.flatMap(({ name }) => (name === "native" ? [name, COMPACT] : [name]));
}

/** A plan for each system. */
export function systemPlans(report: PlanReport): DialectPlan[] {
  return report.places.flatMap((plan) => (plan.dialect === "native" ? [plan, compactOf(plan)] : [plan]));
}

function compactOf({ compact }: DialectPlan): DialectPlan {
  const none = { bits: null, bytes: null, bits_per_key: null, expected_fpr: null };
  return { type: "dialect", dialect: COMPACT, probes: null, ...(compact ?? none) };
}

export interface SystemsEvents {
  focus(dialect: string): void;
  show(dialect: string, shown: boolean): void;
}

const COLUMNS: [string, string][] = [
  ["System", "system"],
  ["Size", "number size"],
  ["Bits per key", "number wide"],
  ["Probes", "number wide"],
  ["Expected rate", "number rate"],
];

/** The head of the table; rows are replaced by [`rows`]. */
export function head(): HTMLElement {
  const cells = COLUMNS.map(([title, kind]) => h("th", { scope: "col", role: "columnheader", class: kind }, title));
  return h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { scope: "col", role: "columnheader", class: "check" }, h("span", { class: "offscreen" }, "In the chart")), ...cells));
}

/** A row for each system: what it would take, and what to know about it. */
export function rows(report: PlanReport, about: About, state: PlanState, events: SystemsEvents): HTMLElement[] {
  return systemPlans(report).map((plan) => {
    const problems = report.problems.filter((problem) => problem.place === plan.dialect);
    const words = about.dialects.find((dialect) => dialect.name === plan.dialect)?.about ?? ABOUT_COMPACT;
    const box = h("input", {
      type: "checkbox", "aria-label": `Show ${plan.dialect} in the chart`,
      checked: state.shown.includes(plan.dialect),
      change: () => events.show(plan.dialect, box.checked),
    });
    const focused = plan.dialect === state.focus;
    const name = h("button", {
      type: "button", class: "link", "aria-pressed": String(focused), click: () => events.focus(plan.dialect),
    }, plan.dialect);
    const notes = problems.map((problem) => h("span", { class: `note ${problem.severity}` }, sentence(problem.message)));
    return h("tr", { role: "row", class: focused ? "focused" : null, "data-dialect": plan.dialect },
      h("td", { role: "cell", class: "check" }, box),
      h("th", { scope: "row", role: "rowheader", class: "system" }, name, h("span", { class: "about" }, words), ...notes),
      ...cells(plan),
    );
  });
}

function cells(plan: DialectPlan): HTMLElement[] {
  const cell = (value: number | null, format: (value: number) => string, kind: string) =>
    h("td", { role: "cell", class: kind, "data-value": value }, value === null ? "–" : format(value));
  return [
    cell(plan.bytes, bytes, "number size"),
    cell(plan.bits_per_key, (value) => digits(value, 4), "number wide"),
    cell(plan.probes, String, "number wide"),
    cell(plan.expected_fpr, rate, "number rate"),
  ];
}

export function sentence(text: string): string {
  // Names of commands are written as they are typed.
  const start = /^(fullbloom |\w+ --)/.test(text) ? text.charAt(0) : text.charAt(0).toUpperCase();
  return start + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}
