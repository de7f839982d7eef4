import { instantiateSync } from "@assemblyscript/loader";

/**
 * The one place that makes an instance of the kernels.
 *
 * The loader tests `instanceof WebAssembly.Module`, which is false for a module of another realm
 * (edge sandboxes hand such modules in): those take the platform's own constructor, which does all
 * that kernels without strings and arrays need.
 */
export function instantiate(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
): WebAssembly.Exports {
  const imports = { env: { memory } };
  if (!(module instanceof WebAssembly.Module))
    return new WebAssembly.Instance(module, imports).exports;
  return instantiateSync(module, imports).instance.exports;
}
