import { describe, expect, test } from "vitest";
import { MODEL_FILES, readModelFolder } from "../../src/io/model-folder.js";
import { serializeSafetensors } from "../../src/io/safetensors.js";
import { writeModelFolder } from "../../src/io/save.js";
import { bytesSource, urlSource } from "../../src/io/sources.js";
import { formatErrorAsync } from "./format-error.js";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const TENSORS = new Map([
  ["w", { dtype: "F32", shape: [2], data: Float32Array.of(1, 2) }] as const,
]);
const FILES = {
  "config.json": utf8('{"kind":"seq2seq"}'),
  "model.safetensors": serializeSafetensors(TENSORS, new Map([["made", "here"]])),
  "tokenizer.json": utf8("{}"),
};

describe("readModelFolder()", () => {
  test("gives the config, the tensors, the metadata and the tokenizer's bytes", async () => {
    const folder = await readModelFolder(bytesSource(FILES));
    expect(folder.config).toEqual(new Map([["kind", "seq2seq"]]));
    expect(folder.tensors.get("w")?.shape).toEqual([2]);
    expect(folder.metadata.get("made")).toBe("here");
    expect(folder.tokenizer).toBe(FILES["tokenizer.json"]);
  });

  test.each(Object.keys(FILES))(
    "names %s when it is missing, and what a folder holds",
    async (name) => {
      const files = Object.fromEntries(Object.entries(FILES).filter(([file]) => file !== name));
      const error = await formatErrorAsync(() =>
        readModelFolder(bytesSource(files, "models/mine")),
      );
      expect(error.code).toBe("MODEL_FILE_MISSING");
      expect(error.message).toBe(
        `models/mine: a model folder must hold config.json, model.safetensors, tokenizer.json, got no ${name}. Check the path`,
      );
    },
  );

  test("says when none of the files is there", async () => {
    const error = await formatErrorAsync(() => readModelFolder(bytesSource({}, "nowhere")));
    expect(error.message).toContain("got none of them");
  });

  test.each([
    ["config.json", "CONFIG", "[]"],
    ["config.json", "JSON_SYNTAX", "<!DOCTYPE html>"],
    ["config.json", "JSON_SYNTAX", '{"hidden":NaN}'],
    ["config.json", "JSON_DUPLICATE", '{"a":1,"a":2}'],
    ["config.json", "JSON_DEPTH", "[".repeat(20_000)],
    ["config.json", "MODEL_FILE_SIZE", " ".repeat(2 ** 20 + 1)],
    ["model.safetensors", "ST_HEADER_SIZE", "<!DOCTYPE html>"],
    ["model.safetensors", "ST_TRUNCATED", ""],
  ])("refuses a broken %s with %s", async (name, code, text) => {
    const files = { ...FILES, [name]: utf8(text) };
    const error = await formatErrorAsync(() => readModelFolder(bytesSource(files)));
    expect(error.code).toBe(code);
    expect(error.message).toContain(name);
  });

  test("passes on what its source throws", async () => {
    const source = { name: "x", read: () => Promise.reject(new RangeError("offline")) };
    await expect(readModelFolder(source)).rejects.toThrow(RangeError);
  });
});

describe("writeModelFolder()", () => {
  const written = async (model: Parameters<typeof writeModelFolder>[1]) => {
    let files: Record<string, Uint8Array> = {};
    await writeModelFolder(async (all) => {
      files = Object.fromEntries(all);
    }, model);
    return files;
  };
  const MODEL = {
    config: { kind: "seq2seq", hidden: 8, dropout: 0.1, names: ["a", null], deep: { x: true } },
    tensors: TENSORS,
    tokenizer: FILES["tokenizer.json"],
  };

  test("writes what readModelFolder() reads, the config last", async () => {
    const files = await written(MODEL);
    expect(Object.keys(files)).toEqual(["tokenizer.json", "model.safetensors", "config.json"]);
    const folder = await readModelFolder(bytesSource(files));
    expect(folder.config.get("hidden")).toBe(8);
    expect(folder.tensors.get("w")?.data).toEqual(new Uint8Array(Float32Array.of(1, 2).buffer));
  });

  test("writes equal bytes for equal models", async () => {
    expect(await written(MODEL)).toEqual(await written({ ...MODEL, tensors: new Map(TENSORS) }));
  });

  test("writes nothing when a value cannot be written", async () => {
    for (const hidden of [Number.NaN, Infinity]) {
      const files: string[] = [];
      const write = async (all: ReadonlyMap<string, Uint8Array>) => void files.push(...all.keys());
      const error = await formatErrorAsync(() =>
        writeModelFolder(write, { ...MODEL, config: { hidden } }),
      );
      expect(error.message).toBe(`save: "hidden" must be finite, got ${hidden}`);
      expect(files).toEqual([]);
    }
  });

  test("passes on what its writer throws", async () => {
    const write = () => Promise.reject(new RangeError("disk full"));
    await expect(writeModelFolder(write, MODEL)).rejects.toThrow("disk full");
  });
});

describe("urlSource()", () => {
  const answering = (answer: (url: string) => Response) => {
    const asked: string[] = [];
    const fake = async (url: URL | RequestInfo) => {
      asked.push(String(url));
      return answer(String(url));
    };
    return { asked, fetch: fake as typeof fetch };
  };
  const stream = (...parts: Uint8Array[]) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
        controller.close();
      },
    });

  test("reads a model folder from an address, with and without a final slash", async () => {
    for (const url of ["https://host/models/es?v=1", new URL("https://host/models/es/?v=1")]) {
      const { asked, fetch } = answering((asked) => {
        const name = new URL(asked).pathname.split("/").at(-1) as keyof typeof FILES;
        return new Response(stream(FILES[name].subarray(0, 1), FILES[name].subarray(1)));
      });
      const folder = await readModelFolder(urlSource(url, { fetch }));
      expect(folder.tensors.size).toBe(1);
      expect(asked.sort()).toEqual(
        Object.keys(MODEL_FILES).map((name) => `https://host/models/es/${name}?v=1`),
      );
    }
  });

  test("takes status 404 for a missing file, and no other status but 200 for an answer", async () => {
    const at = (status: number) =>
      urlSource(
        "https://host/m",
        answering(() => new Response(status === 204 ? null : "x", { status })),
      );
    expect(await at(404).read("config.json", 10)).toBeUndefined();
    for (const status of [204, 206, 403, 500])
      expect((await formatErrorAsync(() => at(status).read("config.json", 10))).code).toBe(
        "FETCH_STATUS",
      );
  });

  test("stops an endless body at the limit", async () => {
    let sent = 0;
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1000;
        controller.enqueue(new Uint8Array(1000));
      },
      cancel() {
        cancelled = true;
      },
    });
    const source = urlSource(
      "https://host/m",
      answering(() => new Response(endless)),
    );
    const error = await formatErrorAsync(() => source.read("config.json", 5000));
    expect(error.code).toBe("MODEL_FILE_SIZE");
    expect(cancelled).toBe(true);
    expect(sent).toBeLessThan(20_000);
  });

  test("refuses a body of another length than announced, unless it is encoded", async () => {
    const source = (headers: Record<string, string>) =>
      urlSource(
        "https://host/m",
        answering(() => new Response(stream(utf8("abc")), { headers })),
      );
    const short = source({ "content-length": "4" });
    expect((await formatErrorAsync(() => short.read("config.json", 10))).code).toBe("FETCH_SIZE");
    const encoded = source({ "content-length": "2", "content-encoding": "br" });
    expect(await encoded.read("config.json", 10)).toEqual(utf8("abc"));
    expect(await source({ "content-length": "3" }).read("config.json", 3)).toEqual(utf8("abc"));
  });

  test("names an address that cannot be reached, and why", async () => {
    const failing = (async () => {
      throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    }) as typeof fetch;
    const source = urlSource("https://host/m", { fetch: failing });
    const error = await formatErrorAsync(() => source.read("config.json", 10));
    expect(error.code).toBe("FETCH");
    expect(error.message).toBe(
      "fetch: https://host/m/config.json must be reachable, got connect ECONNREFUSED",
    );
  });

  test("throws the signal's reason when it is aborted", async () => {
    const aborted = urlSource("https://host/m", { signal: AbortSignal.abort(new Error("mine")) });
    await expect(aborted.read("config.json", 10)).rejects.toThrow("mine");
  });

  test("passes a broken connection on", async () => {
    const broken = new ReadableStream({
      start: (controller) => controller.error(new TypeError("cut")),
    });
    const source = urlSource(
      "https://host/m",
      answering(() => new Response(broken)),
    );
    await expect(source.read("config.json", 10)).rejects.toThrow("cut");
  });
});
