// Workers with the module in them, and calls to them.

import type { Call, Calls, FromWorker, ToWorker } from "./calls";
import type { Problem } from "./records";

declare const WORKER_SOURCE: string;
declare const MODULE_GZIP_BASE64: string;

/** What went wrong, in words, and what to do about it. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly hint: string | null = null,
    readonly code: string | null = null,
  ) {
    super(message);
  }
}

/** The worker was stopped before it answered. */
export class Stopped extends Error {}

let compiled: Promise<WebAssembly.Module> | null = null;

/** Unpacks and compiles the module, once. */
function module(): Promise<WebAssembly.Module> {
  compiled ??= (async () => {
    const text = atob(MODULE_GZIP_BASE64);
    const packed = Uint8Array.from(text, (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  })();
  return compiled;
}

let source = "";

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** A worker that is started when it is first needed, and again after a failure. */
export class Engine {
  private worker: Promise<Worker> | null = null;
  private waiting = new Map<number, Waiting>();
  private next = 1;
  /** Called with the bytes read so far while a large file is read. */
  onRead: ((read: number, of: number) => void) | null = null;

  private start(): Promise<Worker> {
    // A worker from a file of its own could not be started by a page from a folder.
    source ||= URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" }));
    this.worker ??= module().then((module) => {
      const worker = new Worker(source);
      worker.addEventListener("message", (event: MessageEvent<FromWorker>) => this.hear(event.data));
      worker.addEventListener("error", (event) => {
        event.preventDefault();
        this.stop(new Refusal(`The worker failed: ${event.message}`));
      });
      worker.postMessage({ module } satisfies ToWorker);
      return worker;
    });
    return this.worker;
  }

  private hear(message: FromWorker): void {
    if ("read" in message) return this.onRead?.(message.read, message.of);
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if ("value" in message) return waiting?.resolve(message.value);
    waiting?.reject(message.fatal ? broken(message.error) : refusal(message.error));
    if (message.fatal) this.stop(new Stopped());
  }

  /** Ends the worker; calls that wait for it fail. The next call starts another. */
  stop(why: Error = new Stopped()): void {
    void this.worker?.then((worker) => worker.terminate());
    this.worker = null;
    for (const waiting of this.waiting.values()) waiting.reject(why);
    this.waiting.clear();
  }

  async call<K extends keyof Calls>(call: K, ...args: Parameters<Calls[K]>): Promise<ReturnType<Calls[K]>> {
    const worker = await this.start();
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      worker.postMessage({ id, call, args } as unknown as Call);
    });
  }
}

function refusal(text: string): Refusal {
  try {
    const problem = JSON.parse(text) as Problem;
    return new Refusal(problem.message, problem.hint, problem.code);
  } catch {
    return new Refusal(text);
  }
}

function broken(error: string): Refusal {
  return /memory|allocation|out of bounds/i.test(error)
    ? new Refusal("There is not enough memory in this page for the file.", "use the command: fullbloom inspect FILE")
    : new Refusal("The file is damaged in a way that stopped the reader.", "use the command: fullbloom inspect FILE");
}

/** Plans and pictures. */
export const planner = new Engine();

/** Curves of the chart: some systems' rates are measured, which takes seconds for a curve. */
export const tracer = new Engine();
