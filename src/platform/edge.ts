import { StateError } from "../errors.js";
import type { Platform, PlatformOptions } from "./platform.js";
import { relaxedRefused } from "./relaxed.js";

export type EdgeOptions = Pick<PlatformOptions, "module">;

/**
 * Edge functions: one thread, little memory, and a module that the platform compiled at deployment,
 * as they refuse to compile bytes.
 */
export function edgePlatform({ module }: EdgeOptions): Platform {
  return {
    name: "edge",
    cores: 1,
    maximumBytes: 2 ** 26,
    mayWait: false,
    sharingRefused: () => "edge functions have no threads",
    relaxedRefused,
    async compile(build) {
      const compiled = typeof module === "function" ? await module(build) : module;
      if (compiled) return compiled;
      throw new StateError(
        `init: edge functions need a compiled module, got none. Pass { module } from import module from "heed/wasm/heed.${build}.wasm"`,
      );
    },
    spawn() {
      throw new StateError("init: edge functions have no threads, got threads > 1");
    },
  };
}
