// Amplitude spectra: the fast Fourier transform of evenly spaced values.

import type { Range } from "./curves";

/** So many values at most are transformed. */
const MOST = 1 << 16;

/** The share of the variance from which on a line is a trend, as the angle of a wheel that turns. */
const TREND = 0.5;

/** The transform in place, of as many values as a power of two. */
export function transform(re: Float64Array, im: Float64Array): void {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      [re[i], re[j]] = [re[j], re[i]];
      [im[i], im[j]] = [im[j], im[i]];
    }
  }
  for (let size = 2; size <= n; size *= 2) {
    const half = size / 2;
    for (let k = 0; k < half; k++) {
      const angle = (-2 * Math.PI * k) / size;
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      for (let a = k; a < n; a += size) {
        const b = a + half;
        const [x, y] = [re[b] * c - im[b] * s, re[b] * s + im[b] * c];
        [re[b], im[b]] = [re[a] - x, im[a] - y];
        re[a] += x;
        im[a] += y;
      }
    }
  }
}

/** Values at evenly spaced times, on the lines between samples. */
function resampled(times: ArrayLike<number>, values: ArrayLike<number>, range: Range, n: number): Float64Array {
  const out = new Float64Array(n);
  const step = (range.to - range.from) / n;
  let row = 0;
  for (let i = 0; i < n; i++) {
    const t = range.from + i * step;
    while (row + 2 < times.length && times[row + 1] <= t) row++;
    const gap = times[row + 1] - times[row];
    const share = gap > 0 ? Math.min(Math.max((t - times[row]) / gap, 0), 1) : 0;
    out[i] = values[row] + share * ((values[row + 1] ?? values[row]) - values[row]);
  }
  return out;
}

/**
 * The amplitudes of curves within a range of time: a sine of amplitude a shows a peak of a at its frequency. The mean
 * is taken off, and a trend that is most of the curve; the ends are faded out by Hann's window, whose mean of 1/2 is divided out.
 */
export function spectrum(
  times: ArrayLike<number>, curves: (ArrayLike<number> | undefined)[], range: Range,
): { frequencies: Float64Array; amplitudes: (Float64Array | undefined)[] } {
  let inside = 0;
  for (let i = 0; i < times.length; i++) if (times[i] >= range.from && times[i] <= range.to) inside++;
  let n = 16;
  while (n < inside && n < MOST) n *= 2;
  const span = range.to - range.from;
  const frequencies = Float64Array.from({ length: n / 2 }, (_, k) => k / span);
  const amplitudes = curves.map((values) => {
    if (!values || times.length < 2 || !(span > 0)) return undefined;
    const re = resampled(times, values, range, n);
    const middle = (n - 1) / 2;
    const mean = re.reduce((a, v) => a + v, 0) / n;
    let [over, under, all] = [0, 0, 0];
    for (let i = 0; i < n; i++) {
      over += (i - middle) * (re[i] - mean);
      under += (i - middle) ** 2;
      all += (re[i] - mean) ** 2;
    }
    const slope = over * over > TREND * under * all ? over / under : 0;
    for (let i = 0; i < n; i++) re[i] = (re[i] - mean - slope * (i - middle)) * (1 - Math.cos((2 * Math.PI * i) / n));
    const im = new Float64Array(n);
    transform(re, im);
    return Float64Array.from({ length: n / 2 }, (_, k) => (2 / n) * Math.hypot(re[k], im[k]));
  });
  return { frequencies, amplitudes };
}
