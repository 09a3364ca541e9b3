// The address of the page: which view, and its state.

export const VIEWS = ["plan", "look", "learn"] as const;
export type View = (typeof VIEWS)[number];

/** The view and the query of an address: `#plan?keys=…`. Other addresses are those of the plan. */
export function addressOf(hash: string): { view: View; query: string } {
  const [name, query] = hash.replace(/^#/, "").split("?");
  const view = VIEWS.find((view) => view === name) ?? "plan";
  return { view, query: query ?? "" };
}
