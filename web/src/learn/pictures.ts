// The six pictures. Each runs the library's own filters in the worker.

import { debounce, h } from "../dom";
import { planner } from "../engine";
import { bytes, count, digits, percent, rate } from "../format";
import type { Picture, Touched } from "../records";
import { cacheLines, grid } from "./bits";

/** A small array: the raw bits of libbloom, 96 bits and 3 probes for each key. */
const SMALL = { dialect: "libbloom-1", bits: 96, probes: 3 };

/** Bits in a row: fewer where there is little room. */
const columns = () => (window.innerWidth < 560 ? 16 : 24);

interface Card {
  title: string;
  text: string;
  build(stage: HTMLElement, say: HTMLElement): void;
}

function draw(keys: string[], lookups: string[], erased: string[] = []): Promise<Picture> {
  return planner.call("picture", { ...SMALL, keys, lookups, erased });
}

function field(label: string, value: string, changed: (value: string) => void): [HTMLElement, HTMLInputElement] {
  const input = h("input", { type: "text", value, autocomplete: "off", spellcheck: "false", maxlength: 40 });
  input.addEventListener("input", debounce(40, () => changed(input.value)));
  return [h("label", { class: "field" }, label, input), input];
}

function slider(label: string, least: number, most: number, value: number, changed: (value: number) => void): [HTMLElement, HTMLElement] {
  const output = h("output", {}, String(value));
  const input = h("input", { type: "range", min: least, max: most, step: 1, value });
  input.addEventListener("input", () => {
    output.textContent = input.value;
    changed(Number(input.value));
  });
  return [h("label", { class: "field" }, h("span", {}, label, " ", output), input), output];
}

const all = (touched: Touched | undefined) => touched?.set.filter(Boolean).length ?? 0;

const insert: Card = {
  title: "Insert",
  text: "A filter is an array of bits, all clear at first. Hash functions turn a key into a few positions. Inserting sets those bits, and nothing else is stored.",
  build(stage, say) {
    const keys: string[] = [];
    const picture = h("div", { class: "picture" });
    const show = async () => {
      const drawn = await draw(keys, [input.value]);
      const touched = drawn.lookups[0]!;
      const inserted = keys.includes(input.value);
      const label = `${keys.length} keys inserted`;
      picture.replaceChildren(grid({ columns: columns(), bits: drawn.bits, length: SMALL.bits, touched, planned: !inserted, label }));
      say.textContent = inserted
        ? `${input.value} has set bits ${touched.probes.join(", ")}. ${count(keys.length)} ${keys.length === 1 ? "key" : "keys"} so far.`
        : `${input.value || "The empty key"} would set bits ${touched.probes.join(", ")}.`;
    };
    const [label, input] = field("Key", "alice", () => void show());
    const next = ["bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan"];
    const button = h("button", { type: "button", click: () => {
      if (!keys.includes(input.value)) keys.push(input.value);
      else input.value = next.find((name) => !keys.includes(name)) ?? `key ${keys.length}`;
      button.textContent = keys.includes(input.value) ? "Next key" : "Insert";
      void show();
    } }, "Insert");
    input.addEventListener("input", () => (button.textContent = keys.includes(input.value) ? "Next key" : "Insert"));
    const reset = h("button", { type: "button", class: "quiet", click: () => {
      keys.length = 0;
      input.value = "alice";
      button.textContent = "Insert";
      void show();
    } }, "Start over");
    stage.append(picture, h("div", { class: "controls" }, label, button, reset));
    void show();
  },
};

const NAMES = ["alice", "bob", "carol", "dave", "erin", "frank"];

const lookup: Card = {
  title: "Look up",
  text: "A lookup tests the same positions. One clear bit proves that the key was never inserted. If all are set, the key may be there.",
  build(stage, say) {
    const picture = h("div", { class: "picture" });
    const show = async (key: string) => {
      const drawn = await draw(NAMES, [key]);
      const touched = drawn.lookups[0]!;
      picture.replaceChildren(grid({ columns: columns(), bits: drawn.bits, length: SMALL.bits, touched, label: `Probes of ${key}` }));
      const verdict = touched.may_contain ? "maybe." : "surely not.";
      say.replaceChildren(`${all(touched)} of ${touched.probes.length} bits are set: `, h("strong", {}, verdict));
    };
    const [label, input] = field("Key", "carol", (key) => void show(key));
    const presets = ["carol", "mallory"].map((key) => h("button", { type: "button", class: "quiet", click: () => {
      input.value = key;
      void show(key);
    } }, key));
    stage.append(picture, h("div", { class: "controls" }, label, ...presets), h("p", { class: "quiet" }, `Inside: ${NAMES.join(", ")}.`));
    void show("carol");
  },
};

const falsePositive: Card = {
  title: "A false positive",
  text: "When enough bits are set, a key that was never inserted finds all of its bits set by others. The fuller the array, the more often.",
  build(stage, say) {
    const picture = h("div", { class: "picture" });
    let from = 0;
    let size = 14;
    const show = async () => {
      const keys = Array.from({ length: size }, (_, i) => `key ${i}`);
      const absent = Array.from({ length: 1000 }, (_, i) => `visitor ${from + i}`);
      const drawn = await draw(keys, absent);
      const wrong = drawn.lookups.filter((touched) => touched.may_contain).length;
      const first = drawn.lookups.findIndex((touched) => touched.may_contain);
      const touched = drawn.lookups[Math.max(0, first)]!;
      picture.replaceChildren(grid({ columns: columns(), bits: drawn.bits, length: SMALL.bits, touched, label: `${size} keys inserted` }));
      const found = first < 0 ? "None of 1,000 visitors is let in by mistake. " : `${absent[first]!} was never inserted, and all its bits are set. `;
      say.textContent = `${found}${count(wrong)} of 1,000 visitors pass; ${rate(drawn.fpr)} are expected.`;
    };
    const [label] = slider("Keys inside", 1, 60, size, (value) => {
      size = value;
      void show();
    });
    const button = h("button", { type: "button", click: () => {
      from += 1000;
      void show();
    } }, "Other visitors");
    stage.append(picture, h("div", { class: "controls" }, label, button));
    void show();
  },
};

const deletion: Card = {
  title: "Why deletion is hard",
  text: "Keys share bits. Clearing the bits of one key takes some from others, and a filter must never call a key absent that is there.",
  build(stage, say) {
    const keys = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "mike", "nina", "oscar", "peggy"];
    const picture = h("div", { class: "picture" });
    const list = h("ul", { class: "chips" });
    let erased: string[] = [];
    const show = async () => {
      const [before, drawn] = await Promise.all([draw(keys, []), draw(keys, keys, erased)]);
      const lost = new Set<number>();
      before.bits.forEach((byte, i) => {
        for (let bit = 0; bit < 8; bit++) if ((byte & ~drawn.bits[i]!) >> bit & 1) lost.add(8 * i + bit);
      });
      picture.replaceChildren(grid({ columns: columns(), bits: drawn.bits, length: SMALL.bits, lost, label: `${lost.size} bits cleared` }));
      const missing = keys.filter((key, i) => !erased.includes(key) && !drawn.lookups[i]!.may_contain);
      list.replaceChildren(...keys.map((key) => {
        const state = erased.includes(key) ? "deleted" : missing.includes(key) ? "missing" : "";
        return h("li", { class: state }, key, state === "missing" ? h("span", {}, " lost") : null,
          state ? null : h("button", { type: "button", class: "small", "aria-label": `Delete ${key}`, click: () => {
            erased = [...erased, key];
            void show();
          } }, "×"));
      }));
      say.textContent = erased.length === 0
        ? "Delete a key and see who loses bits."
        : missing.length === 0
          ? `Deleting ${erased.join(", ")} harmed nobody. That was luck.`
          : `Deleting ${erased.join(", ")} also lost ${missing.join(", ")}: the filter says "surely not" about keys that are there.`;
    };
    const reset = h("button", { type: "button", class: "quiet", click: () => {
      erased = [];
      void show();
    } }, "Put them back");
    stage.append(picture, list, h("div", { class: "controls" }, reset));
    void show();
  },
};

const LINES = 12;
const LINE_BITS = 512;
const MANY = Array.from({ length: 400 }, (_, i) => `key ${i}`);

const blocks: Card = {
  title: "Cache-line blocks",
  text: "Memory comes in lines of 64 bytes. Probes that fall anywhere fetch a line each. RocksDB and fullbloom's own filter keep all probes of a key in one line.",
  build(stage, say) {
    const [left, right] = [h("div", { class: "picture" }), h("div", { class: "picture" })];
    const show = async (key: string) => {
      const wish = { bits: LINES * LINE_BITS, probes: 6, keys: MANY, lookups: [key] };
      const [classic, blocked] = await Promise.all([
        planner.call("picture", { ...wish, dialect: "libbloom-1" }),
        planner.call("picture", { ...wish, dialect: "rocksdb" }),
      ]);
      const reached = (picture: Picture) => new Set(picture.lookups[0]!.probes.map((at) => Math.floor(at / LINE_BITS))).size;
      left.replaceChildren(cacheLines(LINES, LINE_BITS, classic.lookups[0]!, `Classic: ${reached(classic)} lines`));
      right.replaceChildren(cacheLines(LINES, LINE_BITS, blocked.lookups[0]!, `Blocked: ${reached(blocked)} line`));
      say.textContent = `Classic: up to ${reached(classic)} cache lines for this key. Blocked: ${reached(blocked)}. The price: ${rate(blocked.fpr)} false positives instead of ${rate(classic.fpr)}.`;
    };
    const [label] = field("Key", "alice", (key) => void show(key));
    stage.append(
      h("div", { class: "pair" },
        h("figure", {}, h("figcaption", {}, "Classic (libbloom)"), left),
        h("figure", {}, h("figcaption", {}, "Blocked (RocksDB)"), right)),
      h("div", { class: "controls" }, label));
    void show("alice");
  },
};

const TABLES = 8;

const lsm: Card = {
  title: "What it saves an LSM read",
  text: "A log-structured store looks for a key in several sorted tables. A filter for each table answers most of the questions without reading the disk.",
  build(stage, say) {
    const picture = h("div", { class: "picture" });
    let asked = 0;
    const show = async (bits: number) => {
      const number = ++asked;
      const reads = await planner.call("reads", TABLES, 2000, bits, 2000, 6);
      if (number !== asked) return;
      const rows = reads.shown.map((answers, i) => h("tr", {},
        h("th", { scope: "row" }, `key ${i + 1}`),
        ...answers.map((maybe) => h("td", { class: maybe ? "read" : "skipped" }, h("span", { class: "offscreen" }, maybe ? "read" : "skipped")))));
      picture.replaceChildren(h("table", { class: "lsm" },
        h("caption", { class: "offscreen" }, "Which tables six absent keys make the store read"),
        h("thead", {}, h("tr", {}, h("td"), ...Array.from({ length: TABLES }, (_, i) => h("th", { scope: "col" }, `T${i + 1}`)))),
        h("tbody", {}, ...rows)));
      const mean = reads.with_filters / (reads.without / TABLES);
      say.textContent = `An absent key reads ${digits(mean, 3)} of ${TABLES} tables: ${percent(1 - reads.with_filters / reads.without)} of the reads are saved, for ${bytes(reads.filter_bytes)} of filters.`;
    };
    const [label] = slider("Bits per key", 1, 16, 6, (value) => void show(value));
    stage.append(picture, h("div", { class: "controls" }, label));
    void show(6);
  },
};

/** Puts the cards into the page. */
export function buildPictures(place: HTMLElement): void {
  for (const [i, card] of [insert, lookup, falsePositive, deletion, blocks, lsm].entries()) {
    const stage = h("div", { class: "stage" });
    const say = h("p", { class: "say", "aria-live": "polite" });
    place.append(h("article", { class: "lesson", id: `lesson-${i + 1}` },
      h("h3", {}, h("span", { class: "number", "aria-hidden": "true" }, String(i + 1)), card.title),
      h("p", {}, card.text), stage, say));
    card.build(stage, say);
  }
}
