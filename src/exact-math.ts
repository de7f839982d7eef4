/**
 * Elementary functions with the same bits in every engine.
 *
 * Engines differ in Math.exp, log, sin, cos and pow, but not in + − × ÷ and floor, which IEEE 754
 * fixes. These series use only those, in float64, to about 1e-15 relative. They serve tables and
 * penalties, not inner loops.
 */

// ln 2 and π/2 in two parts: the first has few enough bits that a small integer times it is exact.
const LN2_HIGH = 45426 / 2 ** 16;
const LN2_LOW = 0.0000014286068203094173;
const HALF_PI_HIGH = 1.5707963267341256;
const HALF_PI_LOW = 6.077100506506192e-11;

/** eˣ by 2ᵏ·eʳ with |r| ≤ ln 2 / 2 and the Taylor series of eʳ. */
export function exactExp(x: number): number {
  if (Number.isNaN(x)) return x;
  if (x > 709) return Infinity;
  if (x < -745) return 0;
  const k = Math.floor(x / (LN2_HIGH + LN2_LOW) + 0.5);
  const r = x - k * LN2_HIGH - k * LN2_LOW;
  let term = 1;
  let sum = 1;
  for (let n = 1; n <= 18; n++) {
    term *= r / n;
    sum += term;
  }
  return sum * powerOfTwo(k);
}

/** ln x by x = m·2ᵏ with m in [√½, √2) and ln m = 2·artanh((m − 1)/(m + 1)). */
export function exactLog(x: number): number {
  if (!(x > 0)) return x === 0 ? -Infinity : Number.NaN;
  if (x === Infinity) return x;
  let m = x;
  let k = 0;
  for (; m >= Math.SQRT2; m /= 2) k++;
  for (; m < Math.SQRT1_2; m *= 2) k--;
  const s = (m - 1) / (m + 1);
  let power = s;
  let sum = 0;
  for (let n = 1; n <= 39; n += 2) {
    sum += power / n;
    power *= s * s;
  }
  return k * LN2_HIGH + (k * LN2_LOW + 2 * sum);
}

/** x to the power of y, for x ≥ 0. */
export function exactPower(x: number, y: number): number {
  if (y === 0) return 1;
  return x === 0 ? (y > 0 ? 0 : Infinity) : exactExp(y * exactLog(x));
}

/** sin x and cos x, for |x| up to about 10⁶. */
export function exactSinCos(x: number): { sin: number; cos: number } {
  const quarter = Math.floor(x / (HALF_PI_HIGH + HALF_PI_LOW) + 0.5);
  const r = x - quarter * HALF_PI_HIGH - quarter * HALF_PI_LOW;
  let sin = 0;
  let cos = 0;
  let term = 1;
  for (let n = 0; n <= 20; n += 2) {
    cos += term;
    const odd = (term * r) / (n + 1);
    sin += odd;
    term = (-odd * r) / (n + 2);
  }
  switch (((quarter % 4) + 4) % 4) {
    case 0:
      return { sin, cos };
    case 1:
      return { sin: cos, cos: -sin };
    case 2:
      return { sin: -sin, cos: -cos };
    default:
      return { sin: -cos, cos: sin };
  }
}

function powerOfTwo(k: number): number {
  let result = 1;
  const factor = k < 0 ? 0.5 : 2;
  for (let n = Math.abs(k); n > 0; n--) result *= factor;
  return result;
}
