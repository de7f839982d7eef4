// Weights go to a safetensors file and back, under the names that PyTorch gives them.
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  init,
  LSTM,
  packWeights,
  parseSafetensors,
  serializeSafetensors,
  unpackWeights,
} from "heed";

const heed = await init({ threads: 1 });
const file = join(tmpdir(), `heed-lstm-${process.pid}.safetensors`);

// As torch.nn.LSTM(6, 4) would be saved by safetensors.torch.save_file(lstm.state_dict(), file).
const lstm = new LSTM(heed, 6, 4);
const weights = new Map(
  [...lstm.stateDict()].map(([name, x]) => [name, { shape: x.shape, values: x.read() }]),
);
await writeFile(file, serializeSafetensors(packWeights(weights, "f32")));

const { tensors } = parseSafetensors(await readFile(file), file);
for (const [name, { dtype, shape }] of tensors) console.log(`${name}: ${dtype} [${shape}]`);

// load() takes all names or none: what is missing, extra or of another shape is told.
const again = new LSTM(heed, 6, 4).load(unpackWeights(tensors));
const x = heed.tensor(new Float32Array(18).fill(0.5), [1, 3, 6]);
const [before, after] = [lstm, again].map((model) =>
  heed.scope(() => model.forward(x).output.read()),
);
console.log(
  "the same output:",
  before.every((value, i) => value === after[i]),
);

await rm(file);
heed.dispose();
