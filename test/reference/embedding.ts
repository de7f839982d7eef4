/** Rows of a table [vocab, width] by id. */
export function embedding(
  table: ArrayLike<number>,
  ids: ArrayLike<number>,
  width: number,
): Float64Array {
  const y = new Float64Array(ids.length * width);
  for (let i = 0; i < ids.length; i++)
    for (let j = 0; j < width; j++)
      y[i * width + j] = table[(ids[i] as number) * width + j] as number;
  return y;
}

/** dTable[ids[i]] = Σ dy[i], without those of id `padding`. */
export function embeddingGrad(
  dy: ArrayLike<number>,
  ids: ArrayLike<number>,
  vocab: number,
  width: number,
  padding = -1,
): Float64Array {
  const dTable = new Float64Array(vocab * width);
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] as number;
    if (id === padding) continue;
    for (let j = 0; j < width; j++)
      dTable[id * width + j] = (dTable[id * width + j] as number) + (dy[i * width + j] as number);
  }
  return dTable;
}
