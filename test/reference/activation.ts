/** Activations in float64 from their definitions, slow and obvious; erf is not in JavaScript. */

/** erf x: the series ∑ (−1)ᵏ·x²ᵏ⁺¹/(k!·(2k + 1)) inside, 1 − erfc x outside. */
export function erf(x: number): number {
  if (x === 0) return x; // −0 too
  if (Math.abs(x) > 2.5) return Math.sign(x) * (1 - erfc(Math.abs(x)));
  let term = x;
  let sum = x;
  for (let k = 1; k < 100; k++) {
    term *= (-x * x) / k;
    sum += term / (2 * k + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

/** 1 − erf x for x > 2 by its continued fraction, with all digits however small it is. */
function erfc(x: number): number {
  let fraction = 0;
  for (let k = 80; k > 0; k--) fraction = k / 2 / (x + fraction);
  return Math.exp(-x * x) / (x + fraction) / Math.sqrt(Math.PI);
}

/** (1 + erf(x/√2))/2, relatively exact on the left too. */
function normal(x: number): number {
  return x < -4 ? erfc(-x / Math.SQRT2) / 2 : (1 + erf(x / Math.SQRT2)) / 2;
}

export function sigmoid(x: number): number {
  return x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x));
}

export function relu(x: number): number {
  return Math.max(x, 0);
}

export function geluErf(x: number): number {
  return x === -Infinity ? 0 : x * normal(x);
}

export function geluTanh(x: number): number {
  if (x === -Infinity) return 0;
  return x * sigmoid(2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3));
}

export function silu(x: number): number {
  return x * sigmoid(x);
}

/** f′(x), from x. */
export const slopes = {
  relu: (x: number) => (x > 0 ? 1 : 0),
  geluErf: (x: number) => normal(x) + (x * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI),
  geluTanh(x: number) {
    const h = sigmoid(2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3));
    return h + 2 * x * h * (1 - h) * Math.sqrt(2 / Math.PI) * (1 + 3 * 0.044715 * x * x);
  },
  silu: (x: number) => sigmoid(x) * (1 + x * (1 - sigmoid(x))),
  tanh: (x: number) => 1 - Math.tanh(x) ** 2,
  sigmoid: (x: number) => sigmoid(x) * (1 - sigmoid(x)),
  exp: (x: number) => Math.exp(x),
  log: (x: number) => 1 / x,
  sqrt: (x: number) => 1 / (2 * Math.sqrt(x)),
};
