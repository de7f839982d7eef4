import { FormatError } from "../errors.js";
import type { ModelSource } from "./model-folder.js";
import { quote } from "./quote.js";

/**
 * A model whose files the caller already has.
 *
 * @throws {TypeError} they are no object of bytes by name
 */
export function bytesSource(
  files: Readonly<Record<string, Uint8Array>>,
  name = "model",
): ModelSource {
  if (typeof files !== "object" || files === null)
    throw new TypeError(
      `load: a model must be a path, an address or an object of files by name, got ${String(files)}`,
    );
  const byName = new Map(Object.entries(files));
  // By its tag: a file may come from another realm, such as that of a test.
  for (const [file, bytes] of byName)
    if (Object.prototype.toString.call(bytes) !== "[object Uint8Array]")
      throw new TypeError(`load: ${quote(file)} must be a Uint8Array, got ${typeof bytes}`);
  return { name, read: async (file) => byName.get(file) };
}

/**
 * The address of a folder, absolute.
 *
 * @param base  what it is relative to, where it may be
 * @throws {RangeError} it is none, or none that a file can be in
 */
export function folderAddress(location: string | URL, base: string | undefined): URL {
  let folder: URL;
  try {
    folder = new URL(location, base);
    if (!folder.pathname.endsWith("/")) folder.pathname += "/";
    // What has no path, such as data:, can be no base.
    void new URL("file", folder);
  } catch {
    throw new RangeError(
      `load: an address must be that of a folder, as https://host/folder, got ${quote(String(location))}`,
    );
  }
  return folder;
}

/**
 * A model folder at an address.
 *
 * @param url  of the folder; a final slash is not needed
 * @throws {RangeError} see folderAddress()
 * @throws {FormatError} FETCH, FETCH_STATUS, FETCH_SIZE; MODEL_FILE_SIZE a file is longer than allowed
 */
export function urlSource(
  url: string | URL,
  options: { readonly fetch?: typeof fetch; readonly signal?: AbortSignal } = {},
): ModelSource {
  // On a page an address may be relative, to the page.
  const folder = folderAddress(url, globalThis.document?.baseURI ?? globalThis.location?.href);
  const get = options.fetch ?? fetch;
  return {
    name: folder.href,
    async read(file, maxBytes) {
      const address = new URL(file, folder);
      address.search = folder.search;
      const { signal = null } = options;
      const response = await get(address, { signal }).catch((cause: unknown) => {
        signal?.throwIfAborted();
        throw unreachable(address.href, cause);
      });
      if (response.status === 404) {
        await response.body?.cancel();
        return undefined;
      }
      if (response.status !== 200) {
        await response.body?.cancel();
        throw new FormatError(
          "FETCH_STATUS",
          `fetch: ${address.href} must answer with status 200, got ${response.status}`,
        );
      }
      return readBody(response, address.href, maxBytes);
    },
  };
}

/** fetch() fails with two words; why, it says in its cause, if at all. */
function unreachable(address: string, error: unknown): FormatError {
  const { cause = error } = error instanceof Error ? error : {};
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  const fault = new FormatError("FETCH", `fetch: ${address} must be reachable, got ${reason}`);
  fault.cause = error;
  return fault;
}

/** The body, counted as it comes: a compressed one may be far larger than the header says. */
async function readBody(response: Response, name: string, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  if (response.body)
    for await (const part of chunks(response.body)) {
      length += part.length;
      if (length > maxBytes)
        throw new FormatError(
          "MODEL_FILE_SIZE",
          `fetch: ${name} must have at most ${maxBytes} bytes, got more`,
        );
      parts.push(part);
    }
  // The length is that of the compressed body when there is an encoding.
  const promised = response.headers.get("content-length");
  if (promised !== null && !response.headers.has("content-encoding") && length !== Number(promised))
    throw new FormatError(
      "FETCH_SIZE",
      `fetch: ${name} must have the ${promised} bytes it was announced with, got ${length}`,
    );
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Streams are not async-iterable in every browser. Leaving the loop cancels the download. */
async function* chunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
