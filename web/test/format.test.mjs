import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, count, digits, parseBits, parseBytes, parseCount, parseRate, percent, rate, spoken } from "../src/format.ts";

/** Every pair: what is given, and what must come back. */
function table(convert, pairs) {
  for (const [given, expected] of pairs) assert.equal(convert(given), expected, `${convert.name}(${given})`);
}

test("numbers have separators, and no exponent or zeros at the end", () => {
  table(count, [[0, "0"], [999.5, "1,000"], [1234567, "1,234,567"], [1e15, "1,000,000,000,000,000"]]);
  assert.equal(digits(0.00012345, 3), "0.000123");
  assert.equal(digits(1200, 2), "1,200");
  assert.equal(digits(9.5, 4), "9.5");
});

test("a count is spoken in words from a million on", () => {
  table(spoken, [[999_499, "999,499"], [999_500, "1 million"], [2_500_000, "2.5 million"], [1e9, "1 billion"], [1e15, "1,000 trillion"]]);
});

test("bytes have the unit that leaves at most four digits before the point", () => {
  table(bytes, [[0, "0 bytes"], [1, "1 byte"], [1023, "1,023 bytes"], [1024, "1 KiB"], [1536, "1.5 KiB"], [1048576, "1 MiB"]]);
  assert.equal(bytes(1023.6 * 1024), "1 MiB", "rounded to the next unit");
  assert.equal(bytes(2 ** 70), "1,050,000 PiB");
});

test("a rate is a percentage, and one in many if it is small", () => {
  table(rate, [[0, "0 %"], [1, "100 %"], [0.01, "1 %"], [0.000123, "0.0123 %"], [0.0000995, "0.00995 %"], [1e-5, "1 in 100,000"], [1e-9, "1 in 1 billion"]]);
  table(percent, [[0, "0 %"], [0.5, "50 %"], [0.33333, "33.3 %"]]);
});

test("counts are read as people write them", () => {
  table(parseCount, [
    ["1000000", 1e6], ["1,000,000", 1e6], ["1 000 000", 1e6], ["1'000'000", 1e6], ["1e6", 1e6], ["1E+6", 1e6], ["1M", 1e6],
    [" 2.5 million ", 2.5e6], ["3 billion", 3e9], ["3b", 3e9], ["7 k", 7000], ["1t", 1e12], ["0", 0], ["1e15", 1e15],
  ]);
  for (const wrong of ["", " ", "-1", "M", "1e-3", "ten", "1.2.3", "1e16", "1e999", "NaN", "Infinity", "1 zillion", "0x10"]) {
    assert.equal(parseCount(wrong), null, wrong);
  }
});

test("rates are read as numbers, percentages and ratios between 0 and 1", () => {
  table(parseRate, [["0.01", 0.01], ["1e-2", 0.01], ["1 %", 0.01], ["1%", 0.01], ["1 in 100", 0.01], ["1/100", 0.01], ["1:1k", 0.001], ["1 in 1 million", 1e-6]]);
  for (const wrong of ["", "0", "1", "100 %", "-0.1", "1.5", "1 in 1", "1 in 0", "1 in many", "2 in 100", "%", "NaN", "1..2"]) {
    assert.equal(parseRate(wrong), null, wrong);
  }
});

test("bytes are read with decimal and binary units", () => {
  table(parseBytes, [
    ["1200000", 1.2e6], ["64 MiB", 67108864], ["500MB", 5e8], ["1k", 1000], ["1 Ki", 1024], ["1.5 GiB", 1610612736], ["10 bytes", 10], ["1 byte", 1], ["2b", 2],
  ]);
  for (const wrong of ["", "0", "-5", "MB", "1 XB", "1e16", "1 PiB of memory", "0.4"]) assert.equal(parseBytes(wrong), null, wrong);
});

test("bits per key are above 0 and at most 100", () => {
  table(parseBits, [["10", 10], [" 9.5 ", 9.5], ["100", 100], ["0", null], ["", null], ["101", null], ["-1", null], ["ten", null], ["NaN", null]]);
});

test("what is written is read back", () => {
  for (const value of [1, 999, 12_345, 1e6, 2.5e6, 3e9, 4e12]) assert.equal(parseCount(spoken(value)), value);
  for (const value of [0.5, 0.01, 0.001, 1e-4, 1e-6, 1e-9]) assert.ok(Math.abs(parseRate(rate(value)) / value - 1) < 1e-12, String(value));
  for (const value of [1, 1000, 1024, 1536, 1 << 20, 5 * 2 ** 30]) assert.equal(parseBytes(bytes(value)), value);
});
