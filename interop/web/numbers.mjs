// The numbers of the page are those of the command.

import assert from "node:assert/strict";
import { basename, dirname } from "node:path";
import { command, vectors } from "./files.mjs";

/** Equal numbers: the last digits may differ, because two C libraries compute powers and logarithms. */
function same(page, command, where) {
  if (typeof page === "number" && typeof command === "number") {
    const near = Number.isInteger(command) ? page === command : Math.abs(page - command) <= 1e-9 * Math.abs(command);
    assert.ok(near, `${where}: ${page}, and the command says ${command}`);
  } else if (page && command && typeof page === "object" && typeof command === "object") {
    assert.deepEqual(Object.keys(page), Object.keys(command), where);
    for (const key of Object.keys(command)) same(page[key], command[key], `${where}.${key}`);
  } else if (where.endsWith(".expiry.time") && page !== null) {
    // The time of the report, which the other made a moment later.
    assert.ok(Math.abs(Date.parse(page) - Date.parse(command)) <= 60e3, `${where}: ${page}, and the command says ${command}`);
  } else {
    assert.equal(page, command, where);
  }
}

const PLANS = [
  [1000000, "fpr", 0.01, "--fpr"],
  [1000, "fpr", 1e-6, "--fpr"],
  [2000000000, "fpr", 0.001, "--fpr"],
  [50000, "bits_per_key", 12, "--bits-per-key"],
  [1000000, "memory", 1250000, "--memory"],
];

/** Every cell of the table of systems, for several plans. */
export async function plans(page) {
  let cells = 0;
  for (const [keys, wish, value, option] of PLANS) {
    const report = JSON.parse(command("plan", "--expected-keys", String(keys), option, String(value), "--json"));
    await page.evaluate((hash) => (location.hash = hash), `#plan?keys=${keys}&${wish}=${value}&for=native&show=native`);
    const first = report.places.find((plan) => plan.dialect === "native");
    await page.waitForFunction((bits) => document.querySelector("#systems [data-dialect=native] td[data-value]")?.dataset.value === bits, String(first.bytes));
    const rows = await page.evaluate(() => [...document.querySelectorAll("#systems tbody tr")].map((row) => ({
      dialect: row.dataset.dialect,
      cells: [...row.querySelectorAll("td.number")].map((cell) => (cell.dataset.value === undefined ? null : Number(cell.dataset.value))),
      notes: [...row.querySelectorAll(".note")].map((note) => note.textContent),
    })));
    // The kind compact of the native dialect has a row of its own.
    const systems = report.places.flatMap((plan) => (plan.compact ? [plan, { dialect: "native-compact", probes: null, ...plan.compact }] : [plan]));
    assert.equal(systems.length, report.places.length + 1, "the kind compact");
    assert.equal(rows.length, systems.length, "a row for each system");
    systems.forEach((plan, i) => {
      const { bytes, bits_per_key, probes, expected_fpr } = plan;
      same(rows[i].dialect, plan.dialect, "dialect");
      same(rows[i].cells, [bytes, bits_per_key, probes, expected_fpr], `${plan.dialect}, ${keys} keys, ${wish} ${value}`);
      const problems = report.problems.filter((problem) => problem.place === plan.dialect);
      assert.equal(rows[i].notes.length, problems.length, `${plan.dialect}: notes`);
      cells += 4;
    });
  }
  return cells;
}

/** What only the directory of a file knows. */
const OF_DIRECTORY = ["keyspace", "table", "table_id"];

function comparable(report, directory) {
  const text = JSON.stringify(report).replaceAll(`${directory}/`, "");
  const value = JSON.parse(text);
  for (const list of [value.places, value.summary.tables ?? []]) {
    for (const record of list) for (const field of OF_DIRECTORY) delete record[field];
  }
  return value;
}

/** Opens a file in the page, and returns the report that it copies, or the message. */
export async function look(page, files) {
  await page.setInputFiles("#file", files);
  await page.waitForFunction(() => document.querySelector("#reading").hidden && document.querySelector("#look-cards .card"));
  return page.evaluate(() => document.querySelector("#look-cards .card").innerText);
}

async function reportOf(page) {
  await page.click("#look-json button");
  return JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
}

/** The report of every dialect and of every file of the vectors. */
export async function inspections(page, made) {
  let compared = 0;
  await page.evaluate(() => (location.hash = "#look"));
  for (const { dialect, path, bits, probes } of made) {
    const raw = ["libbloom-1", "java-lsm"].includes(dialect) ? ["--bits", String(bits), "--probes", String(probes)] : [];
    let said = command("inspect", "--json", path);
    let text = await look(page, path);
    if (JSON.parse(said || "{}").places?.length !== 1 || raw.length) {
      // Its bytes do not say what it is: the user does.
      said = command("inspect", "--json", "--dialect", dialect, ...raw, path);
      await page.selectOption("form.read-as select", dialect);
      if (raw.length) {
        await page.fill("form.read-as [name=bits]", String(bits));
        await page.fill("form.read-as [name=probes]", String(probes));
      }
      await page.click("form.read-as button");
      await page.waitForFunction(() => document.querySelector("#look-cards .headline"));
      text = await page.evaluate(() => document.querySelector("#look-cards .card").innerText);
    }
    assert.ok(text.includes(dialect), `${dialect}: ${text}`);
    same(comparable(await reportOf(page)), comparable(JSON.parse(said), dirname(path)), dialect);
    compared += 1;
  }
  for (const path of vectors()) {
    const said = JSON.parse(command("inspect", "--json", path));
    const text = await look(page, path);
    if (said.places.length === 0) {
      const message = said.problems[0].message.slice(1, 40);
      assert.ok(text.includes(message), `${basename(path)}: ${text}, and the command says ${message}`);
    } else {
      same(comparable(await reportOf(page)), comparable(said, dirname(path)), basename(path));
    }
    compared += 1;
  }
  return compared;
}
