/**
 * The worker's side of the protocol that pool.ts describes. It never returns to the event loop before
 * shutdown: no messages, no timers, only the words of the control block.
 */
import type { WorkerStart } from "../platform/platform.js";
import {
  CHUNK,
  CHUNKS,
  COUNT,
  type Control,
  ENTERED,
  EPOCH,
  FAILED,
  FAULT,
  FAULT_BEGIN,
  FAULT_END,
  FAULT_LENGTH,
  FIRST_CHUNK,
  GATE,
  KERNEL,
  LEFT,
  NEXT,
  OPEN,
  OUTSIDE,
  PLACE,
  RANGE,
  READY,
  SHUTDOWN,
  SLEEP,
  STATE,
  viewControl,
  workerLine,
} from "./control.js";

/** Milliseconds of one sleep. Only a lost shutdown would wait for its end. */
const SLEEP_SLICE = 1000;
/** Looks at EPOCH between two looks at the clock: about 0.3 µs. */
const LOOKS = 300;

type Kernel = (...numbers: number[]) => unknown;

/** Serves jobs until shutdown. */
export function workerLoop(start: WorkerStart): void {
  const { module, memory, index } = start;
  const control = viewControl(memory, start.control);
  const { words } = control;
  const line = workerLine(index);
  let kernels: Kernel[];
  try {
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    kernels = start.kernelNames.map((name) => exports[name] as Kernel);
  } catch (error) {
    writeFault(control, index, error, 0, 0);
    Atomics.store(words, line + STATE, FAILED);
    return;
  }

  let seen = Atomics.load(words, EPOCH);
  Atomics.store(words, line + STATE, READY);
  try {
    for (;;) {
      seen = nextEpoch(words, seen, start.spin);
      if (Atomics.load(words, SHUTDOWN) !== 0) return;
      if (enter(words)) help(control, kernels, index, line);
    }
  } finally {
    Atomics.store(words, line + STATE, LEFT);
  }
}

/** a. Looks at EPOCH until it differs from the one seen, or the pool shuts down. */
function nextEpoch(words: Int32Array, seen: number, spin: number): number {
  const until = performance.now() + spin;
  do {
    for (let i = 0; i < LOOKS; i++) {
      const epoch = Atomics.load(words, EPOCH);
      if (epoch !== seen) return epoch;
    }
  } while (performance.now() < until);

  for (;;) {
    Atomics.add(words, SLEEP, 1);
    Atomics.wait(words, EPOCH, seen, SLEEP_SLICE);
    Atomics.sub(words, SLEEP, 1);
    const epoch = Atomics.load(words, EPOCH);
    if (epoch !== seen || Atomics.load(words, SHUTDOWN) !== 0) return epoch;
  }
}

/** b. Comes in through an open gate. */
function enter(words: Int32Array): boolean {
  for (;;) {
    const gate = Atomics.load(words, GATE);
    if ((gate & OPEN) === 0) return false;
    if (Atomics.compareExchange(words, GATE, gate, gate + 1) === gate) return true;
  }
}

/** c. and d. Claims chunks until there are none, then leaves. */
function help(control: Control, kernels: readonly Kernel[], index: number, line: number): void {
  const { words, arguments: slots } = control;
  Atomics.store(words, line + PLACE, ENTERED);
  const kernel = kernels[words[KERNEL] as number] as Kernel;
  const count = words[COUNT] as number;
  const range = words[RANGE] as number;
  const chunk = words[CHUNK] as number;
  const chunks = words[CHUNKS] as number;
  const numbers = Array.from(slots.subarray(0, count));
  numbers.push(0, 0);

  let at = Atomics.add(words, NEXT, 1);
  while (at < chunks) {
    Atomics.store(words, line + PLACE, FIRST_CHUNK + at);
    const begin = at * chunk;
    const end = Math.min(begin + chunk, range);
    numbers[count] = begin;
    numbers[count + 1] = end;
    try {
      kernel(...numbers);
    } catch (error) {
      Atomics.store(words, NEXT, chunks);
      writeFault(control, index, error, begin, end);
    }
    at = Atomics.add(words, NEXT, 1);
  }

  Atomics.store(words, line + PLACE, OUTSIDE);
  if (Atomics.sub(words, GATE, 1) === 1) Atomics.notify(words, GATE);
}

/** Carries message and stack across; the first fault of a job is kept. */
function writeFault(
  control: Control,
  index: number,
  error: unknown,
  begin: number,
  end: number,
): void {
  const { words, text } = control;
  if (Atomics.compareExchange(words, FAULT, 0, index + 1) !== 0) return;
  const message = error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error);
  const bytes = new TextEncoder().encode(message).subarray(0, text.length);
  text.set(bytes);
  words[FAULT_LENGTH] = bytes.length;
  words[FAULT_BEGIN] = begin;
  words[FAULT_END] = end;
}
