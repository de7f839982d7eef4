/** What callers without types hand to the tasks. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Heed } from "../../src/heed.js";
import { init } from "../../src/node.js";
import { expectOptions } from "../../src/tasks/arguments.js";
import type { TaskName, Tasks } from "../../src/tasks/load.js";
import { compareParallel } from "../../src/tasks/parallel.js";

const FOLDERS: { readonly [K in TaskName]: string } = {
  answer: "models/answer-en",
  disambiguate: "models/disambiguate-en",
  "long-range": "models/long-range-en",
  recall: "models/recall/attention",
  summarize: "models/summarize-en",
  translate: "models/translate-en-es",
};

let heed: Heed;
const tasks: Partial<Tasks> = {};

beforeAll(async () => {
  heed = await init({ threads: 1 });
  for (const [name, folder] of Object.entries(FOLDERS))
    Object.assign(tasks, { [name]: await heed.load(folder, name as TaskName) });
});

afterAll(() => heed?.dispose());

/** Calls a method without its types. */
function call(name: TaskName, method: string, ...args: readonly unknown[]): Promise<unknown> {
  const task = tasks[name] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  return (task[method] as (...args: unknown[]) => Promise<unknown>).apply(task, [...args]);
}

async function expectRefused(asked: Promise<unknown>, message: string): Promise<void> {
  const error = await asked.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(TypeError);
  expect((error as Error).message).toBe(message);
}

describe("expectOptions()", () => {
  const signal = "signal must be an AbortSignal";
  test.each<[unknown, string]>([
    [null, "options must be an object, got null"],
    [undefined, "options must be an object, got undefined"],
    ["beam", 'options must be an object, got "beam"'],
    [5, "options must be an object, got 5"],
    [[], "options must be an object, got []"],
    [() => 1, "options must be an object, got a function"],
    [{ signal: null }, `${signal}, got null`],
    [{ signal: "now" }, `${signal}, got "now"`],
    [{ signal: {} }, `${signal}, got [object Object]`],
    [{ signal: new AbortController() }, `${signal}, got [object AbortController]`],
    [{ onPartial: "log" }, 'onPartial must be a function, got "log"'],
    [{ onProgress: null }, "onProgress must be a function, got null"],
    [{ onScore: [1] }, "onScore must be a function, got an array"],
  ])("refuses %o", (options, message) => {
    expect(() => expectOptions("sing", options)).toThrow(new TypeError(`sing: ${message}`));
  });

  test("lets a signal and functions through", () => {
    const { signal } = new AbortController();
    expectOptions("sing", { signal, onPartial: () => {}, onProgress: () => {}, beam: "?" });
    expectOptions("sing", { signal: undefined, onPartial: undefined });
    expectOptions("sing", {});
  });
});

describe("a task refuses", () => {
  test.each<[TaskName, string, readonly unknown[]]>([
    ["answer", "answer", ["Who?", "She."]],
    ["answer", "answerAll", [[]]],
    ["disambiguate", "disambiguate", ["bank", "a bank"]],
    ["disambiguate", "disambiguateAll", ["bank", []]],
    ["long-range", "read", ["a"]],
    ["long-range", "perplexity", [["a"]]],
    ["recall", "scores", []],
    ["summarize", "summarize", ["a"]],
    ["translate", "translate", ["a"]],
    ["translate", "translateAll", [["a"]]],
  ])("options that are none: %s, %s()", async (name, method, args) => {
    await expectRefused(
      call(name, method, ...args, null),
      `${name}: options must be an object, got null`,
    );
  });

  test.each<[TaskName, string, readonly unknown[], string]>([
    ["answer", "answerAll", [null], "items must be an array, got null"],
    ["answer", "answerAll", ["abc"], 'items must be an array, got "abc"'],
    [
      "answer",
      "answerAll",
      [[null]],
      "item 0 must be an object with a question and a context, got null",
    ],
    ["disambiguate", "disambiguateAll", ["bank", null], "sentences must be an array, got null"],
    ["long-range", "perplexity", ["abc"], 'texts must be a list of strings, got "abc"'],
    ["long-range", "perplexity", [5], "texts must be a list of strings, got 5"],
    ["long-range", "perplexity", [[null]], "the text must be a string, got object"],
    ["recall", "scores", [{ distances: 5 }], "distances must be an array, got 5"],
    ["translate", "translateAll", ["abc"], 'texts must be an array, got "abc"'],
    ["translate", "translateAll", [undefined], "texts must be an array, got undefined"],
  ])("lists that are none: %s, %s(...%j)", async (name, method, args, message) => {
    await expectRefused(call(name, method, ...args), `${name}: ${message}`);
  });

  test.each(["summarize", "translate"] as const)("a length penalty of null: %s", async (name) => {
    await expectRefused(
      call(name, name, "The cat sleeps.", { lengthPenalty: null }),
      "beamSearch: lengthPenalty must be a number, got null",
    );
  });

  test("options that are none: compareParallel()", async () => {
    await expectRefused(
      compareParallel(heed, null as never),
      "parallel: options must be an object, got null",
    );
  });
});
