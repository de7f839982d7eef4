// Reads what a WebAssembly module imports, exports and holds; enough of the format for the checks of kernels.
// Sections and encodings: WebAssembly core specification, 5.5.

const SECTION = { import: 2, global: 6, export: 7, start: 8, data: 11 };
const KIND = ["function", "table", "memory", "global", "tag"];

/** → { imports, globals, exports, segments, start } */
export function readModule(bytes) {
  const module = { imports: [], globals: { mutable: 0 }, exports: [], segments: 0, start: false };
  const reader = new Reader(bytes);
  if (reader.u32le() !== 0x6d736100 || reader.u32le() !== 1) throw new Error("another header");
  while (!reader.done) {
    const id = reader.byte();
    const section = new Reader(reader.take(reader.leb()));
    if (id === SECTION.import) module.imports = section.vector(readImport);
    if (id === SECTION.export) module.exports = section.vector(readExport);
    if (id === SECTION.data) module.segments = section.leb();
    if (id === SECTION.start) module.start = true;
    if (id === SECTION.global)
      module.globals.mutable = section.vector(readGlobal).filter((mutable) => mutable).length;
  }
  return module;
}

function readImport(section) {
  const module = section.name();
  const name = section.name();
  const kind = KIND[section.byte()];
  if (kind === "function") section.leb();
  if (kind === "table") section.skipTable();
  if (kind === "global") section.take(2);
  if (kind === "tag") section.take(1) && section.leb();
  return { module, name, kind, ...(kind === "memory" && { shared: section.limits() }) };
}

function readExport(section) {
  const name = section.name();
  const kind = KIND[section.byte()];
  section.leb();
  return { name, kind };
}

/** → whether it is mutable. Its first value is skipped: constants of AssemblyScript are one instruction. */
function readGlobal(section) {
  section.byte();
  const mutable = section.byte() === 1;
  const instruction = section.byte();
  if (instruction === 0x41 || instruction === 0x42 || instruction === 0x23) section.leb();
  else if (instruction === 0x43) section.take(4);
  else if (instruction === 0x44) section.take(8);
  else if (instruction === 0xfd && section.leb() === 12) section.take(16);
  else throw new Error(`a global of unknown value, instruction ${instruction}`);
  section.byte(); // end
  return mutable;
}

class Reader {
  #bytes;
  #at = 0;

  constructor(bytes) {
    this.#bytes = bytes;
  }

  get done() {
    return this.#at >= this.#bytes.length;
  }

  byte() {
    return this.take(1)[0];
  }

  take(count) {
    if (this.#at + count > this.#bytes.length) throw new Error("an end too early");
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  u32le() {
    return Buffer.from(this.take(4)).readUInt32LE();
  }

  /** Unsigned LEB128 of up to 64 bits; good enough to step over signed ones. */
  leb() {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  name() {
    return new TextDecoder().decode(this.take(this.leb()));
  }

  vector(read) {
    return Array.from({ length: this.leb() }, () => read(this));
  }

  skipTable() {
    this.byte();
    this.limits();
  }

  /** → whether the limits are those of a shared memory. */
  limits() {
    const flags = this.leb();
    this.leb();
    if (flags & 1) this.leb();
    return (flags & 2) !== 0;
  }
}
