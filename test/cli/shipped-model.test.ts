import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { modelFolder } from "../../src/cli/shipped-model.js";
import { heed, temporaryFolder } from "./run.js";

const folder = temporaryFolder();

describe("modelFolder()", () => {
  test("gives what is named, there or not", () => {
    expect(modelFolder("here", "none")).toBe("here");
  });

  test("names no path that nobody gave", () => {
    const rule = 'load: the model "none" must come with heed, got none. Give a model folder with';
    expect(() => modelFolder(undefined, "none")).toThrow(`${rule} --model`);
    expect(() => modelFolder(undefined, "none", "--recall-models")).toThrow(
      `${rule} --recall-models`,
    );
  });
});

test.each([
  ["translate", "a"],
  ["summarize", "a"],
  ["answer", "--question", "a", "--context", "b"],
  ["disambiguate", "--word", "bank", "a bank"],
  ["long-range", "a"],
])("heed %s names the folder that was given when it holds no model", async (...args) => {
  const none = join(folder, "none");
  const { code, stdout, stderr } = await heed([...args, "--model", none]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(`heed: ${none}: a model folder must hold config.json`);
});
