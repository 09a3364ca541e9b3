// Plan: keys, rate, bits per key and memory, the chart, the table of all systems, and what to write into each.

import { announce, byId, h } from "../dom";
import { Refusal, Stopped, planner, tracer } from "../engine";
import { bytes, count, digits, parseBits, parseBytes, parseCount, parseRate, rate, spoken } from "../format";
import type { About, DialectPlan, PlanReport, Point } from "../records";
import { draw } from "./chart";
import { Dial } from "./dial";
import { snippets } from "./snippets";
import { DEFAULT, type PlanState, type Wish, read, write } from "./state";
import { head, rows, sentence, systemNames, systemPlans } from "./systems";

/** The chart ends here. */
const MOST_BITS = 32;

export class PlanView {
  private state: PlanState = { ...DEFAULT };
  private report: PlanReport | null = null;
  private readonly curves = new Map<string, Point[]>();
  private textbook: Point[] = [];
  private readonly dials: Record<"keys" | Wish, Dial>;
  private readonly body: HTMLElement;
  private busy = false;
  private stale = false;
  /** The number of keys whose curves are being computed. */
  private tracing: number | null = null;

  constructor(private readonly about: About, private readonly changed: (query: string) => void) {
    const dial = (wish: Wish) => (value: number) => this.change({ wish, value });
    this.dials = {
      keys: new Dial({
        id: "keys", label: "Keys", hint: "such as 1000000, 1e6 or 1M", least: 1e3, most: 1e10,
        parse: parseCount, format: count, changed: (keys) => this.change({ keys }),
      }),
      fpr: new Dial({
        id: "rate", label: "False-positive rate", hint: "such as 1 %, 0.01 or 1 in 100", least: 1e-8, most: 0.5,
        parse: parseRate, format: rate, changed: dial("fpr"),
      }),
      memory: new Dial({
        id: "memory", label: "Memory", hint: "such as 64 MiB or 500 MB", least: 1 << 10, most: 2 ** 36,
        parse: parseBytes, format: bytes, changed: dial("memory"),
      }),
      bits_per_key: new Dial({
        id: "bits", label: "Bits per key", hint: "such as 10", least: 1, most: 100,
        parse: parseBits, format: (value) => digits(value, 4), changed: dial("bits_per_key"),
      }),
    };
    byId("dials").replaceChildren(...(["keys", "fpr", "memory", "bits_per_key"] as const).map((name) => this.dials[name].element));
    this.body = h("tbody", { role: "rowgroup" });
    byId("systems").append(head(), this.body);
    const focus = byId<HTMLSelectElement>("focus");
    focus.append(...systemNames(about).map((name) => h("option", { value: name }, name)));
    focus.addEventListener("change", () => this.change({ focus: focus.value }));
    new ResizeObserver(() => this.drawChart()).observe(byId("chart-box"));
  }

  /** Takes the state from the address. */
  open(query: string): void {
    this.state = read(query, systemNames(this.about));
    void this.refresh();
  }

  private change(part: Partial<PlanState>): void {
    this.state = { ...this.state, ...part };
    this.changed(write(this.state));
    void this.refresh();
  }

  /** Plans again. While a plan is being made, further changes wait, and only the last of them is planned. */
  private async refresh(): Promise<void> {
    this.stale = true;
    if (this.busy) return;
    this.busy = true;
    while (this.stale) {
      this.stale = false;
      const { keys, wish, value } = this.state;
      try {
        this.report = await planner.call("plan", keys, wish, value);
        this.show();
      } catch (error) {
        if (!(error instanceof Stopped)) this.refuse(error instanceof Refusal ? error : new Refusal(String(error)));
      }
    }
    this.busy = false;
    this.drawChart();
    void this.loadCurves();
  }

  /** Computes the curves that are missing. A curve that is no longer wanted is given up. */
  private async loadCurves(): Promise<void> {
    const { keys } = this.state;
    if (this.tracing !== null) {
      if (this.tracing === keys) return;
      tracer.stop();
    }
    this.tracing = keys;
    try {
      if (this.textbook.length === 0) this.textbook = await planner.call("textbook", MOST_BITS);
      for (let next = this.missing(); next !== undefined; next = this.missing()) {
        // A system that refuses has no curve.
        const points = await tracer.call("curve", next, keys, MOST_BITS).catch((error: unknown) => {
          if (error instanceof Refusal) return [];
          throw error;
        });
        if (this.tracing !== keys) return;
        if (this.curves.size > 300) this.curves.clear();
        this.curves.set(this.curveName(next), points);
        this.drawChart();
      }
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      return;
    }
    this.tracing = null;
    this.drawChart();
  }

  /** A system of the chart whose curve is not there yet. */
  private missing(): string | undefined {
    return this.drawn().find((dialect) => !this.curves.has(this.curveName(dialect)));
  }

  private curveName(dialect: string): string {
    return `${dialect} ${this.state.keys}`;
  }

  /** The systems of the chart: the chosen one, and the others. */
  private drawn(): string[] {
    return [...new Set([this.state.focus, ...this.state.shown])];
  }

  private focused(): DialectPlan | null {
    if (!this.report) return null;
    return systemPlans(this.report).find((plan) => plan.dialect === this.state.focus) ?? null;
  }

  private show(): void {
    const plan = this.focused();
    const { report, state } = this;
    if (!report || !plan) return;
    byId<HTMLSelectElement>("focus").value = state.focus;
    const asked = (wish: Wish, found: number | null) => (state.wish === wish ? state.value : found);
    this.dials.keys.set(state.keys, true);
    this.dials.fpr.set(asked("fpr", plan.expected_fpr), state.wish === "fpr");
    this.dials.memory.set(asked("memory", plan.bytes), state.wish === "memory");
    this.dials.bits_per_key.set(asked("bits_per_key", plan.bits_per_key), state.wish === "bits_per_key");
    this.summarise(plan, report);
    const active = document.activeElement;
    const row = active?.closest<HTMLElement>("#systems tr")?.dataset["dialect"];
    this.body.replaceChildren(...rows(report, this.about, state, {
      focus: (focus) => this.change({ focus }),
      show: (dialect, shown) => {
        const others = state.shown.filter((name) => name !== dialect);
        this.change({ shown: shown ? [...others, dialect] : others });
      },
    }));
    // Whoever uses the keyboard stays in the row.
    if (row && active) this.body.querySelector<HTMLElement>(`[data-dialect="${row}"] ${active.tagName}`)?.focus();
    const code = byId("snippets");
    if (plan.bits === null) code.replaceChildren(h("p", { class: "quiet" }, `${state.focus} cannot be sized like this.`));
    else code.replaceChildren(...snippets(state, plan));
    byId("snippets-title").textContent = `What to write for ${state.focus}`;
  }

  private summarise(plan: DialectPlan, report: PlanReport): void {
    const problems = report.problems.filter((problem) => problem.place === plan.dialect);
    const big = (text: string) => h("strong", {}, text);
    const summary = byId("summary");
    if (plan.bytes === null || plan.expected_fpr === null) {
      summary.replaceChildren(`${spoken(this.state.keys)} keys: `, big(`${plan.dialect} cannot do this`));
    } else {
      summary.replaceChildren(
        `${spoken(this.state.keys)} keys at `, big(rate(plan.expected_fpr)), " take ", big(bytes(plan.bytes)), ` in ${plan.dialect}`,
      );
    }
    const details = [
      plan.bits_per_key === null ? null : `${digits(plan.bits_per_key, 4)} bits per key`,
      plan.probes === null ? null : `${plan.probes} ${plan.probes === 1 ? "probe" : "probes"}`,
      plan.bits === null ? null : `${count(plan.bits)} bits`,
    ].filter((text) => text !== null);
    byId("summary-details").textContent = details.join(" · ");
    byId("summary-notes").replaceChildren(
      ...problems.map((problem) => h("p", { class: `note ${problem.severity}` }, sentence(problem.message))),
    );
    announce(summary.textContent ?? "");
  }

  private refuse(refusal: Refusal): void {
    byId("summary").textContent = "This plan does not work";
    byId("summary-details").textContent = "";
    byId("summary-notes").replaceChildren(h("p", { class: "note error" }, sentence(refusal.message)));
    announce(refusal.message);
  }

  private drawChart(): void {
    const box = byId("chart-box");
    const { width, height } = box.getBoundingClientRect();
    if (width < 50) return;
    const plan = this.focused();
    const curves = this.drawn().flatMap((name) => {
      const points = this.curves.get(this.curveName(name));
      return points ? [{ name, points }] : [];
    });
    const chosen = plan?.bits_per_key && plan.expected_fpr !== null ? { bits: plan.bits_per_key, fpr: plan.expected_fpr } : null;
    const svg = byId("chart") as unknown as SVGSVGElement;
    draw(svg, { curves, textbook: this.textbook, focus: this.state.focus, chosen }, MOST_BITS, width, height);
  }
}
