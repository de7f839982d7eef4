// A second thread for limit.ts: does each job beside the caller, on its own instance and memory.
import { workerData } from "node:worker_threads";

/** Milliseconds to look for the next job before sleeping. */
const SPIN = 1;

// As in limit.ts.
const [EPOCH, DONE, KIND, SIZE] = [0, 1, 2, 3];
const { module, words, bytes } = workerData;
const { multiplyAdd, read, memory } = new WebAssembly.Instance(module).exports;
memory.grow(Math.ceil(bytes / 65_536));
new Uint8Array(memory.buffer).fill(1);

let epoch = 0;
for (;;) {
  const until = performance.now() + SPIN;
  while (Atomics.load(words, EPOCH) === epoch)
    if (performance.now() > until) Atomics.wait(words, EPOCH, epoch);
  epoch = Atomics.load(words, EPOCH);
  if (words[KIND] === 0) multiplyAdd(words[SIZE], 0.9999999, 1e-7);
  else read(words[SIZE]);
  Atomics.store(words, DONE, epoch);
}
