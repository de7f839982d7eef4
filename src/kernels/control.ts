/**
 * The control block: how caller and workers find each other's words in shared memory. The protocol
 * stands in pool.ts. Words that are written while others look at them stand 64 bytes apart, so that no
 * two share a cache line wherever the block starts.
 *
 *   byte 0     GATE       open bit, and how many workers are inside the job
 *        64    EPOCH      changes when a job is published: sleepers wait on it
 *        128   NEXT       the next chunk to claim
 *        192   SLEEP      how many workers sleep, or are about to
 *        256   SHUTDOWN   1: leave the loop
 *        320   KERNEL COUNT RANGE CHUNK CHUNKS
 *        384   24 float64 arguments
 *        576   FAULT      0 none, else 1 + the worker's index; then bytes of text, begin, end
 *        640   1,024 bytes of fault text
 *        1664  one line a worker: STATE, PLACE
 */

/** Most threads a pool may have, the caller among them. */
export const MAX_THREADS = 16;
/** Most arguments a kernel may have before begin and end. */
export const MAX_ARGUMENTS = 24;

// Indices of 32-bit words.
export const GATE = 0;
export const EPOCH = 16;
export const NEXT = 32;
export const SLEEP = 48;
export const SHUTDOWN = 64;
export const KERNEL = 80;
export const COUNT = 81;
export const RANGE = 82;
export const CHUNK = 83;
export const CHUNKS = 84;
export const FAULT = 144;
export const FAULT_LENGTH = 145;
export const FAULT_BEGIN = 146;
export const FAULT_END = 147;

/** Words from the start of a worker's line. */
export const STATE = 0;
export const PLACE = 1;

/** Values of STATE; 0 until the worker has read its message. */
export const READY = 1;
export const FAILED = 2;
export const LEFT = 3;

/** Values of PLACE: outside the job, inside it, and from 2 on the chunk at work. */
export const OUTSIDE = 0;
export const ENTERED = 1;
export const FIRST_CHUNK = 2;

/** The open bit of GATE; the bits below it count the workers inside. */
export const OPEN = 1 << 16;

const ARGUMENTS_BYTE = 384;
const TEXT_BYTE = 640;
const TEXT_BYTES = 1024;
const WORKERS_BYTE = 1664;

/** Size of the control block in bytes; it starts at a multiple of 8, zeroed. */
export const CONTROL_BYTES = WORKERS_BYTE + 64 * (MAX_THREADS - 1);

/** Index of the first word of a worker's line. */
export function workerLine(index: number): number {
  return WORKERS_BYTE / 4 + 16 * index;
}

/**
 * Views of a control block. They stay right when the memory grows: growth adds a longer buffer over
 * the same bytes, and the block lies in the part that both have.
 */
export interface Control {
  readonly words: Int32Array;
  readonly arguments: Float64Array;
  readonly text: Uint8Array;
}

export function viewControl(memory: WebAssembly.Memory, control: number): Control {
  const { buffer } = memory;
  return {
    words: new Int32Array(buffer, control, CONTROL_BYTES / 4),
    arguments: new Float64Array(buffer, control + ARGUMENTS_BYTE, MAX_ARGUMENTS),
    text: new Uint8Array(buffer, control + TEXT_BYTE, TEXT_BYTES),
  };
}
