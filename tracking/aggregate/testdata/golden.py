"""Golden numbers of package aggregate: interquartile means and bootstrap intervals of seeds.

Written with: python golden.py > golden.json. It needs NumPy and SciPy. The resamples are drawn by Go's generator
(math/rand/v2: PCG-DXSM and IntN), written again here, so that the bounds are equal to the last digits.
"""
import json

import numpy as np
from scipy.stats import trim_mean

MASK = (1 << 128) - 1


class PCG:
    """math/rand/v2.PCG of Go."""

    def __init__(self, seed1, seed2):
        self.state = seed1 << 64 | seed2

    def uint64(self):
        self.state = (self.state * 47026247687942121848144207491837523525 + 117397592171526113268558934119004209487) & MASK
        hi, lo = self.state >> 64, self.state & (1 << 64) - 1
        cheap = 0xDA942042E4DD58B5
        hi ^= hi >> 32
        hi = hi * cheap & (1 << 64) - 1
        hi ^= hi >> 48
        return hi * (lo | 1) & (1 << 64) - 1

    def int_n(self, n):
        """Rand.IntN for n below 2³²."""
        if n & n - 1 == 0:
            return self.uint64() & n - 1
        product = (self.uint64() >> 32) * n
        while product & 0xFFFFFFFF < (1 << 32) % n:
            product = (self.uint64() >> 32) * n
        return product >> 32


def estimate(values, statistic):
    random, n = PCG(1, 0), len(values)
    draws = [statistic(values[[random.int_n(n) for _ in range(n)]]) for _ in range(2000)]
    low, high = np.percentile(draws, [2.5, 97.5])
    return [float(statistic(values)), float(low), float(high)]


def curves(x, y, statistic):
    """Joins curves on the places of all, from the last beginning to the first end."""
    at = np.unique(np.concatenate(x))
    at = at[(at >= max(v[0] for v in x)) & (at <= min(v[-1] for v in x))]
    table = np.array([np.interp(at, a, b) for a, b in zip(x, y)])
    points = np.array([estimate(table[:, k], statistic) for k in range(len(at))])
    return [at.tolist()] + points.T.tolist()


def iqm(values):
    return trim_mean(values, 0.25)


random = np.random.default_rng(29)
cases = []
for n in (2, 3, 4, 5, 7, 8, 10):
    values = np.round(random.normal(200, 80, n), 3)
    cases.append({"values": values.tolist(), "mean": estimate(values, np.mean), "iqm": estimate(values, iqm)})
x = [np.cumsum(random.integers(1, 5, k)).astype(float) for k in (12, 9, 15, 11, 10)]
y = [np.round(10 * np.sqrt(v) + random.normal(0, 3, len(v)), 3) for v in x]
print(json.dumps({"cases": cases, "x": [v.tolist() for v in x], "y": [v.tolist() for v in y],
                  "mean": curves(x, y, np.mean), "iqm": curves(x, y, iqm)}))
