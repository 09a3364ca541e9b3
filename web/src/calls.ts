// What the page asks a worker, and what comes back. Everything that computes runs there.

import type { About, Answer, Drawn, InspectReport, Picture, PlanReport, Point, Reads } from "./records";

export interface PictureWish {
  dialect: string;
  bits: number;
  probes: number;
  keys: string[];
  /** Keys whose bits are cleared afterwards. */
  erased?: string[];
  lookups: string[];
}

/** What the user says about a file that does not say it itself. */
export interface ReadAs {
  dialect: string;
  /** Of raw bits; 0 elsewhere. */
  bits: number;
  probes: number;
}

export interface Opened {
  report: InspectReport;
  /** What to do about each problem, in order. */
  next: (string | null)[];
  /** For each filter. */
  drawn: Drawn[];
}

export type LookupResult = { answer: Answer } | { refused: string };

export interface Calls {
  about(): About;
  plan(keys: number, wish: string, value: number): PlanReport;
  curve(dialect: string, keys: number, most: number): Point[];
  textbook(most: number): Point[];
  picture(wish: PictureWish): Picture;
  reads(tables: number, keys: number, bits: number, lookups: number, shown: number): Reads;
  sample(dialect: string): Uint8Array;
  open(file: File, as: ReadAs): Opened;
  lookup(filter: number, keys: string[], spec: string): LookupResult[];
}

export type Call = { [K in keyof Calls]: { id: number; call: K; args: Parameters<Calls[K]> } }[keyof Calls];

/** The first message is the module; the others are calls. */
export type ToWorker = { module: WebAssembly.Module } | Call;

export type FromWorker =
  | { id: number; value: unknown }
  /** A message for people, or a problem as JSON; `fatal` if the module has to be started again. */
  | { id: number; error: string; fatal: boolean }
  | { read: number; of: number };
