/**
 * The safetensors format: eight bytes of header length, a JSON header, then the data of all tensors
 * without holes.
 *
 * Stricter than the reference reader on purpose: names stand once, fields are the three of the
 * format, and sizes have limits (16 MiB of header, 65,536 tensors, rank 8, 2⁴⁸ − 1 a dimension,
 * 512 bytes a name). Bytes are little-endian, as in every host that runs WebAssembly.
 */
import { FormatError } from "../errors.js";
import { checkedPad, checkedProduct, checkedSum, isCount } from "./checked.js";
import { quote } from "./quote.js";
import { type JsonValue, parseJson, showJson } from "./strict-json.js";

export type FileDType = "F32" | "F16" | "BF16" | "I8" | "U8" | "I32" | "I64";

export interface TensorEntry {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  /** The values' bytes, aligned for their dtype; a view of the file where that is possible. */
  readonly data: Uint8Array;
}

export interface SafetensorsFile {
  readonly metadata: ReadonlyMap<string, string>;
  /** In the order of their data. */
  readonly tensors: ReadonlyMap<string, TensorEntry>;
}

/** A tensor to write: any view whose bytes are its values. */
export interface TensorData {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  readonly data: ArrayBufferView;
}

export const LIMITS = {
  headerBytes: 16 * 2 ** 20,
  tensors: 65_536,
  rank: 8,
  dimension: 2 ** 48 - 1,
  nameBytes: 512,
} as const;

// Bytes of one value, in the order a file holds them: the wider first, as the reference writes.
const DTYPES: ReadonlyMap<FileDType, number> = new Map([
  ["I64", 8],
  ["F32", 4],
  ["I32", 4],
  ["BF16", 2],
  ["F16", 2],
  ["I8", 1],
  ["U8", 1],
]);
const DTYPE_ORDER = [...DTYPES.keys()];
const LENGTH_BYTES = 8;
const METADATA = "__metadata__";
// A tensor takes about fourteen JSON values: its object, three fields, eight dimensions, two offsets.
const MAX_HEADER_VALUES = LIMITS.tensors * 16;

/**
 * Reads a safetensors file.
 *
 * @param bytes     the whole file; it must not change as long as the entries are used
 * @param fileName  what errors begin with
 * @throws {FormatError} ST_TRUNCATED, ST_HEADER_SIZE, ST_HEADER, JSON_…, ST_DUPLICATE, ST_COUNT,
 *   ST_METADATA, ST_NAME, ST_FIELD, ST_DTYPE, ST_SHAPE, ST_RANK, ST_DIM, ST_OVERFLOW, ST_OFFSETS,
 *   ST_SIZE, ST_OVERLAP, ST_HOLE, ST_TRAILING
 * @source https://huggingface.co/docs/safetensors, "Format"
 */
export function parseSafetensors(bytes: Uint8Array, fileName = "safetensors"): SafetensorsFile {
  // 1. the header's extent
  const dataBegin = headerEnd(bytes, fileName);

  // 2. the header's syntax
  const header = parseJson(bytes.subarray(LENGTH_BYTES, dataBegin), {
    who: fileName,
    maxBytes: LIMITS.headerBytes,
    maxValues: MAX_HEADER_VALUES,
    duplicateCode: "ST_DUPLICATE",
  });
  if (!(header instanceof Map))
    throw new FormatError("ST_HEADER", `${fileName}: the header must be a JSON object`);
  const metadata = readMetadata(header.get(METADATA), fileName);
  header.delete(METADATA);
  expectCount(header.size, fileName);

  // 3. each tensor alone
  const dataBytes = bytes.length - dataBegin;
  const described = [...header].map(([name, value]) => describe(name, value, dataBytes, fileName));

  // 4. all of them together: the data section is covered once
  described.sort((a, b) => a.begin - b.begin || a.end - b.end);
  expectCover(described, dataBytes, fileName);

  const tensors = new Map<string, TensorEntry>();
  for (const { name, dtype, shape, begin, end } of described) {
    const data = aligned(bytes.subarray(dataBegin + begin, dataBegin + end), bytesOf(dtype));
    tensors.set(name, { dtype, shape, data });
  }
  return { metadata, tensors };
}

/**
 * Writes a safetensors file; equal content gives equal bytes.
 *
 * Tensors are sorted by dtype (wider first) and name, metadata by key, and the header is padded with
 * spaces, so that each tensor is aligned within the file.
 *
 * @throws {FormatError} a tensor or the header breaks a rule of the format, with the codes above
 */
export function serializeSafetensors(
  tensors: ReadonlyMap<string, TensorData>,
  metadata: ReadonlyMap<string, string> = new Map(),
): Uint8Array<ArrayBuffer> {
  const who = "safetensors";
  expectCount(tensors.size, who);
  const sorted = [...tensors].sort(
    ([nameA, a], [nameB, b]) =>
      DTYPE_ORDER.indexOf(a.dtype) - DTYPE_ORDER.indexOf(b.dtype) || compareUtf8(nameA, nameB),
  );

  const fields: string[] = [];
  const texts = [...metadata].sort(([a], [b]) => compareUtf8(a, b));
  if (texts.length > 0)
    fields.push(
      `"${METADATA}":{${texts.map(([key, text]) => `${text8(key, who)}:${text8(text, who)}`).join(",")}}`,
    );
  let end = 0;
  for (const [name, { dtype, shape, data }] of sorted) {
    expectName(name, who);
    expectDType(name, dtype, who);
    const size = sizeInBytes(name, dtype, shape, who);
    if (size !== data.byteLength)
      throw fault("ST_SIZE", who, name, `must have ${size} bytes`, `${data.byteLength}`);
    const begin = end;
    end = checkedSum(begin, size) ?? overflow(who, name, shape);
    fields.push(
      `${text8(name, who)}:{"dtype":"${dtype}","shape":[${shape.join(",")}],"data_offsets":[${begin},${end}]}`,
    );
  }

  const header = new TextEncoder().encode(`{${fields.join(",")}}`);
  const headerBytes = checkedPad(header.length, LENGTH_BYTES);
  const total = checkedSum(LENGTH_BYTES, headerBytes, end);
  if (headerBytes === undefined || total === undefined || headerBytes > LIMITS.headerBytes)
    throw new FormatError(
      "ST_HEADER_SIZE",
      `${who}: the header must have at most ${LIMITS.headerBytes} bytes, got ${header.length}`,
    );
  const file = new Uint8Array(total);
  new DataView(file.buffer).setBigUint64(0, BigInt(headerBytes), true);
  file.set(header, LENGTH_BYTES);
  file.fill(0x20, LENGTH_BYTES + header.length, LENGTH_BYTES + headerBytes);
  let at = LENGTH_BYTES + headerBytes;
  for (const [, { data }] of sorted) {
    file.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  return file;
}

interface Described {
  readonly name: string;
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

function headerEnd(bytes: Uint8Array, file: string): number {
  if (bytes.length < LENGTH_BYTES)
    throw new FormatError(
      "ST_TRUNCATED",
      `${file}: the file must have at least ${LENGTH_BYTES} bytes, got ${bytes.length}`,
    );
  const length = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  if (length > BigInt(LIMITS.headerBytes))
    throw new FormatError(
      "ST_HEADER_SIZE",
      `${file}: the header must have at most ${LIMITS.headerBytes} bytes, got ${length}. Is this a safetensors file?`,
    );
  const end = checkedSum(LENGTH_BYTES, Number(length));
  if (end === undefined || end > bytes.length)
    throw new FormatError(
      "ST_TRUNCATED",
      `${file}: the ${length}-byte header must end inside the file, got ${bytes.length} bytes. The file may be cut short`,
    );
  if (length === 0n || bytes[LENGTH_BYTES] !== 0x7b)
    throw new FormatError(
      "ST_HEADER",
      `${file}: the header must begin with "{", got ${length === 0n ? "nothing" : `byte ${bytes[LENGTH_BYTES]}`}. Is this a safetensors file?`,
    );
  return end;
}

function readMetadata(value: JsonValue | undefined, file: string): Map<string, string> {
  const metadata = new Map<string, string>();
  if (value === undefined) return metadata;
  if (!(value instanceof Map))
    throw new FormatError(
      "ST_METADATA",
      `${file}: "${METADATA}" must map text to text, got ${showJson(value)}`,
    );
  for (const [key, text] of value) {
    if (typeof text !== "string")
      throw new FormatError(
        "ST_METADATA",
        `${file}: "${METADATA}" must map text to text, got ${showJson(text)} for ${quote(key)}`,
      );
    metadata.set(key, text);
  }
  return metadata;
}

function describe(name: string, value: JsonValue, dataBytes: number, file: string): Described {
  expectName(name, file);
  if (!(value instanceof Map))
    throw fault("ST_FIELD", file, name, "must be an object", showJson(value));
  for (const key of value.keys())
    if (key !== "dtype" && key !== "shape" && key !== "data_offsets")
      throw fault(
        "ST_FIELD",
        file,
        name,
        "must have only dtype, shape and data_offsets",
        quote(key),
      );

  const dtype = expectDType(name, value.get("dtype"), file);
  const shape = value.get("shape");
  if (!Array.isArray(shape))
    throw fault("ST_SHAPE", file, name, "must have an array as shape", showJson(shape));
  const size = sizeInBytes(name, dtype, shape, file);

  const offsets = value.get("data_offsets");
  const [begin, end] = Array.isArray(offsets) && offsets.length === 2 ? offsets : [];
  if (!isCount(begin) || !isCount(end) || begin > end)
    throw fault(
      "ST_OFFSETS",
      file,
      name,
      "must have data_offsets [begin, end]",
      Array.isArray(offsets) ? showList(offsets) : showJson(offsets),
    );
  if (end > dataBytes)
    throw fault(
      "ST_OFFSETS",
      file,
      name,
      `must end inside the ${dataBytes}-byte data section`,
      `offsets ${showList([begin, end])}. The file may be cut short`,
    );
  if (end - begin !== size)
    throw fault(
      "ST_SIZE",
      file,
      name,
      `must have ${size} bytes (${dtype} ${showList(shape)})`,
      `offsets ${showList([begin, end])}`,
    );
  // sizeInBytes let only counts pass.
  return { name, dtype, shape: shape as number[], begin, end };
}

/** Bytes of a tensor's values, its shape checked. */
function sizeInBytes(
  name: string,
  dtype: FileDType,
  shape: readonly (JsonValue | undefined)[],
  file: string,
): number {
  if (shape.length > LIMITS.rank)
    throw fault(
      "ST_RANK",
      file,
      name,
      `must have at most ${LIMITS.rank} dimensions`,
      `${shape.length}`,
    );
  const dimensions = shape.map((dimension) => {
    if (isCount(dimension) && dimension <= LIMITS.dimension) return dimension;
    throw fault(
      "ST_DIM",
      file,
      name,
      "must have dimensions from 0 to 2^48 − 1",
      showJson(dimension),
    );
  });
  return checkedProduct([...dimensions, bytesOf(dtype)]) ?? overflow(file, name, dimensions);
}

function expectCover(sorted: readonly Described[], dataBytes: number, file: string): void {
  let covered = 0;
  for (const { name, begin, end } of sorted) {
    if (begin !== covered) {
      const [code, what] =
        begin < covered
          ? ["ST_OVERLAP", "overlap no other"]
          : ["ST_HOLE", "leave no hole before it"];
      throw fault(
        code,
        file,
        name,
        `must ${what}: it must begin at ${covered}`,
        `offsets ${showList([begin, end])}`,
      );
    }
    covered = end;
  }
  if (covered !== dataBytes)
    throw new FormatError(
      "ST_TRAILING",
      `${file}: the file must end with its last tensor, got ${dataBytes - covered} bytes after it`,
    );
}

function expectCount(tensors: number, file: string): void {
  if (tensors > LIMITS.tensors)
    throw new FormatError(
      "ST_COUNT",
      `${file}: the file must hold at most ${LIMITS.tensors} tensors, got ${tensors}`,
    );
}

function expectName(name: string, file: string): void {
  // UTF-8 takes at most three bytes for each UTF-16 unit, so short names need no encoding.
  const bytes = name.length * 3 <= LIMITS.nameBytes ? 0 : new TextEncoder().encode(name).length;
  if (bytes > LIMITS.nameBytes || name === METADATA)
    throw fault(
      "ST_NAME",
      file,
      name,
      `must have another name of at most ${LIMITS.nameBytes} bytes`,
      name === METADATA ? "the name of the metadata" : `${bytes} bytes`,
    );
}

/** A JSON string; text that UTF-8 cannot hold is refused. */
function text8(text: string, file: string): string {
  if (/\p{Surrogate}/u.test(text))
    throw new FormatError(
      "ST_NAME",
      `${file}: names and metadata must be well-formed Unicode, got ${quote(text)}`,
    );
  return JSON.stringify(text);
}

/** Order of UTF-8 bytes, which is that of code points; `<` compares UTF-16 units. */
function compareUtf8(a: string, b: string): number {
  let i = 0;
  while (i < a.length && i < b.length && a.charCodeAt(i) === b.charCodeAt(i)) i++;
  return codePointRank(a, i) - codePointRank(b, i);
}

/** Surrogates stand for code points above the whole of the BMP. */
function codePointRank(text: string, i: number): number {
  if (i >= text.length) return -1;
  const unit = text.charCodeAt(i);
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

function aligned(view: Uint8Array, alignment: number): Uint8Array {
  return view.byteOffset % alignment === 0 ? view : view.slice();
}

function expectDType(name: string, dtype: JsonValue | undefined, file: string): FileDType {
  if (DTYPES.has(dtype as FileDType)) return dtype as FileDType;
  const known = DTYPE_ORDER.join(", ");
  throw fault("ST_DTYPE", file, name, `must have a dtype of ${known}`, showJson(dtype));
}

function bytesOf(dtype: FileDType): number {
  return DTYPES.get(dtype) ?? 0;
}

function showList(values: readonly JsonValue[]): string {
  return `[${values.slice(0, 9).map(showJson).join(", ")}]`;
}

function overflow(file: string, name: string, shape: readonly number[]): never {
  throw fault("ST_OVERFLOW", file, name, "must have fewer than 2^53 bytes", showList(shape));
}

function fault(code: string, file: string, name: string, what: string, got: string): FormatError {
  return new FormatError(code, `${file}: tensor ${quote(name)} ${what}, got ${got}`);
}
