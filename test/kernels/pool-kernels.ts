import asc from "assemblyscript/asc";

/** Small kernels that misbehave on request, to try the pool without the real ones. */
const SOURCE = `
export function index(y: usize, scale: f32, begin: i32, end: i32): void {
  for (let i = begin; i < end; i++) store<f32>(y + (<usize>i << 2), <f32>i * scale);
}
export function count(y: usize, begin: i32, end: i32): void {
  for (let i = begin; i < end; i++) {
    const at = y + (<usize>i << 2);
    store<i32>(at, load<i32>(at) + 1);
  }
}
export function slow(y: usize, rounds: i32, begin: i32, end: i32): void {
  for (let i = begin; i < end; i++) {
    let x: u32 = i;
    for (let r = 0; r < rounds; r++) x = x * 1664525 + 1013904223;
    store<u32>(y + (<usize>i << 2), x);
  }
}
export function nothing(begin: i32, end: i32): void {}
export function trap(at: i32, begin: i32, end: i32): void {
  if (begin <= at && at < end) unreachable();
}
// Everybody waits until \`threads\` chunks run at once, for a bounded number of looks.
export function meet(counter: usize, threads: i32, begin: i32, end: i32): void {
  atomic.add<i32>(counter, 1);
  for (let i = 0; i < 2000000000 && atomic.load<i32>(counter) < threads; i++) {}
}
// Chunk 0, the caller's, waits until another chunk has begun; the others trap.
export function trapAway(counter: usize, begin: i32, end: i32): void {
  if (begin != 0) {
    atomic.store<i32>(counter, 1);
    unreachable();
  }
  for (let i = 0; i < 2000000000 && atomic.load<i32>(counter) == 0; i++) {}
}
// Chunk 0, the caller's, waits until another chunk has begun; the others never end.
export function hang(counter: usize, begin: i32, end: i32): void {
  if (begin != 0) {
    atomic.store<i32>(counter, 1);
    while (true) {}
  }
  for (let i = 0; i < 2000000000 && atomic.load<i32>(counter) == 0; i++) {}
}
export function sum24(y: usize, a: f64, b: f64, c: f64, d: f64, e: f64, f: f64, g: f64, h: f64, i: f64, j: f64, k: f64, l: f64, m: f64, n: f64, o: f64, p: f64, q: f64, r: f64, s: f64, t: f64, u: f64, v: f64, w: f64, begin: i32, end: i32): void {
  for (let at = begin; at < end; at++)
    store<f64>(y + (<usize>at << 3), a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u+v+w + <f64>at);
}
`;

export async function kernelBytes(): Promise<Uint8Array<ArrayBuffer>> {
  let binary: Uint8Array<ArrayBuffer> | null = null;
  const { error, stderr } = await asc.main(
    [
      ..."kernels.ts --outFile kernels.wasm --runtime stub --importMemory --noExportMemory".split(
        " ",
      ),
      ..."--initialMemory 1 --maximumMemory 65536 --sharedMemory --enable simd,threads".split(" "),
      ..."-O3 --noAssert".split(" "),
    ],
    {
      readFile: (name) => (name === "kernels.ts" ? SOURCE : null),
      writeFile: (name, contents) => {
        if (name === "kernels.wasm") binary = contents as Uint8Array<ArrayBuffer>;
      },
      listFiles: () => [],
    },
  );
  if (error || !binary) throw new Error(`${error}\n${stderr}`);
  return binary;
}
