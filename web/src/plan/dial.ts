// A slider and a field that follow each other. The slider's scale is logarithmic.

import { h } from "../dom";

const STEPS = 400;

/** The slider's step for a value: 0 for the least, 400 for the most. */
export function stepOf(value: number, least: number, most: number): number {
  return Math.round((STEPS * Math.log(value / least)) / Math.log(most / least));
}

/** The value at a step, with one digit below 1 and two from there on. */
export function valueAt(step: number, least: number, most: number): number {
  const value = least * (most / least) ** (step / STEPS);
  return Number(value.toPrecision(value < 1 ? 1 : 2));
}

export interface DialWish {
  id: string;
  label: string;
  hint: string;
  least: number;
  most: number;
  parse(text: string): number | null;
  format(value: number): string;
  changed(value: number): void;
}

export class Dial {
  readonly element: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly field: HTMLInputElement;
  private readonly wrong: HTMLElement;
  private value = NaN;

  constructor(private readonly wish: DialWish) {
    const { id, label, hint } = wish;
    this.slider = h("input", {
      type: "range", min: 0, max: STEPS, step: 1, id: `${id}-slider`, "aria-label": `${label}, slider`,
      input: () => this.slide(),
    });
    this.field = h("input", {
      type: "text", id, autocomplete: "off", spellcheck: "false", inputmode: "text", "aria-describedby": `${id}-hint`,
      input: () => this.type(false), change: () => this.type(true),
    });
    this.wrong = h("span", { class: "hint", id: `${id}-hint` }, hint);
    this.element = h("div", { class: "dial" }, h("label", { for: id }, label), this.field, this.slider, this.wrong);
  }

  /** Shows a value without calling back. A field that is being typed into keeps its text. */
  set(value: number | null, chosen: boolean): void {
    this.element.classList.toggle("chosen", chosen);
    if (value === null) {
      if (document.activeElement !== this.field) this.field.value = "–";
      return;
    }
    this.value = value;
    this.slider.value = String(stepOf(value, this.wish.least, this.wish.most));
    const text = this.wish.format(value);
    this.slider.setAttribute("aria-valuetext", text);
    if (document.activeElement !== this.field) {
      this.field.value = text;
      this.complain(false);
    }
  }

  private slide(): void {
    const { least, most, changed } = this.wish;
    changed(valueAt(Number(this.slider.value), least, most));
  }

  private type(done: boolean): void {
    const value = this.wish.parse(this.field.value);
    this.complain(value === null);
    // Leaving the field is no change: what is clicked next must stay where it is.
    if (value !== null && value !== this.value) this.wish.changed(value);
    if (done && value !== null) this.field.value = this.wish.format(value);
    else if (done && Number.isFinite(this.value)) {
      this.field.value = this.wish.format(this.value);
      this.complain(false);
    }
  }

  private complain(wrong: boolean): void {
    this.field.setAttribute("aria-invalid", String(wrong));
    this.wrong.classList.toggle("wrong", wrong);
  }
}
