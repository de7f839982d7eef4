/** What a page does with what it cannot use. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type * as heedOfPage from "../../src/browser.js";
import { launchChromium, serve } from "./chromium.js";

type PageWindow = { readonly heed: typeof heedOfPage };

let browser: Browser;
let server: Awaited<ReturnType<typeof serve>>;
let page: Page;
/** Errors that nobody caught. */
let uncaught: string[];

beforeAll(async () => {
  browser = await launchChromium();
  server = await serve(false);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  server?.close();
});

beforeEach(async () => {
  uncaught = [];
  page = await browser.newPage();
  page.on("pageerror", (error) => uncaught.push(error.message));
  await page.goto(`${server.url}/test/browser/page.html`);
  await page.waitForFunction("window.heed");
});

afterEach(async () => {
  await page.close();
  expect(uncaught).toEqual([]);
});

describe("a task of a page", () => {
  it("refuses an onPartial that is no function, and fails with what one throws", async () => {
    const seen = await page.evaluate(async () => {
      const { heed } = window as unknown as PageWindow;
      const posted: string[] = [];
      const runtime = await heed.init({
        threads: 1,
        createHost: () => {
          const worker = new Worker("/dist/host.browser.mjs", { type: "module" });
          const post = worker.postMessage.bind(worker);
          worker.postMessage = (message: { call: string }) => {
            posted.push(message.call);
            post(message);
          };
          return worker;
        },
      });
      const translator = await runtime.load("/models/translate-en-es");
      const refused = await translator
        .translate("A cat.", { onPartial: "log" as never })
        .catch((error: Error) => `${error.name}: ${error.message}`);
      const fault = new Error("the page's own");
      let told = 0;
      const failed = await translator
        .translate("I am reading a book.", {
          onPartial: () => {
            told++;
            throw fault;
          },
        })
        .catch((error: unknown) => error === fault);
      const { text } = await translator.translate("I am reading a book.");
      runtime.dispose();
      return { refused, failed, told, text, posted };
    });
    expect(seen).toEqual({
      refused: 'TypeError: translate: onPartial must be a function, got "log"',
      failed: true,
      told: 1,
      text: expect.stringContaining("libro"),
      posted: ["init", "info", "load", "use", "abort", "use"],
    });
  });

  it("refuses options and a location that cannot be posted, and forgets the call", async () => {
    const seen = await page.evaluate(async () => {
      const { heed } = window as unknown as PageWindow;
      const runtime = await heed.init({ threads: 1 });
      const told = (error: Error): string => `${error.name}: ${error.message}`;
      const translator = await runtime.load("/models/translate-en-es");
      const controller = new AbortController();
      const { signal } = controller;
      let listeners = 0;
      const [add, remove] = [signal.addEventListener, signal.removeEventListener];
      signal.addEventListener = (...args: Parameters<typeof add>) => {
        listeners++;
        add.apply(signal, args);
      };
      signal.removeEventListener = (...args: Parameters<typeof remove>) => {
        listeners--;
        remove.apply(signal, args);
      };
      const options = await translator
        .translate("A cat.", { signal, beam: (() => 1) as never })
        .catch(told);
      const left = listeners;
      const location = await runtime.load({ "config.json": (() => 1) as never }).catch(told);
      const { text } = await translator.translate("A cat.", { signal });
      runtime.dispose();
      return { options, location, left, after: listeners, text };
    });
    const rule = "what is given must be plain data that a worker can get, got";
    expect(seen).toEqual({
      options: `TypeError: translate: ${rule} "() => 1 could not be cloned"`,
      location: `TypeError: load: ${rule} "() => 1 could not be cloned"`,
      left: 0,
      after: 0,
      text: expect.stringContaining("gato"),
    });
  });

  it("refuses options and lists as its namesake in Node does", async () => {
    const seen = await page.evaluate(async () => {
      const { heed } = window as unknown as PageWindow;
      const runtime = await heed.init({ threads: 1 });
      const told = (error: Error): string => `${error.name}: ${error.message}`;
      const translator = await runtime.load("/models/translate-en-es");
      const found = [
        await translator.translate("A cat.", null as never).catch(told),
        await translator.translate("A cat.", { signal: "now" as never }).catch(told),
        await translator.translateAll("abc" as never).catch(told),
      ];
      translator.dispose();
      found.push((await translator.translate("A cat.").catch(told)) as string);
      runtime.dispose();
      return found;
    });
    expect(seen).toEqual([
      "TypeError: translate: options must be an object, got null",
      'TypeError: translate: signal must be an AbortSignal, got "now"',
      'TypeError: translate: texts must be an array, got "abc"',
      "StateError: translate: the model must be loaded, got a disposed one",
    ]);
  });
});

describe("init() of a page", () => {
  it.each<[string, string | RegExp]>([
    ["null", "TypeError: init: options must be an object, got null"],
    ["{ createHost: () => null }", "TypeError: init: createHost must return a Worker, got null"],
    [
      "{ createHost: async () => null }",
      "TypeError: init: createHost must return a Worker, got [object Promise]",
    ],
    ["{ createHost: 5 }", "TypeError: init: createHost must be a function, got 5"],
    [
      '{ hostUrl: "http://[" }',
      'RangeError: init: hostUrl must be the address of host.browser.mjs, got "http://["',
    ],
    [
      '{ hostUrl: "http://other.example/host.mjs" }',
      /^StateError: init: the page must be allowed to run a worker from http:\/\/other\.example\/host\.mjs, got ".+[^.]"\. Serve it/,
    ],
    [
      "{ threads: () => 1 }",
      'TypeError: init: what is given must be plain data that a worker can get, got "() => 1 could not be cloned"',
    ],
  ])("refuses %s", async (options, message) => {
    const told = await page.evaluate(
      `heed.init(${options}).then(() => "started", (error) => error.name + ": " + error.message)`,
    );
    if (typeof message === "string") expect(told).toBe(message);
    else expect(told).toMatch(message);
  });

  it("tries again after a start that failed", async () => {
    const seen = await page.evaluate(async () => {
      const { heed } = window as unknown as PageWindow;
      let tries = 0;
      const runtime = new heed.PageHeed({
        threads: 1,
        createHost: () => {
          if (tries++ === 0) throw new Error("not yet");
          return new Worker("/dist/host.browser.mjs", { type: "module" });
        },
      });
      const first = await runtime.info().catch((error: Error) => error.message);
      const { threads } = await runtime.info();
      runtime.dispose();
      return { first, threads, tries };
    });
    expect(seen).toEqual({ first: "not yet", threads: 1, tries: 2 });
  });
});
