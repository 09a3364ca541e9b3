// Look: a file is read in the page, inspected, asked about keys, and compared with a second one.

import { announce, byId, copyButton, debounce, h } from "../dom";
import { Engine, Refusal, Stopped, planner } from "../engine";
import { bytes, count, percent } from "../format";
import type { LookupResult, Opened, ReadAs } from "../calls";
import type { Answer, Inspected } from "../records";
import { sentence } from "../plan/systems";
import { positions, strip } from "./array";
import { facts, headline } from "./record";

/** Keys that are looked up at once. */
const MOST_KEYS = 2000;

const BY_ITSELF: ReadAs = { dialect: "", bits: 0, probes: 0 };

/** Refusals that another dialect may help against. */
const UNCERTAIN = ["unknown-dialect", "not-a-filter", "option-refused"];

/** A file in one of the two places. */
class Slot {
  readonly engine = new Engine();
  file: File | null = null;
  opened: Opened | null = null;
  refusal: Refusal | null = null;
  /** The filter that is shown: a Parquet file has one for each column chunk. */
  index = 0;
  answers: LookupResult[] = [];

  record(): Inspected | null {
    return this.opened?.report.places[this.index] ?? null;
  }

  close(): void {
    this.engine.stop();
    [this.file, this.opened, this.refusal, this.index, this.answers] = [null, null, null, 0, []];
  }
}

const SAMPLES: [string, string, string][] = [
  ["native", "sample.bloom", "a native filter"],
  ["native-compact", "compact.bloom", "a compact one"],
  ["cassandra", "nb-1-big-Filter.db", "one of Cassandra"],
  ["holed", "nb-2-big-Filter.db", "a damaged one"],
];

export class LookView {
  private readonly slots = [new Slot(), new Slot()];
  private keys: string[] = [];
  /** The key whose probes are drawn. */
  private chosen = 0;
  private asked = 0;
  private readonly area = byId<HTMLTextAreaElement>("lookup-keys");
  private readonly spec = byId<HTMLSelectElement>("lookup-spec");

  constructor(private readonly dialects: string[]) {
    for (const [i, id] of [[0, "file"], [1, "second-file"]] as const) {
      const input = byId<HTMLInputElement>(id);
      input.addEventListener("change", () => {
        const file = input.files?.[0];
        input.value = "";
        if (file) void this.open(i, file);
      });
    }
    this.drop(byId("drop"), 0);
    this.drop(byId("second"), 1);
    const lookup = debounce(80, () => void this.lookup());
    this.area.addEventListener("input", lookup);
    this.spec.addEventListener("change", lookup);
    byId("remove-second").addEventListener("click", () => {
      this.slots[1]!.close();
      this.show();
    });
    byId("samples").append(...SAMPLES.map(([dialect, name, words]) =>
      h("button", { type: "button", class: "link", click: () => void this.sample(dialect, name) }, words)));
    // A file that is dropped beside a zone must not replace the page.
    for (const type of ["dragover", "drop"]) window.addEventListener(type, (event) => event.preventDefault());
    window.addEventListener("resize", debounce(100, () => this.drawStrips()));
    this.show();
  }

  private drop(zone: HTMLElement, slot: number): void {
    const over = (on: boolean) => (event: DragEvent) => {
      event.preventDefault();
      zone.classList.toggle("over", on);
    };
    zone.addEventListener("dragenter", over(true));
    zone.addEventListener("dragover", over(true));
    zone.addEventListener("dragleave", over(false));
    zone.addEventListener("drop", (event) => {
      over(false)(event);
      const files = [...(event.dataTransfer?.files ?? [])];
      files.slice(0, 2 - slot).forEach((file, i) => void this.open(slot + i, file));
    });
  }

  private async sample(dialect: string, name: string): Promise<void> {
    const made = await planner.call("sample", dialect);
    if (!this.area.value) this.area.value = "user:7\nuser:3000\nnobody";
    await this.open(0, new File([made as BlobPart], name));
  }

  private async open(number: number, file: File, as = BY_ITSELF): Promise<void> {
    const slot = this.slots[number]!;
    slot.close();
    slot.file = file;
    this.progress(slot, 0, file.size);
    slot.engine.onRead = (read, of) => this.progress(slot, read, of);
    this.show();
    try {
      const opened = await slot.engine.call("open", file, as);
      if (slot.file !== file) return;
      slot.opened = opened;
    } catch (error) {
      if (slot.file !== file || error instanceof Stopped) return;
      slot.refusal = error instanceof Refusal ? error : new Refusal(String(error));
    }
    this.show();
    this.say(slot);
    await this.lookup();
  }

  private say(slot: Slot): void {
    const record = slot.record();
    const problems = slot.opened?.report.problems.length ?? 0;
    if (slot.refusal) announce(`${slot.file?.name}: ${slot.refusal.message}`);
    else if (record) announce(`${slot.file?.name}: ${record.dialect ?? "no filter"}, ${headline(record)}, ${problems} problems`);
  }

  private progress(slot: Slot, read: number, of: number): void {
    const bar = byId<HTMLProgressElement>("reading-bar");
    bar.value = of > 0 ? Math.min(1, read / of) : 0;
    byId("reading-text").textContent = `Reading ${slot.file?.name ?? ""}, ${bytes(of)}`;
  }

  private show(): void {
    const [first, second] = this.slots as [Slot, Slot];
    const busy = this.slots.some((slot) => slot.file && !slot.opened && !slot.refusal);
    byId("reading").hidden = !busy;
    byId("drop").classList.toggle("small", first.file !== null);
    byId("looked").hidden = !first.opened && !first.refusal;
    byId("second").hidden = !first.opened;
    byId("remove-second").hidden = second.file === null;
    byId("look-cards").replaceChildren(...this.slots.flatMap((slot) => this.card(slot)));
    const both = this.slots.filter((slot) => slot.opened && slot.record());
    byId("look-facts").replaceChildren(
      both.length ? facts(both.map((slot) => slot.record()), both.map((slot) => slot.file?.name ?? "")) : "",
    );
    byId("look-facts-box").hidden = both.length === 0;
    byId("look-json").replaceChildren(...both.map((slot) => {
      const text = () => JSON.stringify(slot.opened!.report, null, 2);
      return copyButton(text, `of ${slot.file!.name}, as inspect --json prints it`, "Copy JSON");
    }));
    byId("lookup").hidden = both.length === 0;
    this.showAnswers();
  }

  /** A file: what it is, its strip, its problems. */
  private card(slot: Slot): HTMLElement[] {
    if (!slot.file || (!slot.opened && !slot.refusal)) return [];
    const title = h("h3", {}, slot.file.name);
    if (slot.refusal) {
      const hint = slot.refusal.hint && h("p", { class: "hint" }, sentence(slot.refusal.hint));
      const again = UNCERTAIN.includes(slot.refusal.code ?? "") ? this.readAs(slot) : null;
      return [h("article", { class: "card" }, title, h("p", { class: "note error" }, sentence(slot.refusal.message)), hint, again)];
    }
    const record = slot.record();
    const { report, next } = slot.opened!;
    const problems = report.problems.map((problem, i) =>
      h("li", { class: `note ${problem.severity}` },
        h("strong", {}, `${problem.severity}: `), sentence(problem.message),
        next[i] ? h("span", { class: "hint" }, sentence(next[i]!)) : null));
    return [
      h("article", { class: "card" },
        title,
        record ? h("p", { class: "headline" }, h("span", { class: "tag" }, record.dialect ?? "no filter"), headline(record)) : null,
        this.choice(slot),
        h("div", { class: "strip-box" }),
        problems.length
          ? h("ul", { class: "problems" }, ...problems)
          : h("p", { class: "well" }, "No problem found."),
      ),
    ];
  }

  /** Reads the file again as the user says. */
  private readAs(slot: Slot): HTMLElement {
    const number = (name: string) => h("input", { type: "text", inputmode: "numeric", name, autocomplete: "off" });
    const [bits, probes] = [number("bits"), number("probes")];
    const dialect = h("select", { name: "dialect" }, ...this.dialects.map((name) => h("option", { value: name }, name)));
    const form = h("form", { class: "read-as", submit: (event: Event) => {
      event.preventDefault();
      const as = { dialect: dialect.value, bits: Number(bits.value) || 0, probes: Number(probes.value) || 0 };
      void this.open(this.slots.indexOf(slot), slot.file!, as);
    } },
      h("label", { class: "field" }, "Read it as", dialect),
      h("label", { class: "field" }, "Bits, if they are raw", bits),
      h("label", { class: "field" }, "Probes, if they are raw", probes),
      h("button", { type: "submit" }, "Read again"));
    return form;
  }

  /** The choice among the filters of a Parquet file. */
  private choice(slot: Slot): HTMLElement | null {
    const places = slot.opened!.report.places;
    if (places.length < 2) return null;
    const select = h("select", {
      "aria-label": `Filter of ${slot.file!.name}`,
      change: () => {
        slot.index = select.selectedIndex;
        this.show();
        void this.lookup();
      },
    }, ...places.map((place) => h("option", {}, `${String(place["column"] ?? place.path)}, row group ${String(place["row_group"] ?? "")}`)));
    select.selectedIndex = slot.index;
    return h("p", {}, select);
  }

  private async lookup(): Promise<void> {
    const number = ++this.asked;
    const keys = this.area.value.replace(/\n$/, "").split("\n");
    this.keys = this.area.value === "" ? [] : keys.slice(0, MOST_KEYS);
    byId("lookup-more").hidden = keys.length <= MOST_KEYS;
    byId("lookup-more").textContent = `Only the first ${count(MOST_KEYS)} of ${count(keys.length)} keys are looked up here.`;
    this.chosen = Math.min(this.chosen, Math.max(0, this.keys.length - 1));
    for (const slot of this.slots) {
      if (!slot.opened) continue;
      try {
        const answers = await slot.engine.call("lookup", slot.index, this.keys, this.spec.value);
        if (number !== this.asked) return;
        slot.answers = answers;
      } catch (error) {
        if (error instanceof Stopped || number !== this.asked) return;
        slot.answers = this.keys.map(() => ({ refused: error instanceof Error ? error.message : String(error) }));
      }
    }
    this.showAnswers();
  }

  private showAnswers(): void {
    const open = this.slots.filter((slot) => slot.opened);
    const words = (result: LookupResult | undefined) => {
      if (!result) return h("span", { class: "answer" }, "…");
      if ("refused" in result) return h("span", { class: "answer refused" }, result.refused);
      return result.answer.may_contain
        ? h("span", { class: "answer maybe" }, "maybe")
        : h("span", { class: "answer no" }, "surely not");
    };
    const rows = this.keys.map((key, i) =>
      h("tr", { class: i === this.chosen ? "focused" : null },
        h("th", { scope: "row" }, h("button", {
          type: "button", class: "link key", "aria-pressed": String(i === this.chosen),
          "aria-label": `Show the probes of ${key || "the empty key"}`,
          click: () => {
            this.chosen = i;
            this.showAnswers();
          },
        }, key || "(empty key)")),
        ...open.map((slot) => h("td", {}, words(slot.answers[i]))),
      ),
    );
    const names = open.length > 1 ? open.map((slot) => slot.file!.name) : ["Answer"];
    byId("answers").replaceChildren(
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Key"), ...names.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ...rows),
    );
    byId("answers").hidden = rows.length === 0;
    this.drawStrips();
  }

  private drawStrips(): void {
    const cards = byId("look-cards").querySelectorAll(".strip-box");
    let card = 0;
    for (const slot of this.slots) {
      if (!slot.opened) continue;
      const box = cards[card++];
      const drawn = slot.opened.drawn[slot.index];
      const record = slot.record();
      if (!box) continue;
      if (!drawn || drawn.fill.length === 0 || !record) {
        box.replaceChildren(h("p", { class: "quiet" }, "Its bits are in several parts, or it has none: there is no single array to draw."));
        continue;
      }
      const result = slot.answers[this.chosen];
      const answer: Answer | null = result && "answer" in result ? result.answer : null;
      const key = this.keys[this.chosen];
      const caption = h("p", { class: "legend" },
        h("span", {}, `Fill along the array, ${percent(record.fill ?? 0)} on average`),
        answer?.probes.length
          ? h("span", { class: "probes-of" }, `Probes of ${key || "the empty key"}: `,
            h("span", { class: "positions" }, positions(answer)))
          : null);
      box.replaceChildren(strip(drawn, record.fill ?? 0, answer, Math.max(200, box.clientWidth)), caption);
    }
  }
}
