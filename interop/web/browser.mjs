// A browser, pages that must stay quiet, and a place for checks.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const { CHROMIUM, PAGE, ROOT, WORK } = process.env;

export const SIZES = { desktop: { width: 1280, height: 900 }, phone: { width: 360, height: 740 } };
export const shots = join(WORK, "shots");

/** Starts the browser. */
export function launch() {
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
}

/** Serves the page with the repository's own server; returns its address. */
export async function serve() {
  const server = spawn(process.execPath, [join(ROOT, "web/serve.mjs"), PAGE, "0"], { stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise((resolve) => server.stdout.once("data", (text) => resolve(String(text).trim())));
  return { url: line, stop: () => server.kill() };
}

/** The page as it is opened from a folder. */
export const fromFolder = `file://${join(PAGE, "index.html")}`;

/** Opens a page that fails on console messages, errors and requests to anything but itself. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({
    viewport: SIZES[options.size ?? "desktop"], colorScheme: options.scheme ?? "light",
    reducedMotion: options.motion ?? "no-preference",
  });
  if (url.startsWith("http")) await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  const own = url.split("#")[0];
  const noise = [];
  page.on("console", (message) => noise.push(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => noise.push(`error: ${error}`));
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== own && !/^(blob|data):/.test(request.url())) noise.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  await page.waitForSelector("html[data-ready]");
  return {
    page, context,
    async close() {
      assert.deepEqual(noise, [], "the page is quiet");
      await context.close();
    },
    noise,
  };
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails on serious findings of axe-core. */
export async function accessible(page, where) {
  const found = await page.evaluate(`${axe}; axe.run().then((result) => result.violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .map((one) => one.id + ": " + one.nodes.map((node) => node.html.slice(0, 120)).join(" | ")))`);
  assert.deepEqual(found, [], `axe-core, ${where}`);
}

/** Fails if the page is wider than its window. */
export async function fits(page, where) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(content <= window, `${where}: ${content} pixels in a window of ${window}`);
}

/** The memory of all processes of the browser, in bytes. */
export function memoryOf(names = /chrom/) {
  let sum = 0;
  for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (!names.test(readFileSync(`/proc/${id}/comm`, "utf8"))) continue;
      const pss = /^Pss_Anon:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, "utf8"));
      sum += 1024 * Number(pss?.[1] ?? 0);
    } catch {
      // The process has ended.
    }
  }
  return sum;
}
