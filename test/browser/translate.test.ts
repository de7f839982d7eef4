import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type * as heedOfPage from "../../src/browser.js";
import { init } from "../../src/node.js";
import type { Translation } from "../../src/tasks/translation.js";
import { launchChromium, serve } from "./chromium.js";

const SENTENCES = ["The black cat sleeps.", "Where is the hotel?", "I don't know what to say. 🐈"];

/** A translation with its weights as bit patterns, so that equality is equality of bits. */
interface Bits {
  readonly text: string;
  readonly attention: number[][];
}

let browser: Browser;
let expected: Bits[];

beforeAll(async () => {
  browser = await launchChromium();
  const heed = await init({ threads: 1 });
  const translator = await heed.load("models/translate-en-es");
  expected = (await translator.translateAll(SENTENCES)).map(bitsOf);
  heed.dispose();
}, 120_000);

afterAll(() => browser?.close());

describe.each([
  { isolated: true, threads: [1, 2, 3], reason: /cores|asked/ },
  { isolated: false, threads: [1], reason: /not cross-origin isolated/ },
])("a page served with isolation headers: $isolated", ({ isolated, threads, reason }) => {
  let page: Page;
  let server: Awaited<ReturnType<typeof serve>>;

  beforeAll(async () => {
    server = await serve(isolated);
    page = await browser.newPage();
    await page.goto(`${server.url}/test/browser/page.html`);
    await page.waitForFunction("window.heed");
  });

  afterAll(async () => {
    await page?.close();
    server?.close();
  });

  it.each(threads)("init({ threads: %i }) translates to the bits of Node", async (count) => {
    expect(await translateOnPage(page, { threads: count })).toEqual(expected);
  });

  it("init() takes what the page allows and says why not more", async () => {
    const info = await page.evaluate(async () => {
      const { heed } = window as unknown as { heed: typeof heedOfPage };
      const runtime = await heed.init();
      const found = await runtime.info();
      runtime.dispose();
      return found;
    });
    expect(info.threadsReason).toMatch(reason);
    expect(info.build).toBe(isolated && info.threads > 1 ? "threads" : "simd");
  });

  it("translate() leaves the page's main thread free", async () => {
    const turns = await page.evaluate(async () => {
      const { heed } = window as unknown as { heed: typeof heedOfPage };
      const runtime = await heed.init({ threads: 1 });
      const translator = await runtime.load("/models/translate-en-es");
      let count = 0;
      const timer = setInterval(() => count++, 1);
      const sentences = Array.from({ length: 40 }, () => "The cat sat on the mat.");
      await translator.translateAll(sentences);
      clearInterval(timer);
      runtime.dispose();
      return count;
    });
    // Forty sentences take hundreds of milliseconds of work; a blocked page would count none.
    expect(turns).toBeGreaterThan(10);
  });

  it("translate() streams, aborts by its signal, and tells errors by their class", async () => {
    const seen = await page.evaluate(async () => {
      const { heed } = window as unknown as { heed: typeof heedOfPage };
      const runtime = await heed.init({ threads: 1 });
      const translator = await runtime.load("/models/translate-en-es");
      const partial: string[] = [];
      const { text } = await translator.translate("I am reading a book.", {
        onPartial: (soFar) => partial.push(soFar),
      });
      const controller = new AbortController();
      const aborted = translator
        .translateAll(
          Array.from({ length: 200 }, () => "The cat sat on the mat."),
          { signal: controller.signal },
        )
        .catch((error: Error) => error.message);
      controller.abort(new Error("enough"));
      const missing = await runtime.load("/models/nothing").catch((error: unknown) => ({
        format: error instanceof heed.FormatError,
        message: (error as Error).message,
      }));
      const after = (await translator.translate("I am reading a book.")).text;
      runtime.dispose();
      const gone = await translator.translate("x").catch((error: Error) => error.name);
      return { partial, text, aborted: await aborted, missing, after, gone };
    });
    expect(seen.partial.length).toBeGreaterThan(3);
    expect(seen.partial.at(-1)).toBe(seen.text);
    expect(seen.aborted).toBe("enough");
    expect(seen.missing).toMatchObject({
      format: true,
      message: expect.stringMatching(/none of them/),
    });
    expect(seen.after).toBe(seen.text);
    expect(seen.gone).toBe("StateError");
  });
});

async function translateOnPage(page: Page, options: { threads: number }): Promise<Bits[]> {
  return page.evaluate(
    async ({ sentences, options }) => {
      const { heed } = window as unknown as { heed: typeof heedOfPage };
      const runtime = await heed.init(options);
      const translator = await runtime.load("/models/translate-en-es");
      const found = await translator.translateAll(sentences);
      runtime.dispose();
      return found.map(({ text, attention }) => ({
        text,
        attention: attention.map((row) => Array.from(new Uint32Array(row.slice().buffer))),
      }));
    },
    { sentences: SENTENCES, options },
  );
}

function bitsOf({ text, attention }: Translation): Bits {
  return {
    text,
    attention: attention.map((row) => Array.from(new Uint32Array(row.slice().buffer))),
  };
}
