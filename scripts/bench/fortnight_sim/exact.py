"""What the best plan would lose on small instances: the optimum by a solver, and the bound of its linear relaxation.

Prompts of a few turns, charged at once, on accounts whose windows follow each other: there an assignment is all that
there is to decide, and HiGHS (in scipy, the extra `solver`) knows the best one. It holds the clairvoyant to account,
who stands for the optimum where nobody knows it.
"""

# ruff: noqa: S311 - seeded on purpose

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from importlib.util import find_spec

from fortnight_sim import oracle
from fortnight_sim.judge import CLAIRVOYANT
from fortnight_sim.policies import POLICIES
from fortnight_sim.scenario import Instance, Scenario
from fortnight_sim.simulate import SLICE_TURNS, Simulation
from fortnight_sim.vendor import FORTNIGHT, HOUR, Meter, Plan, capacity
from fortnight_sim.work import Prompt
from oulipoly_engine.records import Record, replace

INSTANCES = 12
OPTIMUM, LINEAR = "optimum", "linear bound"
HOW_TO_INSTALL = "scipy is not installed, so no solver says what the best plan would lose: pip install '.[solver]'"
_PLANS = (
    Plan("large", 60, 20, burst_rolls=False),
    Plan("small", 24, 9, burst_rolls=False),
    Plan("flat", 36, None),
)
_LOAD, _PROMPTS, _SITTINGS = 1.1, 36, 6
_LIMIT_S = 20.0  # for one instance; where a gap is left, the bound counts
_STRICTLY = 1e-6  # a window admits a prompt while less than its size is spent


class Bound(Record):
    """What the best plan loses, and what the linear relaxation says that it loses at least."""

    optimum: float  # share of the work wanted
    linear: float


def small_instance(seed: int) -> Instance:
    """Return a fortnight of some dozens of prompts, of one slice of turns each and without a length."""
    rng = random.Random(seed)
    begins = [rng.uniform(0, FORTNIGHT - 5 * HOUR) for _ in range(_SITTINGS)]
    times = sorted(rng.choice(begins) + rng.uniform(0, 4 * HOUR) for _ in range(_PROMPTS))
    prompts = [Prompt(at_s, rng.randint(1, SLICE_TURNS), rng.lognormvariate(0, 0.5)) for at_s in times]
    factor = _LOAD * capacity(_PLANS) / sum(prompt.cost for prompt in prompts)
    scaled = tuple(replace(prompt, turn_cost=prompt.turn_cost * factor) for prompt in prompts)
    count = len(_PLANS)
    scenario = Scenario("small", _LOAD, seed, plans=_PLANS)
    return Instance(scenario, _PLANS, scaled, 0.0, (0.0,) * count, (FORTNIGHT,) * count, (), ())


def play(seed: int) -> dict[str, float]:
    """Return the work lost on an instance by each rule, the clairvoyant, the best plan and the linear bound."""
    instance = small_instance(seed)
    lost = {rule: Simulation(instance, policy).run().lost for rule, policy in POLICIES.items()}
    lost[CLAIRVOYANT] = min([*lost.values(), *(outcome.lost for outcome in oracle.play(instance))])
    bound = solve(instance)
    return {**lost, OPTIMUM: bound.optimum, LINEAR: bound.linear}


def play_all(workers: Executor, seeds: Sequence[int]) -> Mapping[str, float]:
    """Return the means over some instances, those that lose least first."""
    played = list(workers.map(play, seeds))
    means = {rule: sum(lost[rule] for lost in played) / len(played) for rule in played[0]}
    return dict(sorted(means.items(), key=lambda each: each[1]))


def is_solver_installed() -> bool:
    """Tell whether scipy can be imported."""
    return find_spec("scipy") is not None


def solve(instance: Instance) -> Bound:
    """Find the assignment that serves most. ImportError: scipy is not installed.

    A variable for each prompt on each account, and one that says that it was the last which a window let in: that one
    may overdraw it, as the vendors allow, and nothing comes behind it until the reset.
    """
    import numpy  # noqa: PLC0415 - of the extra `solver`
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415
    from scipy.sparse import coo_array  # noqa: PLC0415

    costs = [prompt.cost for prompt in instance.prompts]
    count, wide = len(costs), len(instance.plans)
    gains = [-cost for cost in costs for _ in range(wide)]
    rows: list[tuple[dict[int, float], float]] = [  # coefficients, at most
        ({prompt * wide + place: 1.0 for place in range(wide)}, 1.0) for prompt in range(count)
    ]
    for place, login in enumerate(instance.logins()):
        for meter in login.meters:
            for (spent, *_), prompts in _cycles(meter, instance.prompts).items():
                served = [prompt * wide + place for prompt in prompts]
                lasts = [len(gains) + step for step in range(len(prompts))]
                gains += [0.0] * len(prompts)
                used = {column: costs[prompt] for column, prompt in zip(served, prompts, strict=True)}
                beyond = {column: -costs[prompt] for column, prompt in zip(lasts, prompts, strict=True)}
                rows.append((used | beyond, meter.size - spent - _STRICTLY))
                rows.append((dict.fromkeys(lasts, 1.0), 1.0))
                for step, last in enumerate(lasts):
                    rows.append(({last: 1.0, served[step]: -1.0}, 0.0))
                    rows += [({last: 1.0, later: 1.0}, 1.0) for later in served[step + 1 :]]
    entries = [(row, column, value) for row, (sums, _) in enumerate(rows) for column, value in sums.items()]
    places, columns, values = zip(*entries, strict=True)
    matrix = coo_array((values, (places, columns)), shape=(len(rows), len(gains)))
    limits = LinearConstraint(matrix.tocsr(), ub=numpy.array([most for _, most in rows]))
    wanted = sum(costs)

    def lost(integrality: int) -> float:
        options = {"time_limit": _LIMIT_S}
        kinds = numpy.full(len(gains), integrality)
        result = milp(numpy.array(gains), constraints=limits, bounds=Bounds(0, 1), integrality=kinds, options=options)
        best = result.mip_dual_bound if integrality else result.fun
        return 1 + best / wanted

    return Bound(lost(1), lost(0))


def _cycles(meter: Meter, prompts: Sequence[Prompt]) -> dict[tuple[float, float], list[int]]:
    """Return the prompts that come in each cycle of a window, by what was spent at its beginning and when that was."""
    cycles: dict[tuple[float, float], list[int]] = defaultdict(list)
    for place, prompt in enumerate(prompts):
        meter.pass_time(prompt.at_s)
        begin_s = meter.ended[-1].at_s if meter.ended else 0.0
        cycles[meter.spent, begin_s].append(place)
    return cycles
