/**
 * Compiles one AssemblyScript text as the kernels are compiled, with a memory of its own.
 *
 * @throws it does not compile
 */
export async function compileAssembly(source: string): Promise<WebAssembly.Module> {
  // Only here: the compiler takes seconds to load, and most processes do without it.
  const { default: asc } = await import("assemblyscript/asc");
  const written: Uint8Array<ArrayBuffer>[] = [];
  const { error, stderr } = await asc.main(
    [
      ...["kernels.ts", "--runtime", "stub", "-O3", "--converge", "--noAssert"],
      ...["--enable", "simd", "-o", "kernels.wasm"],
    ],
    {
      readFile: (name) => (name === "kernels.ts" ? source : null),
      writeFile: (_, contents) => {
        written.push(Uint8Array.from(contents as Uint8Array));
      },
    },
  );
  const [binary] = written;
  if (error || !binary)
    throw new Error(`bench: the kernels must compile, got ${error?.message}\n${stderr}`);
  return WebAssembly.compile(binary);
}
