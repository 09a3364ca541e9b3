// Runs everything; writes `what<TAB>cases` for the table of results.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SIZES, accessible, fits, fromFolder, launch, memoryOf, open, serve, shots } from "./browser.mjs";
import { command, damaged, everyDialect, vectors } from "./files.mjs";
import { inspections, look, plans } from "./numbers.mjs";
import { stories } from "./stories.mjs";

const { FULLBLOOM, ROOT, WORK } = process.env;
const counts = process.argv[2];
const done = (what, cases) => {
  appendFileSync(counts, `${what}\t${cases}\n`);
  console.log(`${((performance.now() - began) / 1000).toFixed(1)} s  ${what}: ${cases}`);
};
const began = performance.now();
rmSync(shots, { recursive: true, force: true });
mkdirSync(shots, { recursive: true });

const browser = await launch();
const server = await serve();
const dialects = JSON.parse(command("plan", "--expected-keys", "1000", "--fpr", "0.01", "--json")).places.map((plan) => plan.dialect);
const made = everyDialect([...new Set(dialects)]);
const table = join(ROOT, "vectors/rocksdb/tables/r783_full_fv5_zstd.sst");
const files = {
  cassandra: made.find((one) => one.dialect === "cassandra").path,
  parquet: join(ROOT, "vectors/parquet/people.parquet"),
  table,
  tableKeys: command("keys", table).split("\n").slice(0, 5),
};

/** Loading: how long until the page takes input, from nothing in any cache, and whether anything moves. */
async function loading() {
  const times = [];
  for (let i = 0; i < 7; i++) {
    const opened = await open(browser, server.url);
    const [ready, shift] = await opened.page.evaluate(() => new Promise((resolve) => {
      let sum = 0;
      new PerformanceObserver((list) => list.getEntries().forEach((entry) => (sum += entry.value))).observe({ type: "layout-shift", buffered: true });
      setTimeout(() => resolve([performance.getEntriesByName("ready")[0].startTime, sum]), 600);
    }));
    assert.ok(shift < 0.1, `the layout jumps: ${shift}`);
    times.push(ready);
    await opened.close();
  }
  times.sort((a, b) => a - b);
  console.log(`ready after ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
  // Other programs make single loads slower.
  assert.ok(times[1] < 1000, `loading takes ${times[1]} ms`);
  return times.length;
}

/** Every story on both sizes and in both schemes: served and then offline, or from the folder. */
async function everyStory() {
  let told = 0;
  for (const [size, scheme, url] of [["desktop", "light", server.url], ["phone", "dark", fromFolder], ["desktop", "dark", fromFolder], ["phone", "light", server.url]]) {
    const served = url === server.url;
    for (const [name, story] of Object.entries(stories)) {
      const opened = await open(browser, url, { size, scheme, motion: scheme === "dark" ? "reduce" : "no-preference" });
      // The plan is opened again from its address, which a server has to answer.
      if (served && name !== "plan") await opened.context.setOffline(true);
      await story(opened.page, { size, scheme, served, files });
      await opened.close();
      told += 1;
    }
  }
  return told;
}

/** Widths between the two. */
async function widths() {
  const opened = await open(browser, fromFolder);
  let seen = 0;
  for (const width of [360, 480, 700, 1000, 1600]) {
    await opened.page.setViewportSize({ width, height: 800 });
    for (const view of ["plan", "look", "learn"]) {
      await opened.page.evaluate((view) => (location.hash = `#${view}`), view);
      await opened.page.waitForTimeout(120);
      await fits(opened.page, `${view} at ${width}`);
      seen += 1;
    }
  }
  await accessible(opened.page, "learn at 1600");
  await opened.close();
  return seen;
}

/** A damaged file of each kind gives a message, and the page goes on. */
async function damage() {
  const opened = await open(browser, server.url);
  await opened.page.evaluate(() => (location.hash = "#look"));
  let cases = 0;
  const kinds = [...made.map((one) => one.path), ...vectors().filter((_, i) => i % 6 === 0), files.parquet, table];
  for (const path of kinds) {
    for (const file of damaged(path)) {
      const said = await look(opened.page, file);
      assert.ok(said.length > file.name.length + 10, `${path}: ${said}`);
      cases += 1;
    }
  }
  for (const [name, buffer] of [["empty.bloom", Buffer.alloc(0)], ["notes.txt", Buffer.from("hello")], ["x.sst", Buffer.alloc(7)], ["nb-1-big-Filter.db", Buffer.alloc(0)]]) {
    assert.match(await look(opened.page, { name, buffer, mimeType: "text/plain" }), /\w{4}/);
    cases += 1;
  }
  // It still answers.
  assert.match(await look(opened.page, files.cassandra), /cassandra/);
  await opened.close();
  return cases;
}

/** A file of 300 MB: read in pieces, within twice its size. */
async function large() {
  const path = join(WORK, "large.bloom");
  writeFileSync(join(WORK, "few.txt"), "alice\nbob\n");
  execFileSync(FULLBLOOM, ["build", join(WORK, "few.txt"), "--expected-keys", "250000000", "--bits-per-key", "9.6", "--quiet", "-o", path]);
  const size = statSync(path).size;
  assert.ok(size > 290e6 && size < 330e6, `${size} bytes`);
  const opened = await open(browser, server.url);
  await opened.page.evaluate(() => (location.hash = "#look"));
  const before = memoryOf();
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, memoryOf())), 50);
  const start = performance.now();
  const reading = look(opened.page, path);
  // The page answers meanwhile.
  await opened.page.waitForFunction(() => !document.querySelector("#reading").hidden);
  await opened.page.evaluate(() => document.title);
  assert.match(await reading, /native/);
  const seconds = (performance.now() - start) / 1000;
  await opened.page.fill("#lookup-keys", "alice\nnobody");
  await opened.page.waitForFunction(() => [...document.querySelectorAll(".answer")].map((one) => one.innerText).join() === "maybe,surely not");
  clearInterval(timer);
  const used = most - before;
  console.log(`${(size / 1e6).toFixed(0)} MB read and inspected in ${seconds.toFixed(1)} s, ${(used / size).toFixed(2)} times its size in memory`);
  assert.ok(used < 2 * size, `${used} bytes of memory`);
  await opened.close();
  rmSync(path);
  return 1;
}

try {
  done("loads that are ready within a second, without jumps of the layout", await loading());
  done("stories: plan, look and learn on a desktop and a phone, light and dark", await everyStory());
  done("widths from 360 to 1600 pixels", await widths());
  const opened = await open(browser, server.url, { size: "desktop" });
  done("cells of plans equal to plan --json", await plans(opened.page));
  done("reports equal to inspect --json", await inspections(opened.page, made));
  await opened.close();
  done("damaged files answered with a message", await damage());
  done("a file of 300 MB within twice its size", await large());
} finally {
  await browser.close();
  server.stop();
}
