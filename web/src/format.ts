// Numbers as people write them, in both directions.

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** `digits` significant digits, without an exponent and without zeros at the end. */
export function digits(value: number, digits: number): string {
  return new Intl.NumberFormat("en", { maximumSignificantDigits: digits, useGrouping: true }).format(value);
}

/** A whole number with separators. */
export function count(value: number): string {
  return NUMBER.format(Math.round(value));
}

const WORDS: [number, string][] = [
  [1e12, "trillion"],
  [1e9, "billion"],
  [1e6, "million"],
];

/** A number in words from a million on: `2.5 million`. */
export function spoken(value: number): string {
  for (const [unit, word] of WORDS) {
    if (value >= unit * 0.9995) return `${digits(value / unit, 3)} ${word}`;
  }
  return count(value);
}

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** A number of bytes. */
export function bytes(value: number): string {
  let unit = 0;
  while (value >= 1023.5 && unit + 1 < UNITS.length) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${count(value)} ${value === 1 ? "byte" : "bytes"}` : `${digits(value, 3)} ${UNITS[unit]}`;
}

/** A rate: a percentage, or one in so many if that is easier to read. */
export function rate(value: number): string {
  if (value === 0) return "0 %";
  if (value >= 0.0000995) return `${digits(value * 100, 3)} %`;
  return `1 in ${spoken(Number((1 / value).toPrecision(3)))}`;
}

/** A share as a percentage. */
export function percent(value: number): string {
  return `${digits(value * 100, 3)} %`;
}

const PREFIXES: Record<string, number> = { k: 1e3, m: 1e6, g: 1e9, b: 1e9, t: 1e12 };

/** `1000000`, `1,000,000`, `1e6`, `1M`, `1 million`; null if it is none of these. */
export function parseCount(text: string): number | null {
  const found = /^([\d.,\s']*\d(?:\.\d+)?(?:e\+?\d+)?)\s*(k|m|g|b|t|thousand|million|billion|trillion)?$/i.exec(text.trim());
  if (!found?.[1]) return null;
  const value = Number(found[1].replace(/[,\s']/g, "")) * (found[2] ? (PREFIXES[found[2].charAt(0).toLowerCase()] ?? 1) : 1);
  return Number.isFinite(value) && value >= 0 && value <= 1e15 ? Math.round(value) : null;
}

/** `0.01`, `1e-2`, `1 %`, `1 in 100`, `1/100`; null if it is none of these. */
export function parseRate(text: string): number | null {
  const ratio = /^1\s*(?:in|\/|:)\s*(.+)$/i.exec(text.trim());
  if (ratio?.[1]) {
    const count = parseCount(ratio[1]);
    return count && count > 1 ? 1 / count : null;
  }
  const found = /^([\d.]+(?:e-?\d+)?)\s*(%)?$/i.exec(text.trim());
  if (!found?.[1]) return null;
  const value = Number(found[1]) / (found[2] ? 100 : 1);
  return value > 0 && value < 1 ? value : null;
}

/** `64 MiB`, `500MB`, `1200000`; null if it is none of these. */
export function parseBytes(text: string): number | null {
  const found = /^([\d.,\s]*\d(?:\.\d+)?(?:e\+?\d+)?)\s*(?:([kmgtp])(i)?)?(?:b|bytes?)?$/i.exec(text.trim());
  if (!found?.[1]) return null;
  const power = found[2] ? "kmgtp".indexOf(found[2].toLowerCase()) + 1 : 0;
  const value = Number(found[1].replace(/[,\s]/g, "")) * (found[3] ? 1024 : 1000) ** power;
  return Number.isFinite(value) && value >= 1 && value <= 1e15 ? Math.round(value) : null;
}

/** A number of bits per key. */
export function parseBits(text: string): number | null {
  const value = Number(text.trim());
  return text.trim() !== "" && value > 0 && value <= 100 ? value : null;
}
