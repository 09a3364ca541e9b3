// A record in words: what is in a filter, line by line.

import { h } from "../dom";
import { bytes, count, digits, percent, rate } from "../format";
import type { Inspected } from "../records";

type Format = (value: never, record: Inspected) => string;

const text = (value: string) => value;
const yes = (value: boolean) => (value ? "yes" : "no");

/** The fields with a name for people, in their order. Others are shown under their own names. */
const FIELDS: [string, string, Format][] = [
  ["dialect", "Dialect", text],
  ["kind", "Kind", text],
  ["engine", "Engine", text],
  ["version", "Sstable version", text],
  ["generation", "Generation", text],
  ["format", "Format", text],
  ["column", "Column", text],
  ["row_group", "Row group", count],
  ["physical_type", "Type", text],
  ["values", "Values", count],
  ["distinct", "Distinct values", count],
  ["keys", "Keys", count],
  ["estimated_keys", "Estimated keys", count],
  ["new_keys", "Keys inserted", count],
  ["expected_keys", "Made for keys", count],
  ["filter_entries", "Entries", count],
  ["bits", "Bits", count],
  ["bytes", "Size", (value: number) => (value < 1024 ? bytes(value) : `${bytes(value)} (${count(value)} bytes)`)],
  ["bits_per_key", "Bits per key", (value: number) => digits(value, 4)],
  ["bits_per_distinct", "Bits per value", (value: number) => digits(value, 4)],
  ["probes", "Probes", (value: number, record) => {
    const fewest = record["fewest_probes"];
    return typeof fewest === "number" && fewest !== value ? `${fewest} to ${value}` : String(value);
  }],
  ["fill", "Fill", percent],
  ["expected_fpr", "Expected rate", rate],
  ["planned_fpr", "Planned rate", rate],
  ["recorded_fpr", "Recorded rate", rate],
  ["partitions", "Partitions", count],
  ["lines", "Lines for each key", count],
  ["block_lines", "Lines in a block", count],
  ["policy", "Policy", text],
  ["prefix_extractor", "Prefix extractor", text],
  ["whole_key", "Whole keys", yes],
  ["format_version", "Format version", count],
  ["checksum", "Checksum", text],
  ["memory_bytes", "In a node's memory", bytes],
  ["key_type", "Type of keys", text],
  ["keyed", "Keyed with a secret", yes],
  ["secret_stored", "Secret in the file", yes],
  ["seed", "Seed", String],
  ["label", "Label", text],
  ["recognised", "Recognised", text],
];

/** Not shown: in the title, in another field, or a list of its own. */
const HIDDEN = new Set(["type", "path", "fewest_probes", "overfull", "new_keys_estimated", "table_id"]);

export interface Line {
  field: string;
  name: string;
  text: string;
}

/** The lines of a record; what is null or empty is left out. */
export function lines(record: Inspected): Line[] {
  const known = FIELDS.flatMap(([field, name, format]) => {
    const value = record[field];
    if (value === null || value === undefined || value === "") return [];
    return [{ field, name, text: (format as (value: unknown, record: Inspected) => string)(value, record) }];
  });
  const named = new Set(FIELDS.map(([field]) => field));
  const rest = Object.entries(record).flatMap(([field, value]) => {
    if (named.has(field) || HIDDEN.has(field) || value === null || value === "") return [];
    const words = plain(value);
    return words ? [{ field, name: field.charAt(0).toUpperCase() + field.slice(1).replace(/_/g, " "), text: words }] : [];
  });
  return [...known, ...rest];
}

/** A value of any shape on one line. */
function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).filter(Boolean).join("; ");
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).map(([name, part]) => `${name.replace(/_/g, " ")} ${plain(part)}`).join(", ");
  }
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : digits(value, 4);
  return typeof value === "boolean" ? yes(value) : String(value ?? "");
}

/** What a place is, in a sentence. */
export function headline(record: Inspected): string {
  const keys = (record["keys"] ?? record.estimated_keys) as number | null;
  const about = record["keys"] === null || record["keys"] === undefined ? "about " : "";
  const parts = [
    record.bytes === null ? null : bytes(record.bytes),
    keys === null ? null : `${about}${count(keys)} keys`,
    record.expected_fpr === null ? null : `expected rate ${rate(record.expected_fpr)}`,
  ];
  return parts.filter((part) => part !== null).join(" · ");
}

/** One or two records side by side, as a table; lines that differ are marked. */
export function facts(records: (Inspected | null)[], names: string[]): HTMLElement {
  const columns = records.map((record) => new Map((record ? lines(record) : []).map((line) => [line.field, line])));
  const order: Line[] = [];
  for (const column of columns) for (const line of column.values()) if (!order.some((one) => one.field === line.field)) order.push(line);
  const body = order.map(({ field, name }) => {
    const texts = columns.map((column) => column.get(field)?.text ?? "–");
    const differs = texts.length > 1 && texts[0] !== texts[1];
    return h("tr", { class: differs ? "differs" : null, "data-field": field },
      h("th", { scope: "row" }, name),
      ...texts.map((words) => h("td", {}, words)),
    );
  });
  const head = names.length > 1
    ? h("thead", {}, h("tr", {}, h("td"), ...names.map((name) => h("th", { scope: "col" }, name))))
    : null;
  return h("table", { class: "facts" }, h("caption", { class: "offscreen" }, "What inspect says"), head, h("tbody", {}, ...body));
}
