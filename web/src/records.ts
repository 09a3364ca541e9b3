// The records of fullbloom-ops, as `plan --json` and `inspect --json` print them (docs/json.md).

export interface Problem {
  place: string;
  code: string;
  severity: "error" | "warning" | "note";
  message: string;
  hint: string | null;
}

export interface Report<R, S> {
  version: number;
  places: R[];
  problems: Problem[];
  summary: S;
}

export interface DialectPlan {
  type: "dialect";
  dialect: string;
  kind?: string;
  bits: number | null;
  bytes: number | null;
  bits_per_key: number | null;
  probes: number | null;
  expected_fpr: number | null;
  /** Of the native dialect: its kind compact. */
  compact?: CompactPlan;
}

export interface CompactPlan {
  bits: number;
  bytes: number;
  bits_per_key: number | null;
  expected_fpr: number;
}

export interface PlanSummary {
  expected_keys: number;
  fpr: number | null;
  asked_bits_per_key: number | null;
  memory: number | null;
}

export type PlanReport = Report<DialectPlan, PlanSummary>;

/** A filter, a table, an sstable or a column: the numbers they share, and whatever else they have. */
export interface Inspected {
  type: "filter" | "table" | "sstable" | "column";
  path: string;
  dialect: string | null;
  bits: number | null;
  probes: number | null;
  bytes: number | null;
  fill: number | null;
  estimated_keys: number | null;
  expected_fpr: number | null;
  [field: string]: unknown;
}

export type InspectReport = Report<Inspected, Record<string, unknown>>;

export interface Point {
  bits_per_key: number;
  fpr: number;
  probes: number;
}

export interface About {
  version: string;
  dialects: { name: string; about: string }[];
}

export interface Probe {
  position: number;
  set: boolean;
}

export interface Answer {
  may_contain: boolean;
  probes: Probe[];
  key: string;
}

export interface Drawn {
  fill: number[];
  array_len: number;
}

export interface Touched {
  may_contain: boolean;
  probes: number[];
  set: boolean[];
}

export interface Picture {
  bits: Uint8Array;
  fpr: number;
  lookups: Touched[];
}

export interface Reads {
  shown: boolean[][];
  with_filters: number;
  without: number;
  filter_bytes: number;
}
