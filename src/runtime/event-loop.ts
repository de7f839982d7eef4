/** Milliseconds of work between two turns: aborts, signals and workers' events arrive there. */
const SLICE = 40;

/** There is one event loop for everything that computes here, so there is one clock. */
let turned = performance.now();

/** Has work gone on for a slice since the event loop last turned? */
export function turnIsDue(): boolean {
  return performance.now() - turned > SLICE;
}

/**
 * Lets the event loop turn when it is due; long work awaits this between its steps.
 *
 * @throws the signal's reason
 */
export async function turn(signal?: AbortSignal): Promise<void> {
  if (turnIsDue()) {
    await nextTurn();
    turned = performance.now();
  }
  signal?.throwIfAborted();
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    // A timer costs a millisecond or more, and setImmediate is Node's alone.
    if (typeof setImmediate === "function") setImmediate(resolve);
    else setTimeout(resolve);
  });
}
