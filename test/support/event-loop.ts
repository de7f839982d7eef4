import { vi } from "vitest";

let rushed = 0;

/** Time passes by itself until mocks are restored: a slice of work is used up at every look at the clock. */
export function rushClock(): void {
  rushed = Math.max(rushed, performance.now());
  vi.spyOn(performance, "now").mockImplementation(() => {
    rushed += 50;
    return rushed;
  });
}

/** Calls fn at every turn of the event loop, until the returned function is called. */
export function everyTurn(fn: () => void): () => void {
  const count = (): void => {
    timer = setImmediate(count);
    fn();
  };
  let timer = setImmediate(count);
  return () => clearImmediate(timer);
}
