import { additiveAttention } from "../src/ops/additive-attention.js";
import { seeded } from "./harness/arrays.js";
import type { Bench } from "./harness/bench.js";

const BATCH = 64;
const POSITIONS = 12;
const WIDTH = 256;

/** What the translator's decoder asks for at every step of training: one query a row. */
const step: Bench = {
  name: `additive attention ${BATCH} × ${POSITIONS} × ${WIDTH}`,
  work: { bytes: 4 * BATCH * (2 * POSITIONS + 2) * WIDTH },
  setup(heed) {
    const source = [BATCH, POSITIONS, WIDTH];
    const query = heed.tensor(seeded(BATCH * WIDTH, 1), [BATCH, 1, WIDTH]);
    const keys = heed.tensor(seeded(BATCH * POSITIONS * WIDTH, 2), source);
    const values = heed.tensor(seeded(BATCH * POSITIONS * WIDTH, 3), source);
    const v = heed.tensor(seeded(WIDTH, 4, 0.1));
    return () => additiveAttention(query, keys, v, values).context;
  },
};

export const benches: readonly Bench[] = [step];
