"""Error rates on small worlds with planted truth; `make calibrate` measures the large ones.

The bounds are exact binomial ones: a screen with the stated rates passes with probability above .999.
"""

import pytest
from scipy.stats import binom

from workbench.analysis.screen import screen
from workbench.model.verdict import Word
from workbench.panel.simulated import world_fleets
from workbench.simulator.plants import PRECURSORS, Plant, Role
from workbench.simulator.world import make_world

WORLDS = 5
SHAPES = (Role.RAMP, Role.BURST, Role.SHIFT, Role.VAR)
TRAPS = (
    Role.LOAD,
    Role.TEMPERATURE,
    Role.PHASE,
    Role.FRAIL,
    Role.SELECT,
    Role.SKEW,
    Role.AFTER,
    Role.ROLLOUT,
    Role.COOLING,
)
PLANTS = (
    *(Plant(name=f"{role}_60", role=role, share=0.6) for role in SHAPES),
    *(Plant(name=str(role), role=role) for role in TRAPS),
    *(Plant(name=f"noise_{base}", role=Role.NOISE, base=base) for base in ("ar99", "walk", "heavy", "sparse")),
)


@pytest.fixture(scope="module")
def outcomes() -> list[tuple[bool, Role, Word, float]]:
    found = []
    for seed in range(WORLDS):
        world = make_world(seed=500 + seed, failures=40, hosts=64, days=3, plants=PLANTS)
        result = screen(world_fleets(world), world.incidents(), "failure", before_s=7200.0, seed=seed)
        for verdict in result.verdicts:
            role = world.truth[verdict.signal].role
            found.append((role in PRECURSORS, role, verdict.word, verdict.p))
    return found


def most(count: int, rate: float) -> int:
    return int(binom.ppf(0.9995, count, rate))


def test_planted_precursors_are_found_and_none_refuted(outcomes):
    words = [word for planted, _, word, _ in outcomes if planted]
    assert len(words) == 4 * WORLDS
    assert words.count(Word.SUPPORTED) >= len(words) - most(len(words), 0.10)
    assert words.count(Word.REFUTED) <= most(len(words), 0.05)


def test_traps_and_noise_are_not_supported(outcomes):
    words = [word for planted, _, word, _ in outcomes if not planted]
    # an FDP of .05 beside four true findings a world allows about .05 * 4 / .95 false ones among 13
    assert words.count(Word.SUPPORTED) <= most(len(words), 0.05 * 4 / 0.95 / 13)


def test_noise_keeps_its_level(outcomes):
    p = [p for _, role, _, p in outcomes if role is Role.NOISE]
    assert sum(value <= 0.05 for value in p) <= most(len(p), 0.05)
