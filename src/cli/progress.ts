import type { TrainingEvent } from "../train/trainer.js";

/** Milliseconds between two updates: on a terminal, and where lines pile up in a log. */
const EVERY = { terminal: 200, log: 30_000 };

/** Where progress is told: standard error. */
export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** The progress of long work on one line of a terminal, or as lines of a log. */
export class Progress {
  readonly #stream: Terminal;
  readonly #started = performance.now();
  #shown = -Infinity;
  #first: number | null = null;

  constructor(stream: Terminal) {
    this.#stream = stream;
  }

  line(text: string): void {
    this.#stream.write(this.#stream.isTTY ? `\r\x1b[K${text}\n` : `${text}\n`);
  }

  /** What is going on, on a terminal only: the next text takes its place, an empty one clears it. */
  status(text: string): void {
    if (this.#stream.isTTY) this.#stream.write(`\r\x1b[K${text}`);
  }

  training(event: TrainingEvent): void {
    const { epoch, batch, batches, step, loss, validation } = event;
    this.#first ??= step - 1;
    const now = performance.now();
    const spent = now - this.#started;
    const skipped = event.skipped > 0 ? `, ${event.skipped} skipped (not finite)` : "";
    if (event.kind === "validated") {
      const best = event.best ? " (best so far)" : "";
      this.line(
        `epoch ${epoch + 1}: loss ${loss.toFixed(4)}, validation ${validation?.toFixed(4)}${best}, ${(spent / 60_000).toFixed(1)} min${skipped}`,
      );
      return;
    }
    if (now - this.#shown < (this.#stream.isTTY ? EVERY.terminal : EVERY.log)) return;
    this.#shown = now;
    const pace = (spent / (step - this.#first)).toFixed(0);
    const text = `epoch ${epoch + 1}, ${batch} of ${batches}: loss ${loss.toFixed(4)}, ${pace} ms a step${skipped}`;
    this.#stream.write(this.#stream.isTTY ? `\r\x1b[K${text}` : `${text}\n`);
  }
}
