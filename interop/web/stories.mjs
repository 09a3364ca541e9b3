// What people do with the page, clicked through. Each story runs on a desktop and on a phone.

import assert from "node:assert/strict";
import { join } from "node:path";
import { accessible, fits, shots } from "./browser.mjs";
import { KEYS } from "./files.mjs";

const text = (page, selector) => page.evaluate((selector) => document.querySelector(selector)?.innerText ?? "", selector);
const until = (page, test, ...args) => page.waitForFunction(test, ...args);

async function finish(page, name, { size, scheme }) {
  await page.evaluate(() => scrollTo(0, 0));
  await fits(page, `${name}, ${size}`);
  await accessible(page, `${name}, ${size}, ${scheme}`);
  await page.screenshot({ path: join(shots, `${name}-${size}-${scheme}.png`), fullPage: true });
}

/** A curve for each system that is marked, and the textbook's. The chosen system is one of them. */
const allDrawn = () => document.querySelectorAll("#chart path.curve").length === 1 + document.querySelectorAll("#systems input:checked").length;

/** Sliders and fields follow each other; the chart, the table, the snippets and the address follow them. */
async function plan(page, look) {
  await page.evaluate(() => (location.hash = "#plan"));
  await until(page, () => document.querySelectorAll("#systems tbody tr").length > 20);
  await until(page, () => document.querySelectorAll("#chart path.curve").length >= 5);
  assert.match(await text(page, "#summary"), /1 million keys at .* take .* in native/);

  await page.fill("#keys", "20M");
  await until(page, () => document.querySelector("#summary").innerText.startsWith("20 million"));
  assert.match(await page.evaluate(() => location.hash), /keys=20000000&fpr=0.01/);
  const memory = await page.inputValue("#memory");
  assert.match(memory, /MiB/, "memory follows");
  await page.fill("#rate", "1 in 1000");
  await until(page, (memory) => document.querySelector("#memory").value !== memory, memory);
  await page.fill("#memory", "32 MiB");
  await until(page, () => location.hash.includes("memory=33554432"));
  await until(page, () => document.querySelector("#rate").value !== "0.1 %");
  await page.fill("#bits", "nonsense");
  assert.equal(await page.getAttribute("#bits", "aria-invalid"), "true");
  await page.fill("#bits", "10");
  await until(page, () => location.hash.includes("bits_per_key=10"));

  // By keyboard alone.
  await page.focus("#keys-slider");
  const before = await page.inputValue("#keys");
  await page.keyboard.press("ArrowLeft");
  await until(page, (before) => document.querySelector("#keys").value !== before, before);

  // Another system: summary, snippets and chart are about it.
  await page.selectOption("#focus", "cassandra");
  await page.fill("#rate", "1%");
  await until(page, () => document.querySelector("#snippets").innerText.includes("bloom_filter_fp_chance = 0.01"));
  await page.click("#snippets .snippet:first-child button");
  await until(page, () => document.querySelector("#snippets .snippet:first-child button").innerText === "Copied");
  if (look.served) assert.match(await page.evaluate(() => navigator.clipboard.readText()), /bloom_filter_fp_chance = 0.01/);
  for (const [system, expected] of [["leveldb", "NewBloomFilterPolicy("], ["parquet", "parquet.bloom.filter.fpp#id"], ["spark-2", "df.stat.bloomFilter"], ["rocksdb", "filter_policy=bloomfilter:"], ["native-compact", "build keys.txt --compact"]]) {
    await page.selectOption("#focus", system);
    await until(page, (expected) => document.querySelector("#snippets").innerText.includes(expected), expected);
  }
  await page.click("[data-dialect=native] button");
  await until(page, () => document.querySelector("#summary").innerText.endsWith("native"));
  await until(page, allDrawn);
  const curves = await page.locator("#chart path.curve").count();
  await page.check("[data-dialect=guava] input");
  await until(page, (curves) => document.querySelectorAll("#chart path.curve").length === curves + 1, curves);
  assert.ok(await page.evaluate(allDrawn));

  // The address holds the plan.
  const url = await page.evaluate(() => location.href);
  const summary = await text(page, "#summary");
  await page.goto("about:blank");
  await page.goto(url);
  await until(page, (summary) => document.querySelector("#summary")?.innerText === summary, summary);
  await until(page, (curves) => document.querySelectorAll("#chart path.curve").length === curves + 1, curves);
  await finish(page, "plan", look);
}

/** A file is dropped, read, asked about keys, and compared with a second one. */
async function lookAt(page, look) {
  await page.evaluate(() => (location.hash = "#look"));
  await page.waitForSelector("#drop");
  await page.setInputFiles("#file", []);
  await page.click("#samples button:nth-of-type(1)");
  await until(page, () => document.querySelectorAll("#answers tbody tr").length === 3);
  assert.match(await text(page, "#look-cards"), /native[\s\S]*expected rate[\s\S]*No problem found/);
  await until(page, () => document.querySelectorAll(".answer").length === 3);
  const said = await page.evaluate(() => [...document.querySelectorAll(".answer")].map((one) => one.innerText));
  assert.deepEqual([said[0], said[2]], ["maybe", "surely not"]);

  // A key that is typed is answered at once, and its probes are drawn.
  await page.fill("#lookup-keys", "user:12");
  await until(page, () => document.querySelector(".answer")?.innerText === "maybe");
  await until(page, () => document.querySelectorAll(".strip circle.probe.set").length >= 4);
  assert.equal(await page.locator(".strip circle.probe.clear").count(), 0);
  await page.fill("#lookup-keys", "user:12\nuser:12000\nuser:77001");
  await until(page, () => document.querySelectorAll("#answers tbody tr").length === 3);
  await page.click("#answers tbody tr:nth-child(3) button");
  await until(page, () => document.querySelectorAll(".strip circle.probe.clear").length > 0);
  await page.selectOption("#lookup-spec", "hex");
  await until(page, () => document.querySelector(".answer.refused"));
  await page.fill("#lookup-keys", "757365723a3132");
  await until(page, () => document.querySelector(".answer")?.innerText === "maybe");
  await page.selectOption("#lookup-spec", "");
  await page.fill("#lookup-keys", "user:12\nuser:12000\nuser:77001");

  // A second file beside the first, by dropping it.
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(300)], "nb-9-big-Filter.db"));
    document.querySelector("#second").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  await until(page, () => document.querySelectorAll("#look-cards .card").length === 2);
  await page.click("#remove-second");
  await until(page, () => document.querySelectorAll("#look-cards .card").length === 1);
  await page.setInputFiles("#second-file", look.files.cassandra);
  await until(page, () => document.querySelectorAll(".facts tr.differs").length > 3);
  await until(page, () => document.querySelectorAll("#answers tbody td").length === 6);
  await page.click("#remove-second");

  // One with a hole says so in the strip.
  await page.click("#samples button:nth-of-type(4)");
  await until(page, () => document.querySelectorAll(".bar.hole").length > 5);

  // A compact filter has no probes to draw, and answers all the same.
  await page.click("#samples button:nth-of-type(2)");
  await until(page, () => document.querySelector(".facts [data-field=kind] td")?.innerText === "compact");
  await page.fill("#lookup-keys", "user:12\nuser:77001");
  await until(page, () => [...document.querySelectorAll(".answer")].map((one) => one.innerText).join() === "maybe,surely not");
  assert.equal(await page.locator(".strip circle.probe").count(), 0);

  // A column of a Parquet file; numbers are written as numbers.
  await page.setInputFiles("#file", look.files.parquet);
  await until(page, () => document.querySelector("#look-cards select"));
  await page.fill("#lookup-keys", "7\n1000007");
  await page.selectOption("#look-cards select", { index: 0 });
  await until(page, () => [...document.querySelectorAll(".answer")].map((one) => one.innerText).join() === "maybe,surely not");

  // A table, whose keys all are there.
  await page.setInputFiles("#file", look.files.table);
  await page.fill("#lookup-keys", look.files.tableKeys.join("\n"));
  await until(page, (count) => document.querySelectorAll(".answer.maybe").length === count, look.files.tableKeys.length);
  await finish(page, "look-table", look);
  await page.setInputFiles("#file", look.files.cassandra);
  await page.fill("#lookup-keys", [...KEYS.slice(0, 3), "nobody", "somebody"].join("\n"));
  await until(page, () => document.querySelectorAll("#answers tbody tr").length === 5 && document.querySelector(".strip circle"));
  await finish(page, "look", look);
}

/** Each of the six pictures answers. */
async function learn(page, look) {
  await page.evaluate(() => (location.hash = "#learn"));
  await until(page, () => document.querySelectorAll(".lesson .say").length === 6 && [...document.querySelectorAll(".lesson .say")].every((one) => one.innerText));
  const say = (number) => text(page, `#lesson-${number} .say`);
  assert.equal(await page.locator("#lesson-1 .bit.on").count(), 0);
  await page.click("#lesson-1 button:text('Insert')");
  await until(page, () => document.querySelectorAll("#lesson-1 .bit.on").length === 3);
  await page.click("#lesson-1 button:text('Next key')");
  await page.click("#lesson-1 button:text('Insert')");
  await until(page, () => document.querySelector("#lesson-1 .say").innerText.includes("2 keys"));

  assert.match(await say(2), /3 of 3 bits are set: maybe/);
  await page.click("#lesson-2 button:text('mallory')");
  await until(page, () => document.querySelector("#lesson-2 .say").innerText.includes("surely not"));

  await page.locator("#lesson-3 input").fill("40");
  await until(page, () => document.querySelector("#lesson-3 .say").innerText.includes("was never inserted"));

  for (let deleted = 1; !(await say(4)).includes("also lost"); deleted++) {
    await page.click("#lesson-4 .chips button >> nth=0");
    await until(page, (deleted) => document.querySelectorAll("#lesson-4 li.deleted").length === deleted, deleted);
  }
  assert.ok((await page.locator("#lesson-4 li.missing").count()) > 0);

  await page.fill("#lesson-5 input", "somebody");
  await until(page, () => /Blocked: 1\./.test(document.querySelector("#lesson-5 .say").innerText));
  await until(page, () => document.querySelectorAll("#lesson-5 .cache-line.read").length > 3);

  const saved = await say(6);
  await page.locator("#lesson-6 input").fill("14");
  await until(page, (saved) => document.querySelector("#lesson-6 .say").innerText !== saved, saved);
  assert.match(await say(6), /99\.\d % of the reads are saved/);
  await finish(page, "learn", look);
}

export const stories = { plan, look: lookAt, learn };
