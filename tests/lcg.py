"""The generator of the reference cases: LCG, uniform and sum-of-twelve normal."""

import numpy as np


class Lcg:
    """x <- (1103515245 x + 12345) mod 2^31; u = (x + .5) / 2^31; normal = sum of 12 u - 6."""

    def __init__(self, seed: int) -> None:
        self.x = seed

    def uniform(self) -> float:
        self.x = (1103515245 * self.x + 12345) % 2**31
        return (self.x + 0.5) / 2**31

    def normal(self) -> float:
        return sum(self.uniform() for _ in range(12)) - 6.0

    def normals(self, *shape: int) -> np.ndarray:
        count = int(np.prod(shape))
        return np.array([self.normal() for _ in range(count)]).reshape(shape)

    def uniforms(self, count: int) -> np.ndarray:
        return np.array([self.uniform() for _ in range(count)])
