// The state of a plan, in the address: `#plan?keys=1000000&fpr=0.01&for=native&show=cassandra,rocksdb`.

export type Wish = "fpr" | "bits_per_key" | "memory";

export interface PlanState {
  keys: number;
  wish: Wish;
  value: number;
  /** The system that the summary, the sliders and the snippets are about. */
  focus: string;
  /** The systems of the chart. */
  shown: string[];
}

export const DEFAULT: PlanState = {
  keys: 1_000_000,
  wish: "fpr",
  value: 0.01,
  focus: "native",
  shown: ["native", "cassandra", "rocksdb", "parquet"],
};

const WISHES: Wish[] = ["fpr", "bits_per_key", "memory"];

/** The state that an address holds; what is missing or wrong has its default. */
export function read(query: string, dialects: string[]): PlanState {
  const values = new URLSearchParams(query);
  const number = (name: string) => {
    const value = Number(values.get(name));
    return Number.isFinite(value) && value > 0 ? value : null;
  };
  const state = { ...DEFAULT };
  state.keys = Math.min(1e15, Math.max(1, Math.round(number("keys") ?? state.keys)));
  for (const wish of WISHES) {
    const value = number(wish);
    if (value !== null && (wish !== "fpr" || value < 1)) [state.wish, state.value] = [wish, value];
  }
  const focus = values.get("for");
  if (focus && dialects.includes(focus)) state.focus = focus;
  const shown = values.get("show");
  if (shown !== null) state.shown = shown.split(",").filter((name) => dialects.includes(name));
  return state;
}

/** The same as the query of an address. */
export function write(state: PlanState): string {
  const value = Number.isInteger(state.value) ? state.value : Number(state.value.toPrecision(6));
  const values = [`keys=${state.keys}`, `${state.wish}=${value}`];
  values.push(`for=${state.focus}`, `show=${state.shown.join(",")}`);
  return values.join("&");
}
