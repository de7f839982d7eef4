import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  mkdtemp,
  open,
  readFile as read,
  readdir,
  rename,
  rm,
  unlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transformWithOxc } from "vite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type FileCalls,
  folderSource,
  readFile,
  replaceFile,
} from "../../src/platform/node-files.js";
import { formatErrorAsync } from "../io/format-error.js";

let folder: string;
let path: string;
const OLD = new Uint8Array(1000).fill(1);
const NEW = new Uint8Array(200_000).fill(2);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heed-files-"));
  path = join(folder, "model.safetensors");
  await writeFile(path, OLD);
});

afterEach(async () => {
  await chmod(folder, 0o755);
  await rm(folder, { recursive: true });
});

/** The old file whole and nothing beside it. */
async function expectUnchanged(): Promise<void> {
  expect(new Uint8Array(await read(path))).toEqual(OLD);
  expect(await readdir(folder)).toEqual(["model.safetensors"]);
}

const POSIX = process.platform !== "win32";

describe("replaceFile()", () => {
  test("writes a new file and replaces an old one", async () => {
    await replaceFile(path, NEW);
    expect(new Uint8Array(await read(path))).toEqual(NEW);
    await replaceFile(join(folder, "new"), OLD);
    expect((await readdir(folder)).sort()).toEqual(["model.safetensors", "new"]);
  });

  test("lets the old file survive every call that fails", async () => {
    const failing = (at: number): { calls: FileCalls; made: () => number } => {
      let made = 0;
      const step = async <T>(call: () => Promise<T>): Promise<T> => {
        if (made++ === at)
          throw Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
        return call();
      };
      const calls = {
        open: (async (...args: Parameters<typeof open>) => {
          const file = await step(() => open(...args));
          const { writeFile, sync } = file;
          file.writeFile = (...data) => step(() => writeFile.apply(file, data));
          file.sync = () => step(() => sync.apply(file));
          return file;
        }) as typeof open,
        rename: (from: Parameters<typeof rename>[0], to: Parameters<typeof rename>[1]) =>
          step(() => rename(from, to)),
        unlink,
      };
      return { calls, made: () => made };
    };
    // 0 open, 1 write, 2 sync, 3 rename; after that the new file stands.
    for (let at = 0; at < 4; at++) {
      const { calls, made } = failing(at);
      const error = await formatErrorAsync(() => replaceFile(path, NEW, calls));
      expect(error.code).toBe("FILE_WRITE");
      expect(error.message).toBe(
        `${path}: the file must be writable, got ENOSPC: no space left. The old file is unchanged`,
      );
      expect(made()).toBe(at + 1);
      await expectUnchanged();
    }
    await replaceFile(path, NEW, failing(4).calls);
    expect(new Uint8Array(await read(path))).toEqual(NEW);
  });

  test.runIf(POSIX)("lets the old file survive where files may not grow", async () => {
    // A limit of 8 blocks of 512 bytes gives EFBIG in the middle of the write.
    const { code, output } = await runChild(
      `await replaceFile(${JSON.stringify(path)}, new Uint8Array(200_000)).catch((e) => console.log(e.code, e.message));`,
      "ulimit -f 8; ",
    );
    expect(output).toMatch(/^FILE_WRITE .*EFBIG/);
    expect(code).toBe(0);
    await expectUnchanged();
  });

  test.runIf(POSIX)("lets the old file survive a read-only folder", async () => {
    await chmod(folder, 0o555);
    // Root may write anywhere: it becomes nobody for the attempt.
    const root = process.getuid?.() === 0;
    if (root) process.seteuid?.(65_534);
    try {
      expect((await formatErrorAsync(() => replaceFile(path, NEW))).code).toBe("FILE_WRITE");
    } finally {
      if (root) process.seteuid?.(0);
    }
    await expectUnchanged();
  });

  test("refuses a folder that is missing and a name that is a folder", async () => {
    const missing = join(folder, "none", "x");
    expect((await formatErrorAsync(() => replaceFile(missing, NEW))).code).toBe("FILE_WRITE");
    expect((await formatErrorAsync(() => replaceFile(folder, NEW))).code).toBe("FILE_WRITE");
    await expectUnchanged();
  });

  test.runIf(POSIX)("leaves one whole file when the process is killed at any time", async () => {
    for (let kill = 0; kill < 8; kill++) {
      const child = await startChild(
        `console.log("go"); for (let i = 0; ; i++) await replaceFile(${JSON.stringify(path)}, new Uint8Array(100_000 + i % 7).fill(i));`,
      );
      await once(child.stdout, "data");
      await new Promise((resolve) => setTimeout(resolve, 3 + kill * 5));
      child.kill("SIGKILL");
      await once(child, "close");
      const bytes = await read(path);
      expect(new Set(bytes).size).toBe(1);
      expect([1000, ...Array.from({ length: 7 }, (_, i) => 100_000 + i)]).toContain(bytes.length);
    }
  });
});

describe("folderSource()", () => {
  test("reads files, and gives undefined for those that are missing", async () => {
    const source = folderSource(folder);
    expect(source.name).toBe(folder);
    expect(await source.read("model.safetensors", 1000)).toEqual(Buffer.from(OLD));
    expect(await source.read("config.json", 1000)).toBeUndefined();
    expect(await folderSource(join(folder, "none")).read("config.json", 1000)).toBeUndefined();
    expect(await folderSource(path).read("config.json", 1000)).toBeUndefined();
  });

  test("refuses a file above the limit before it reads it", async () => {
    const error = await formatErrorAsync(() => folderSource(folder).read("model.safetensors", 999));
    expect(error.code).toBe("MODEL_FILE_SIZE");
  });

  test("refuses folders and devices", async () => {
    for (const name of POSIX ? [folder, "/dev/zero"] : [folder])
      expect((await formatErrorAsync(() => readFile(name, 10))).code).toBe("FILE_READ");
  });
});

/** A Node process that runs `program` with replaceFile in scope. */
async function startChild(program: string, shell = "") {
  const load = async (name: string, imports: Record<string, string> = {}): Promise<string> => {
    const url = new URL(`../../src/${name}`, import.meta.url);
    let { code } = await transformWithOxc(await read(url, "utf8"), url.pathname);
    for (const [from, to] of Object.entries(imports)) code = code.replace(from, to);
    return `data:text/javascript,${encodeURIComponent(code)}`;
  };
  const files = await load("platform/node-files.ts", { "../errors.js": await load("errors.ts") });
  const text = `import { replaceFile } from ${JSON.stringify(files)};\n${program}`;
  return spawn(
    "sh",
    ["-c", `${shell}exec "$0" --input-type=module -e "$1"`, process.execPath, text],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
}

async function runChild(program: string, shell: string): Promise<{ code: number; output: string }> {
  const child = await startChild(program, shell);
  let output = "";
  child.stdout.on("data", (data) => {
    output += data;
  });
  const [code] = await once(child, "close");
  return { code, output };
}
