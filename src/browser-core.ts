import { type Heed, type HeedOptions, start } from "./heed.js";
import { browserPlatform } from "./platform/browser.js";

export * from "./index.js";

/**
 * Starts heed in this thread of a browser: for a worker of the caller's own, where everything is
 * synchronous and nothing freezes. On a page, use the entry "heed", whose runtime lives in a worker.
 */
export async function init(options: HeedOptions = {}): Promise<Heed> {
  return start(browserPlatform(options), options);
}
