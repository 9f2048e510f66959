"""Plays PettingZoo's games without gorl, with random actions, and writes all that happened as arrays; see TestPeersGames.

python games_reference.py NAME N STEPS SEED FILE: NAME is a module, with ":aec" behind it for turns. Copy i is seeded with
SEED + i. An agent that is in none of the dictionaries sees zeros. Turns are played as PettingZoo's documentation does:
agent_iter and last, whose reward is what the agent got since its last turn.
"""

import importlib
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")


def seen_and_allowed(value, space):
    """What an agent sees, and its action mask."""
    if isinstance(value, dict):
        return value["observation"], value["action_mask"]
    return value, np.ones(space.n)


def state(env):
    try:
        return np.ravel(env.state())
    except NotImplementedError:
        return np.zeros(0)


class Record:
    def __init__(self):
        self.rows = {}

    def add(self, **values):
        for name, value in values.items():
            self.rows.setdefault(name, []).append(np.asarray(value, np.float64).reshape(-1))

    def arrays(self):
        return {name: np.stack(rows) for name, rows in self.rows.items()}


def parallel(env, steps, seed, rng):
    """The rows of one copy; each step of the game is a row."""
    record, agents = Record(), env.possible_agents
    widths = [int(np.prod(env.observation_space(a).shape)) for a in agents]

    def seen(observations):
        return np.concatenate([np.ravel(observations[a]) if a in observations else np.zeros(w) for a, w in zip(agents, widths)])

    observations, _ = env.reset(seed=seed)
    for _ in range(steps):
        before, active = seen(observations), [a in env.agents for a in agents]
        record.add(observations=before, states=state(env), active=active)
        actions = {a: int(rng.integers(env.action_space(a).n)) for a in agents}
        observations, rewards, terminations, truncations, _ = env.step({a: actions[a] for a in env.agents})
        over = not env.agents
        record.add(
            actions=[actions[a] for a in agents],
            rewards=[rewards.get(a, 0) for a in agents],
            terminated=[terminations.get(a, False) for a in agents],
            truncated=[truncations.get(a, False) for a in agents],
            over=over,
            finals=seen(observations) if over else np.zeros(len(before)),
            final_states=state(env) if over else np.zeros(len(state(env))),
        )
        if over:
            observations, _ = env.reset()
    return record.arrays()


def turns(env, steps, seed, rng):
    """The turns of one copy: who acts, what it sees and may do, what it has got since its last turn, and what it does."""
    record, made, agents = Record(), 0, env.possible_agents
    widest = max(env.action_space(a).n for a in agents), max(np.prod(space_of(env, a).shape, dtype=int) for a in agents)
    env.reset(seed=seed)
    while made < steps:
        for agent in env.agent_iter():
            value, reward, terminated, truncated, _ = env.last()
            value, mask = seen_and_allowed(value, env.action_space(agent))
            dead = terminated or truncated
            action = 0 if dead else int(rng.choice(np.flatnonzero(mask)))
            value, mask = (np.pad(np.ravel(x).astype(float), (0, w - np.size(x)), constant_values=-7) for x, w in zip((value, mask), widest[::-1]))
            record.add(
                agent=agents.index(agent), observation=value, mask=mask, reward=reward, terminated=terminated, truncated=truncated, action=action, dead=dead
            )
            env.step(None if dead else action)
            made += not dead
        env.reset()
    return record.arrays()


def space_of(env, agent):
    space = env.observation_space(agent)
    return space["observation"] if hasattr(space, "spaces") else space


def main(name, n, steps, seed, path):
    name, _, kind = name.partition(":")
    module = importlib.import_module(name)
    all = []
    for i in range(n):
        rng = np.random.default_rng(i)
        if kind == "aec":
            all.append(turns(module.env(), steps, seed + i, rng))
        else:
            all.append(parallel(module.parallel_env(), steps, seed + i, rng))
    np.savez(path, **{f"{key}{i}": value for i, rows in enumerate(all) for key, value in rows.items()})


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
