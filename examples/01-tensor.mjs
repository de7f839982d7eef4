// Tensors live in WebAssembly memory; a scope gives back what it made.
import { add, init, matmul, softmax } from "heed";

const heed = await init({ threads: 1 });

const a = heed.tensor([1, 2, 3, 4, 5, 6], [2, 3]);
const b = heed.tensor([1, 0, 0, 1, 1, 1], [3, 2]);

// Everything made in a scope is freed at its end, but for what it returns.
const y = heed.scope(() => softmax(add(matmul(a, b), heed.tensor([10, 11], [2]))));

console.log(`a·b + bias, softmax over each row: ${y}`);
console.log(y.read());
console.log(`${heed.info().memory.used} bytes in use, on ${heed.threads} thread`);

heed.dispose(); // the memory, and workers if there are any
