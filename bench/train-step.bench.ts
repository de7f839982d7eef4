import { Seq2Seq } from "../src/models/seq2seq.js";
import { backward } from "../src/ops/tape.js";
import { AdamW } from "../src/optim/adam-w.js";
import { clipGradientNorm } from "../src/optim/clip.js";
import type { Bench } from "./harness/bench.js";

/** Tokens a sentence, start and end included: about what the translator is trained on. */
const SOURCE = 11;
const TARGET = 11;
const BATCH = 64;
const VOCABULARY = 4000;
const EMBEDDING = 192;
const HIDDEN = 256;
const DROPOUT = 0.2;
const RATE = 1e-3;
const CLIP = 1;
const PADDING = 0;
/** The first id that is a piece of text or a mark of a sentence's start. */
const FIRST = 2;

/** One step: forward, loss, backward, clipped gradients, AdamW. The result is the loss of the first. */
function step(teacherForcing: number): Bench {
  return {
    name: `training step, ${SOURCE} → ${TARGET} tokens, teacher forcing ${teacherForcing}`,
    ownScope: true,
    setup(heed) {
      heed.seed(1);
      const model = new Seq2Seq(heed, {
        sourceVocab: VOCABULARY,
        targetVocab: VOCABULARY,
        embedding: EMBEDDING,
        hidden: HIDDEN,
        dropout: DROPOUT,
        padding: PADDING,
      });
      model.train();
      const optimizer = new AdamW(model.parameters(), { rate: RATE });
      const ids = (count: number): Int32Array =>
        Int32Array.from({ length: count }, () => FIRST + (heed.nextSeed() % (VOCABULARY - FIRST)));
      const source = heed.tensor(ids(BATCH * SOURCE), [BATCH, SOURCE]);
      const target = heed.tensor(ids(BATCH * TARGET), [BATCH, TARGET]);
      const lengths = heed.tensor(new Int32Array(BATCH).fill(SOURCE));
      return () =>
        heed.scope(() => {
          optimizer.zeroGrad();
          const { logits } = model.predict(source, lengths, target, { teacherForcing });
          const loss = model.loss(logits, target);
          backward(loss);
          clipGradientNorm(model.parameters().values(), CLIP);
          optimizer.step();
          return [loss.item()];
        });
    },
    peers: {
      pytorch: {
        batch: BATCH,
        source: SOURCE,
        target: TARGET,
        vocabulary: VOCABULARY,
        embedding: EMBEDDING,
        hidden: HIDDEN,
        dropout: DROPOUT,
        rate: RATE,
        teacherForcing,
      },
    },
    // Weights and dropout are each program's own: only the loss of an untrained model, ln 4000, is the
    // same. That the gradients are PyTorch's, test/pytorch checks.
    tolerance: 0.02,
    bars: { pytorch: [0.35, 0.6] },
  };
}

export const benches: readonly Bench[] = [step(1), step(0.5)];
