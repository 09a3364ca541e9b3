// The page: three views, chosen by the address.

import { VIEWS, type View, addressOf } from "./address";
import { byId } from "./dom";
import { planner } from "./engine";
import { buildPictures } from "./learn/pictures";
import { LookView } from "./look/look";
import { PlanView } from "./plan/plan";

let learnt = false;

function show(view: View): void {
  for (const name of VIEWS) {
    byId(`${name}-view`).hidden = name !== view;
    const link = byId(`to-${name}`);
    if (name === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (view === "learn" && !learnt) {
    learnt = true;
    buildPictures(byId("lessons"));
  }
}

async function start(): Promise<void> {
  const about = await planner.call("about");
  byId("version").textContent = `fullbloom ${about.version}`;
  const plan = new PlanView(about, (query) => history.replaceState(null, "", `#plan?${query}`));
  new LookView(about.dialects.map((dialect) => dialect.name));
  const follow = () => {
    const { view, query } = addressOf(location.hash);
    show(view);
    if (view === "plan") plan.open(query);
  };
  byId("skip").addEventListener("click", (event) => {
    // The address holds the view: it must not change.
    event.preventDefault();
    byId("main").focus();
  });
  window.addEventListener("hashchange", follow);
  follow();
  document.documentElement.dataset["ready"] = "true";
  performance.mark("ready");
}

// The view is there before the module is.
show(addressOf(location.hash).view);
start().catch((error: unknown) => {
  const notice = byId("failure");
  notice.hidden = false;
  notice.textContent = `This browser cannot run the page: ${error instanceof Error ? error.message : String(error)}`;
});
