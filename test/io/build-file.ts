// Builders of safetensors files, right and wrong, byte by byte.

/** A header's length and text, then the data: right only if they are. */
export function stFile(header: string | Uint8Array, data: number | Uint8Array = 0): Uint8Array {
  const text = typeof header === "string" ? new TextEncoder().encode(header) : header;
  return concat(u64(text.length), text, typeof data === "number" ? new Uint8Array(data) : data);
}

/** The description of a tensor as the format writes it. */
export function T(dtype: string, shape: string, offsets: string): string {
  return `{"dtype":"${dtype}","shape":${shape},"data_offsets":${offsets}}`;
}

export function u64(n: number | bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(n), true);
  return bytes;
}

export function bytes(...values: (number | string)[]): Uint8Array {
  return concat(
    ...values.map((v) => (typeof v === "string" ? new TextEncoder().encode(v) : Uint8Array.of(v))),
  );
}

export function concat(...parts: Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
