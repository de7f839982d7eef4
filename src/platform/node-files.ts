import { randomBytes } from "node:crypto";
import { open, readFile as readWhole, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { FormatError } from "../errors.js";

/** The calls to the file system that a save makes. */
export interface FileCalls {
  readonly open: typeof open;
  readonly rename: typeof rename;
  readonly unlink: typeof unlink;
}

/**
 * Replaces a file wholly or not at all.
 *
 * The bytes go to a temporary file in the same folder, down to the disk, and then take the name.
 * When the disk is full, read-only or gone, the old file is as it was and nothing is left beside it.
 * A new file has the permissions of the old one; of a link, the file it leads to is replaced.
 *
 * @throws {FormatError} FILE_WRITE, naming the file and the system's reason
 */
export async function replaceFile(
  path: string,
  bytes: Uint8Array,
  calls: FileCalls = { open, rename, unlink },
): Promise<void> {
  const { target, mode } = await findTarget(path);
  const temporary = beside(target);
  try {
    await writeWhole(temporary, bytes, mode, calls);
    await calls.rename(temporary, target);
  } catch (error) {
    await calls.unlink(temporary).catch(() => {});
    const hint = mode === undefined ? "" : "The old file is unchanged";
    throw fault("FILE_WRITE", path, "must be writable", error, hint);
  }
  await syncFolder(dirname(target), calls);
}

/**
 * Finds out whether replaceFile() could write there, before the work whose result is written.
 *
 * @returns where the file is or will be, the same for all its names
 * @throws {FormatError} FILE_WRITE
 */
export async function expectWritable(path: string): Promise<string> {
  const { target } = await findTarget(path);
  const temporary = beside(target);
  try {
    await (await open(temporary, "wx")).close();
    await unlink(temporary);
    return join(await realpath(dirname(target)), basename(target));
  } catch (error) {
    throw fault("FILE_WRITE", path, "must be writable", error);
  }
}

/** A folder as a source of files: a model's. Names are taken as they are: they must be our own. */
export function folderSource(folder: string): {
  readonly name: string;
  read(file: string, maxBytes: number): Promise<Uint8Array | undefined>;
} {
  return { name: folder, read: (file, maxBytes) => readFile(join(folder, file), maxBytes) };
}

/**
 * The bytes of a file, or undefined when there is none.
 *
 * @throws {FormatError} FILE_READ; MODEL_FILE_SIZE it is longer than maxBytes
 */
export async function readFile(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  try {
    // Before it is opened: a pipe or a device might never answer, or never end.
    const found = await stat(path);
    if (!found.isFile()) throw new Error("not a regular file");
    if (found.size > maxBytes)
      throw new FormatError(
        "MODEL_FILE_SIZE",
        `${path}: the file must have at most ${maxBytes} bytes, got ${found.size}`,
      );
    return await readWhole(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (error instanceof FormatError) throw error;
    throw fault("FILE_READ", path, "must be readable", error);
  }
}

/** Where a path leads, and the permissions of the file there, if there is one. */
async function findTarget(path: string): Promise<{ target: string; mode?: number }> {
  const named = resolve(path);
  try {
    // By the name, since what is behind /dev/stdout may have none; a device would be lost.
    const found = await stat(named);
    if (!found.isFile()) throw new Error("what is no regular file");
    return { target: await realpath(named), mode: found.mode & 0o777 };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { target: named };
    throw fault("FILE_WRITE", path, "must be writable", error);
  }
}

/** A name of its own in the same folder. */
function beside(path: string): string {
  const unique = `${process.pid}-${randomBytes(6).toString("hex")}`;
  return join(dirname(path), `.${basename(path)}.${unique}.tmp`);
}

async function writeWhole(
  path: string,
  bytes: Uint8Array,
  mode: number | undefined,
  calls: FileCalls,
): Promise<void> {
  const file = await calls.open(path, "wx", mode);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes the new name last through a power cut, where folders can be opened at all. */
async function syncFolder(path: string, calls: FileCalls): Promise<void> {
  const folder = await calls.open(path, "r").catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

function fault(code: string, path: string, what: string, cause: unknown, hint = ""): FormatError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const error = new FormatError(
    code,
    `${path}: the file ${what}, got ${reason}${hint && `. ${hint}`}`,
  );
  error.cause = cause;
  return error;
}
