// The worker: the module, and files read piece by piece.

import { Looked, Picture, about, curve, initSync, look, plan, reads, sample, textbook } from "#wasm";
import type { Call, Calls, FromWorker, ToWorker } from "./calls";
import type { Drawn, InspectReport, Touched } from "./records";

const post = (message: FromWorker) => (self as unknown as { postMessage(m: FromWorker): void }).postMessage(message);

let file: File | null = null;
let looked: Looked | null = null;
let read = 0;
let told = 0;

// The module reads through this function, into its own memory: no copy of the file is made.
declare const FileReaderSync: { new (): { readAsArrayBuffer(blob: Blob): ArrayBuffer } };
(globalThis as Record<string, unknown>)["fullbloomRead"] = (_file: number, at: number, out: Uint8Array): boolean => {
  if (!file) return false;
  try {
    const piece = new Uint8Array(new FileReaderSync().readAsArrayBuffer(file.slice(at, at + out.length)));
    if (piece.length !== out.length) return false;
    out.set(piece);
  } catch {
    return false;
  }
  read += out.length;
  if (read - told > 16 << 20) {
    told = read;
    post({ read, of: file.size });
  }
  return true;
};

const calls: Calls = {
  about: () => JSON.parse(about()),
  plan: (keys, wish, value) => JSON.parse(plan(keys, wish, value)),
  curve: (dialect, keys, most) => JSON.parse(curve(dialect, keys, most)),
  textbook: (most) => JSON.parse(textbook(most)),
  sample: (dialect) => sample(dialect),
  reads: (tables, keys, bits, lookups, shown) => JSON.parse(reads(tables, keys, bits, lookups, shown)),

  picture(wish) {
    const picture = new Picture(wish.dialect, wish.bits, wish.probes, wish.keys.join("\n"));
    for (const key of wish.erased ?? []) picture.erase(key);
    const lookups = wish.lookups.map((key): Touched => JSON.parse(picture.lookup(key)));
    const drawn = { bits: picture.bits(), fpr: picture.expected_fpr(), lookups };
    picture.free();
    return drawn;
  },

  open(opened, as) {
    looked?.free();
    looked = null;
    [file, read, told] = [opened, 0, 0];
    looked = look(opened.name, 0, opened.size, Date.now(), as.dialect, as.bits, as.probes);
    const report: InspectReport = JSON.parse(looked.report());
    const drawn = report.places.map((_, i): Drawn => JSON.parse(looked!.drawn(i)));
    return { report, next: JSON.parse(looked.next_steps()), drawn };
  },

  lookup(filter, keys, spec) {
    return keys.map((key) => {
      try {
        if (!looked) throw "there is no open file";
        return { answer: JSON.parse(looked.lookup(filter, key, spec)) };
      } catch (refused) {
        if (typeof refused === "string") return { refused };
        throw refused;
      }
    });
  },
};

function answer(call: Call): unknown {
  return (calls[call.call] as (...args: unknown[]) => unknown)(...call.args);
}

self.addEventListener("message", (event: MessageEvent<ToWorker>) => {
  const message = event.data;
  if ("module" in message) {
    initSync({ module: message.module });
    return;
  }
  try {
    post({ id: message.id, value: answer(message) });
  } catch (error) {
    // The module throws text. Anything else is a panic, or memory that the browser did not give.
    const fatal = typeof error !== "string";
    post({ id: message.id, error: fatal ? String(error) : error, fatal });
  }
});
