/** What holds for every task, tried on every model that comes along. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { StateError } from "../../src/errors.js";
import { bytesSource } from "../../src/io/sources.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { loadTask, type TaskName, type Tasks } from "../../src/tasks/load.js";
import { withRuntime } from "../support/runtime.js";

type Use<K extends TaskName> = (
  task: Tasks[K],
  text: string,
  options: { readonly signal?: AbortSignal },
) => Promise<unknown>;

const TEXT = "The bank of the river was cold. He sat on the bank and saw a heron.";
const OTHER = "A bank lends money.";

const USES: { readonly [K in TaskName]: Use<K> } = {
  answer: (task, text, options) =>
    task.answerAll(
      [
        { question: "Where did he sit?", context: text },
        { question: "What was cold?", context: text },
      ],
      options,
    ),
  disambiguate: (task, text, options) => task.disambiguateAll("bank", [text, OTHER], options),
  "long-range": async (task, text, options) => [
    await task.read(text, options),
    await task.perplexity([text, OTHER], options),
  ],
  recall: (task, text, options) =>
    task.scores({ distances: [5, text.length], count: 20, ...options }),
  summarize: (task, text, options) => task.summarize(text, { beam: 2, ...options }),
  translate: (task, text, options) => task.translate(text, { beam: 2, ...options }),
};

const models: [name: string, task: TaskName, files: Record<string, Uint8Array>][] = readdirSync(
  "models",
  { recursive: true },
)
  .map(String)
  .filter((path) => path.endsWith("config.json"))
  .map((path) => {
    const folder = join("models", dirname(path));
    const names = ["config.json", "model.safetensors", "tokenizer.json"];
    const files = Object.fromEntries(
      names.map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))]),
    );
    return [folder, JSON.parse(readFileSync(join(folder, "config.json"), "utf8")).task, files];
  });

/** A signal that aborts when it is asked for the nth time. */
function abortingAt(asked: number, reason: Error): { signal: AbortSignal; asked: () => number } {
  const { signal } = new AbortController();
  let count = 0;
  signal.throwIfAborted = () => {
    if (count++ >= asked) throw reason;
  };
  return { signal, asked: () => count };
}

describe.each(models)("%s", (_, name, files) => {
  const withTask = <T>(
    work: (
      use: (text: string, options?: { readonly signal?: AbortSignal }) => Promise<unknown>,
      runtime: Runtime,
      task: Tasks[TaskName],
    ) => Promise<T>,
    threads = 1,
  ): Promise<T> =>
    withRuntime({ splitting: false, poison: false, threads }, async (runtime) => {
      const task = await loadTask(runtime, bytesSource(files), name);
      const use = USES[name] as Use<TaskName>;
      return work((text, options = {}) => use(task as never, text, options), runtime, task);
    });

  test("gives memory back wherever it is stopped, and works as before", () =>
    withTask(async (use, runtime) => {
      const all = abortingAt(Infinity, new Error("never"));
      const result = await use(TEXT, { signal: all.signal });
      const used = runtime.memory.usedBytes;
      const times = all.asked();
      expect(times).toBeGreaterThan(1);
      // The first and the last places, and some between.
      const places = [0, 1, 2, Math.floor(times / 3), Math.floor(times / 2), times - 2, times - 1];
      for (const place of new Set(places.filter((at) => at >= 0 && at < times))) {
        const reason = new Error(`stopped at ${place}`);
        await expect(use(TEXT, abortingAt(place, reason))).rejects.toBe(reason);
        expect(runtime.memory.usedBytes).toBe(used);
      }
      expect(await use(TEXT)).toEqual(result);
      expect(runtime.memory.usedBytes).toBe(used);
    }));

  test("gives two callers at once what each gets alone", () =>
    withTask(async (use, runtime) => {
      const alone = [await use(TEXT), await use(OTHER)];
      const used = runtime.memory.usedBytes;
      expect(await Promise.all([use(TEXT), use(OTHER)])).toEqual(alone);
      expect(runtime.memory.usedBytes).toBe(used);
    }));

  test("gives the same with two threads", async () => {
    const one = await withTask((use) => use(TEXT));
    expect(await withTask((use) => use(TEXT), 2)).toEqual(one);
  });

  test("is refused once the runtime is disposed, in the middle of work too", () =>
    withTask(async (use, runtime) => {
      const { signal } = new AbortController();
      let asked = 0;
      signal.throwIfAborted = () => {
        if (asked++ === 1) runtime.dispose();
      };
      const ended = await use(TEXT, { signal }).catch((error: unknown) => error);
      expect(ended).toBeInstanceOf(StateError);
      await expect(use(TEXT)).rejects.toThrow(StateError);
    }));

  test("says that it is disposed, in the middle of work too", () =>
    withTask(async (use, runtime, task) => {
      const disposed = new StateError(`${name}: the model must be loaded, got a disposed one`);
      const { signal } = new AbortController();
      let asked = 0;
      signal.throwIfAborted = () => {
        if (asked++ === 1) task.dispose();
      };
      await expect(use(TEXT, { signal })).rejects.toThrow(disposed);
      await expect(use(TEXT)).rejects.toThrow(disposed);
      expect(runtime.memory.usedBytes).toBe(0);
    }));

  test("refuses a signal that is none", () =>
    withTask(async (use) => {
      for (const signal of ["now", null, new AbortController()])
        await expect(use(TEXT, { signal: signal as never })).rejects.toThrow(
          `${name}: signal must be an AbortSignal, got `,
        );
    }));
});
