// Reads the native filters of fullbloom: fast, compact and dynamic ones. One file, in Node and in browsers.
//
//   import { Filter } from "./fullbloom-native.mjs";
//   const known = new Filter(new Uint8Array(await (await fetch("names.bloom")).arrayBuffer()));
//   known.mayContain("alice");          // false is certain, true is probable
//
// Written from docs/formats/native.md alone. Words of 64 bits are BigInts; what fits into 53 bits is a number.

const P = 0x9e3779b97f4a7c15n, Q = 0xbf58476d1ce4e5b9n, R = 0x94d049bb133111ebn;
const MAGIC = [0x89, 0x46, 0x42, 0x4c, 0x4f, 0x4f, 0x4d, 0x0a];
const FILTER = 1, BITS = 2, LABEL = 3, CHECKSUMS = 4, SECRET = 5, EXCEPTIONS = 11, EXCEPTION_DATA = 12, COMPACT = 13, DYNAMIC = 14, KEY_FIELD = 15;
const KNOWN = [FILTER, BITS, LABEL, CHECKSUMS, SECRET, EXCEPTIONS, EXCEPTION_DATA, COMPACT, DYNAMIC, KEY_FIELD];
const u64 = (x) => BigInt.asUintN(64, x);

/** The bytes are no filter that this reader knows; the message says what is wrong. */
export class FormatError extends Error {}
/** The filter is keyed, and its secret is neither in the file nor given, or is another one. */
export class LockedError extends Error {}

function require(holds, what) {
  if (!holds) throw new FormatError(what);
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let i = 0; i < 8; i++) crc = (crc >>> 1) ^ (0x82f63b78 & -(crc & 1));
  return crc;
});

function crc32c(bytes) {
  let crc = -1;
  for (let i = 0; i < bytes.length; i++) crc = (crc >>> 8) ^ TABLE[(crc ^ bytes[i]) & 255];
  return ~crc >>> 0;
}

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const dividedUp = (a, b) => (a + b - 1n) / b;

function fold(x, y) {
  const product = x * y;
  return (product >> 64n) ^ u64(product);
}

/** The hash function with this seed. */
function fold64(seed) {
  const [A, B, C, D] = [1n, 2n, 3n, 4n].map((i) => {
    let z = u64(seed + i * P);
    z = u64((z ^ (z >> 30n)) * Q);
    z = u64((z ^ (z >> 27n)) * R);
    return z ^ (z >> 31n);
  });
  return (key) => {
    const n = key.length, view = viewOf(key), le = (at) => view.getBigUint64(at, true), le32 = (at) => BigInt(view.getUint32(at, true));
    let w = B ^ u64(BigInt(n) * P), f;
    if (n === 0) f = fold(A, w);
    else if (n <= 3) f = fold(BigInt(key[0] + key[n >> 1] * 256 + key[n - 1] * 65536) ^ A, w);
    else if (n <= 8) f = fold((le32(0) + (le32(n - 4) << 32n)) ^ A, w);
    else if (n <= 16) f = fold(le(0) ^ A, le(n - 8) ^ w);
    else {
      let at = 0;
      if (n > 32) {
        let u = w, v = D;
        for (let i = 0; i + 32 < n; i += 32) {
          u = fold(le(i) ^ A, le(i + 8) ^ u);
          v = fold(le(i + 16) ^ C, le(i + 24) ^ v);
        }
        at = n - 32;
        w = u ^ v;
      }
      const t = fold(le(at) ^ A, le(at + 8) ^ w);
      f = fold(le(n - 16) ^ C, le(n - 8) ^ D ^ t);
    }
    return u64((f ^ (f >> 32n)) * P);
  };
}

/** The keyed hash function with this secret. */
function siphash13(secret) {
  const k0 = viewOf(secret).getBigUint64(0, true), k1 = viewOf(secret).getBigUint64(8, true);
  const rotate = (x, by) => u64((x << by) | (x >> (64n - by)));
  return (key) => {
    let v0 = k0 ^ 0x736f6d6570736575n, v1 = k1 ^ 0x646f72616e646f6dn, v2 = k0 ^ 0x6c7967656e657261n, v3 = k1 ^ 0x7465646279746573n;
    const round = () => {
      v0 = u64(v0 + v1); v1 = rotate(v1, 13n) ^ v0; v0 = rotate(v0, 32n);
      v2 = u64(v2 + v3); v3 = rotate(v3, 16n) ^ v2;
      v0 = u64(v0 + v3); v3 = rotate(v3, 21n) ^ v0;
      v2 = u64(v2 + v1); v1 = rotate(v1, 17n) ^ v2; v2 = rotate(v2, 32n);
    };
    const padded = new Uint8Array((key.length >> 3) * 8 + 8), view = viewOf(padded);
    padded.set(key);
    padded[padded.length - 1] = key.length & 255;
    for (let at = 0; at < padded.length; at += 8) {
      const word = view.getBigUint64(at, true);
      v3 ^= word;
      round();
      v0 ^= word;
    }
    v2 ^= 255n;
    round(); round(); round();
    return v0 ^ v1 ^ v2 ^ v3;
  };
}

/** Whether all bits of a hash are set in the array that begins at an offset. */
function linesTest(bytes, at, blocks, group, lines, probes, h) {
  const x1 = u64(h * P), x2 = u64((x1 ^ (x1 >> 32n)) * Q), first = Number((x1 * blocks) >> 64n) * group, part = group / lines;
  let a = h, b = x1, x = x2;
  for (let i = 0; i < lines; i++) {
    const line = at + 64 * (first + i * part + Number((x2 >> BigInt(58 - 6 * i)) & BigInt(part - 1)));
    if (i) {
      a = x;
      x = b = u64((x ^ (x >> 32n)) * P);
    }
    const fields = u64((a << 32n) | (a >> 32n)) ^ b, halves = [Number(fields & 0xffffffffn), Number(fields >> 32n)];
    const start = Number((b >> 5n) & 7n);
    for (let k = start; k < start + probes; k++) {
      const lane = k & 7, byte = (halves[lane >> 2] >>> (8 * (lane & 3))) & 255, bit = 31 - (byte & 31);
      if (!((bytes[line + 4 * (lane + (byte & 128 ? 8 : 0)) + (bit >> 3)] >> (bit & 7)) & 1)) return false;
    }
  }
  return true;
}

/** Whether a number is in an ascending list of words, of which the lowest bits are left out. */
function inList(view, at, count, number, dropped = 0n) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >>> 1, found = view.getBigUint64(at + 8 * middle, true) >> dropped;
    if (found === number) return true;
    if (found < number) low = middle + 1;
    else high = middle;
  }
  return false;
}

/** A fast filter: all bits of a key are in one to four lines. */
class Lines {
  constructor(file) {
    const { head } = file, [at, length] = file.section(BITS), [, , lines, group, probes] = head, blocks = file.u64(file.headAt + 8);
    require([1, 2, 4].includes(lines), `lines per key: ${lines}`);
    require(lines === 1 ? group === 1 : group >= lines && group <= 64 && (group & (group - 1)) === 0, `lines in a block: ${group}`);
    require(probes >= 1 && probes <= 8, `probes: ${probes}`);
    require(blocks >= 1n && BigInt(length) === blocks * BigInt(group * 64), "the array has another length than its blocks");
    this.test = (h) => linesTest(file.bytes, at, blocks, group, lines, probes, h);
  }
}

/** For each width of a column: part, first slot and slots for the bytes of t in order. */
const CHOSEN = {
  1: [[0, 0, 16], [0, 16, 16], [0, 32, 16], [0, 48, 16], [0, 0, 64], [0, 0, 64]],
  2: Array.from({ length: 6 }, (_, i) => [Math.floor(i / 3), 0, 64]),
  4: Array.from({ length: 8 }, (_, i) => [i >> 1, 0, 64]),
  8: Array.from({ length: 8 }, (_, i) => [i, 0, 64]),
};

/** A compact filter: layers of lines, each a system of linear equations, and a list. */
class Compact {
  constructor(file) {
    const [start, length] = file.section(BITS), [, , width, further, zero] = file.head;
    Object.assign(this, { bytes: file.bytes, view: file.view, width, further, layers: [] });
    require(width in CHOSEN && zero === 0, `columns of ${width} parts`);
    require(8 / width + further + 1 <= 65, `${further} further columns`);
    require(BigInt(length) === file.u64(file.headAt + 8) * 64n, "the array has another length than its lines");
    const [section, size] = file.section(COMPACT), end = start + length;
    require(size >= 8 && size <= 8 + 20 * 16 && size % 16 === 8, "the compact section has another length");
    let at = start;
    for (let entry = section + 8; entry < section + size; entry += 16) {
      const lines = file.u64(entry), split = file.u64(entry + 8);
      require(lines >= 1n && lines < 1n << 32n && split <= 256n * lines, "a layer has impossible numbers");
      const short = split >> 8n; // lines with one column less
      require(8 + (further + (short < lines ? 1 : 0)) * width <= 64, `${further} further columns of ${width} parts`);
      this.layers.push({ at, lines, split });
      at += Number(lines * 64n + (lines * BigInt(further + 1) - short) * BigInt(8 * width));
      at = start + Math.ceil((at - start) / 64) * 64;
      require(at <= end, "the layers are longer than the array");
    }
    const listed = file.u64(section);
    require(BigInt(end - at) === dividedUp(listed * 8n, 64n) * 64n, "the layers and the list have another length than the array");
    this.listed = [at, Number(listed)];
  }

  test(h) {
    const t = u64((h ^ (h >> 32n)) * Q), u = u64((t ^ (t >> 29n)) * R);
    let z = h;
    for (const [number, layer] of this.layers.entries()) {
      if (number) z = number === 1 ? u64((t ^ (t >> 32n)) * P) : u64((z ^ (z >> 32n)) * Q);
      const x = (z * layer.lines) >> 32n, line = Number(x >> 32n), priority = Math.min(Number((x >> 24n) & 255n), 254);
      if (priority < this.bytes[layer.at + 64 * line + 63]) return this.agrees(layer, line, x, t, (u & ~255n) | ((x >> 16n) & 255n));
    }
    return inList(this.view, ...this.listed, h);
  }

  /** Whether the sum of the chosen slots is the fingerprint in every column. */
  agrees({ at, lines, split }, line, x, t, fingerprint) {
    const { width, further } = this, sums = new Uint8Array(width);
    const chosen = CHOSEN[width].map(([part, base, size], i) => [part, base + (Number((t >> BigInt(8 * i)) & 255n) % size)]);
    for (const [part, slot] of chosen) sums[part] ^= this.bytes[at + 64 * line + slot];
    for (let first = 0; first < 8; first += width) {
      let sum = 0;
      for (let part = 0; part < width; part++) sum ^= sums[part] >> (first + part);
      if ((sum & 1) !== Number((fingerprint >> BigInt(first)) & 1n)) return false;
    }
    const columns = further + (x >> 24n >= split ? 1 : 0), before = line * (further + 1) - Math.min(line, Number(split >> 8n));
    for (let column = 0; column < columns; column++) {
      const words = at + 64 * Number(lines) + (before + column) * width * 8;
      let sum = 0;
      for (const [part, slot] of chosen) sum ^= this.bytes[words + 8 * part + (slot >> 3)] >> (slot & 7);
      if ((sum & 1) !== Number((fingerprint >> BigInt(8 + column * width)) & 1n)) return false;
    }
    return true;
  }
}

/** A dynamic filter: the fingerprints of its keys, in lines, overflow lines and a list. */
class Dynamic {
  constructor(file) {
    const [at, length] = file.section(BITS), [section, size] = file.section(DYNAMIC), [, , bits, mode, zero] = file.head;
    require(mode <= 3 && zero === 0, `mode ${mode}`);
    const lines = file.u64(file.headAt + 8);
    require(mode < 2 ? size === 16 : size >= 48, "the dynamic section has another length");
    const items = file.u64(section), counts = file.u64(section + 8), generations = mode < 2 ? 1 : file.view.getUint32(section + 24, true);
    require(generations >= 1 && generations <= 200 && (mode < 2 || size === 48 + 8 * (generations + 1)), `${generations} generations`);
    const tag = mode < 2 ? 2 * mode : Math.ceil(Math.log2(generations + 2 + (generations >> 2)));
    require(bits >= 10 && bits + tag <= 62, `fingerprints of ${bits} bits`);
    require(lines >= 16n && lines % 16n === 0n && lines <= 1n << BigInt(bits), `${lines} lines`);
    require(BigInt(length) === (lines + lines / 16n) * 64n + 8n * items + 16n * counts, "the array has another length");
    Object.assign(this, { bytes: file.bytes, view: file.view, at, bits: BigInt(bits), tag, items: Number(items) });
    this.tables = [lines, lines / 16n].map((count) => ({ count, ...this.shape(count) }));
  }

  /** Remainder bits, slots and quotients of each of so many lines. */
  shape(lines) {
    const range = dividedUp(1n << this.bits, lines);
    let best = { slots: 0 };
    for (let r = 1; r <= 56 - this.tag; r++) {
      const quotients = ((range - 1n) >> BigInt(r)) + 1n, width = r + this.tag;
      let slots = quotients > 64n ? 0 : 62;
      while (slots && (slots * width + Number(quotients) > (512 - slots) >> 3 << 3 || (slots - 1) * width > 455)) slots--;
      if (slots > best.slots) best = { r, slots, quotients: Number(quotients), width };
    }
    require(best.slots > 0, `${lines} lines have no slots`);
    return best;
  }

  test(h) {
    const fingerprint = h >> (64n - this.bits);
    let at = this.at;
    for (const table of this.tables) {
      const line = (fingerprint * table.count) >> this.bits, number = fingerprint - dividedUp(line << this.bits, table.count);
      const { found, isFull } = this.lineTest(at + 64 * Number(line), number, table);
      if (found || !isFull) return found;
      at += 64 * Number(table.count);
    }
    return inList(this.view, at, this.items, fingerprint, BigInt(this.tag));
  }

  /** Whether a line has the number, and whether all its slots are used. */
  lineTest(at, number, { r, slots, quotients, width }) {
    const bit = (i) => (this.bytes[at + (i >> 3)] >> (i & 7)) & 1;
    const end = ((512 - slots) >> 3) << 3, quotient = Number(number >> BigInt(r)), remainder = BigInt.asUintN(r, number);
    const starts = (i) => i === 0 || bit(511 - slots + i) === 1; // slot i is the first of its quotient, or the end
    const isFull = starts(slots);
    if (!bit(end - quotients + quotient)) return { found: false, isFull };
    let rank = 0, slot = 0;
    for (let q = 0; q < quotient; q++) rank += bit(end - quotients + q);
    for (; rank > 0; rank--) {
      do require(++slot <= slots, "a line of fingerprints contradicts itself"); while (!starts(slot));
    }
    do {
      require(slot < slots, "a line of fingerprints contradicts itself");
      let value = 0n;
      for (let i = width - 1; i >= this.tag; i--) value = (value << 1n) | BigInt(bit(slot * width + i));
      if (value === remainder) return { found: true, isFull };
    } while (!starts(++slot));
    return { found: false, isFull };
  }
}

/** The front of a file: checked, and cut into sections. */
class File {
  constructor(bytes, check) {
    Object.assign(this, { bytes, view: viewOf(bytes), sections: new Map() });
    const { view } = this, total = bytes.length;
    require(total >= 64 && MAGIC.every((byte, i) => bytes[i] === byte), "not a native filter");
    const version = view.getUint16(12, true), count = view.getUint16(14, true), front = view.getUint32(16, true), chunk = view.getUint32(20, true);
    require(version === 1, `version ${version}`);
    require(count <= 64, `${count} sections`);
    require(front % 64 === 0 && front >= 64 + 32 * count && front <= total, `a front of ${front} bytes`);
    require(crc32c(bytes.subarray(12, front)) === view.getUint32(8, true), "the front is damaged");
    require(chunk >= 64 && (chunk & (chunk - 1)) === 0, `chunks of ${chunk} bytes`);
    require(this.u64(24) === BigInt(total), `${total} of ${this.u64(24)} bytes`);
    require(this.u64(32) === 0n, "a required feature is unknown");
    let end = BigInt(64 + 32 * count);
    for (let at = 64; at < 64 + 32 * count; at += 32) {
      const kind = view.getUint32(at, true), isRequired = view.getUint32(at + 4, true) & 1, offset = this.u64(at + 8), size = this.u64(at + 16);
      require(offset >= end && offset + size <= BigInt(total), `section ${kind} is not in the file`);
      end = offset + size;
      const known = KNOWN.includes(kind), inData = kind === BITS || kind === EXCEPTION_DATA;
      require(known || (!isRequired && !(kind >= 6 && kind <= 10)), `section ${kind} is unknown`);
      require(!known || (inData ? offset >= BigInt(front) && offset % 64n === 0n : end <= BigInt(front)), `section ${kind} is in another place`);
      require(!this.sections.has(kind), `section ${kind} is there twice`);
      this.sections.set(kind, [Number(offset), Number(size)]);
    }
    const [sums, size] = this.section(CHECKSUMS);
    require(size === Math.ceil((total - front) / chunk) * 4, "the checksums have another length");
    for (let i = 0; check && i < size / 4; i++) {
      const at = front + i * chunk;
      require(crc32c(bytes.subarray(at, at + chunk)) === view.getUint32(sums + 4 * i, true), `the data are damaged from byte ${at} on`);
    }
    const [headAt, headSize] = this.section(FILTER);
    require(headSize === 64, "the filter section has another length");
    Object.assign(this, { headAt, head: bytes.subarray(headAt, headAt + 64) });
  }

  u64(at) {
    return this.view.getBigUint64(at, true);
  }

  section(kind) {
    require(this.sections.has(kind), `section ${kind} is missing`);
    return this.sections.get(kind);
  }

  slice(kind) {
    const [at, size] = this.section(kind);
    return this.bytes.subarray(at, at + size);
  }
}

/** A native filter. `secret` has the 16 bytes of a keyed filter that does not store them. */
export class Filter {
  #hash;
  #inner;
  #exceptions = null;

  constructor(bytes, { secret = null, check = true } = {}) {
    const file = new File(bytes, check), { head, sections } = file, [layout, hash, , , , flags, keyType] = head;
    this.hashBits = layout === 4 ? 0 : head[7];
    require([2, 3, 4].includes(layout), `layout ${layout}`);
    require(hash === 1 || hash === 2, `hash ${hash}`);
    require((flags & ~6) === 0, `flags ${flags}`);
    require(keyType <= 4, `key type ${keyType}`);
    require(this.hashBits === 0 || (this.hashBits >= 10 && this.hashBits <= 63), `${this.hashBits} bits of the hash`);
    require(sections.has(COMPACT) === (layout === 3) && sections.has(DYNAMIC) === (layout === 4), "sections of another kind of filter");
    this.kind = { 2: "fast", 3: "compact", 4: "dynamic" }[layout];
    this.label = sections.has(LABEL) ? new TextDecoder().decode(file.slice(LABEL)) : "";
    Object.assign(this, { keyType, lower: (flags & 2) !== 0, trim: (flags & 4) !== 0 });
    const seed = file.u64(file.headAt + 16);
    this.#hash = hash === 1 ? fold64(seed) : unlocked(secret ?? (sections.has(SECRET) ? file.slice(SECRET) : null), seed);
    this.#inner = new { 2: Lines, 3: Compact, 4: Dynamic }[layout](file);
    if (sections.has(EXCEPTIONS) || sections.has(EXCEPTION_DATA)) {
      require(layout !== 4, "a dynamic filter with exceptions");
      this.#exceptions = exceptions(file);
    }
  }

  /** The bytes of a text, an integer or bytes, if keys of this type can be in the filter. */
  #keyBytes(key) {
    const isNumber = typeof key === "number" || typeof key === "bigint";
    if (this.keyType && isNumber !== this.keyType > 2) throw new TypeError(`the keys of the filter are ${this.keyType > 2 ? "integers" : "text or bytes"}`);
    if (isNumber) {
      if (typeof key === "number" && !Number.isSafeInteger(key)) throw new TypeError("a number that is no exact integer: use a BigInt");
      const number = BigInt(key), wide = number < -(1n << 63n) || number >= 1n << 64n, bytes = new Uint8Array(wide ? 16 : 8);
      viewOf(bytes).setBigUint64(0, u64(number), true);
      if (wide) viewOf(bytes).setBigUint64(8, u64(number >> 64n), true);
      return bytes;
    }
    let bytes = typeof key === "string" ? new TextEncoder().encode(key) : key;
    if (this.trim) {
      const isSpace = (byte) => byte === 9 || byte === 10 || byte === 12 || byte === 13 || byte === 32;
      let start = 0, end = bytes.length;
      while (start < end && isSpace(bytes[start])) start++;
      while (start < end && isSpace(bytes[end - 1])) end--;
      bytes = bytes.subarray(start, end);
    }
    if (this.lower) {
      try {
        bytes = new TextEncoder().encode(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes).toLowerCase());
      } catch {
        bytes = bytes.map((byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte));
      }
    }
    return bytes;
  }

  /** Whether the filter may contain a key: a text, a Uint8Array, an integer or a BigInt. False is certain. */
  mayContain(key) {
    let h = this.#hash(this.#keyBytes(key));
    if (this.hashBits) {
      h = (h >> BigInt(64 - this.hashBits)) << BigInt(64 - this.hashBits);
      for (let i = 0; i < 2; i++) h = u64((h ^ (h >> 32n)) * 0xd6e8feb86659fd93n);
      h ^= h >> 32n;
    }
    return this.#inner.test(h) && !this.#exceptions?.(h);
  }
}

function unlocked(secret, checkValue) {
  if (secret?.length !== 16) throw new LockedError("the filter is keyed: its secret of 16 bytes is needed");
  const hash = siphash13(secret), derived = new Uint8Array(16);
  viewOf(derived).setBigUint64(0, hash(Uint8Array.of(1, 0)), true);
  viewOf(derived).setBigUint64(8, hash(Uint8Array.of(1, 1)), true);
  const found = siphash13(derived)(new TextEncoder().encode("fullbloom native: is this the secret?"));
  if (found !== checkValue) throw new LockedError("this is not the secret of the filter");
  return hash;
}

/** A function that says whether a key whose bits are all set is a known-good one. */
function exceptions(file) {
  const [section, size] = file.section(EXCEPTIONS), [start, length] = file.section(EXCEPTION_DATA), levels = [];
  require(size >= 16, "the exceptions section is too short");
  const count = file.u64(section), listed = file.u64(section + 8);
  require(count <= 64n && BigInt(size) === 16n + 16n * count, `${count} levels of exceptions`);
  let at = start;
  for (let entry = section + 16; entry < section + size; entry += 16) {
    const blocks = file.u64(entry), probes = file.u64(entry + 8);
    require(blocks >= 1n && blocks * 64n <= BigInt(start + length - at) && probes >= 1n && probes <= 8n, "a level of exceptions has impossible numbers");
    levels.push({ at, blocks, probes: Number(probes) });
    at += Number(blocks) * 64;
  }
  require(BigInt(start + length - at) === 8n * listed, "the exceptions have another length");
  return (h) => {
    for (const [number, level] of levels.entries()) {
      let x = u64(h + BigInt(number + 1) * P);
      x = u64((x ^ (x >> 32n)) * Q);
      x = u64((x ^ (x >> 29n)) * R);
      if (!linesTest(file.bytes, level.at, level.blocks, 1, 1, level.probes, x ^ (x >> 32n))) return number % 2 === 1;
    }
    return (levels.length + (inList(file.view, at, Number(listed), h) ? 0 : 1)) % 2 === 0;
  };
}
