"""Makes normalize.json: what Gymnasium's normalising wrappers return. Run it with the Python of `make peers`, in this folder.

A tape of float32 numbers is played as an environment, so that Go can play the same. Its observations are float64, because
Gymnasium computes the statistics of float32 observations in float32.
"""

import json

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import NormalizeObservation, NormalizeReward
from gymnasium.wrappers import vector

WIDTH, STEPS = 3, 60


class Tape(gymnasium.Env):
    """Episodes of irregular lengths, which terminate and are truncated by turns."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (WIDTH,), np.float64)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, index):
        self.rng, self.index, self.episode, self.seen = np.random.default_rng(index), index, 0, []

    def draw(self):
        # One column far from zero, one that is tiny, and one that never changes.
        x = np.float32([300 + 20 * self.rng.normal(), 1e-3 * self.rng.normal(), 2.5])
        self.seen.append([float(v) for v in x])
        return x.astype(np.float64)

    def reset(self, *, seed=None, options=None):
        self.steps, self.length = 0, int(self.rng.integers(1, 9))
        self.episode += 1
        return self.draw(), {}

    def step(self, action):
        self.steps += 1
        reward = float(np.float32(5 * self.rng.normal() + self.index))
        over = self.steps == self.length
        return self.draw(), reward, over and self.episode % 2 == 0, over and self.episode % 2 == 1, {}


def floats(values):
    return [float(np.float32(v)) for v in np.ravel(values)]


def single():
    """One environment, reset where its episodes end."""
    tape = Tape(0)
    observed = NormalizeObservation(tape)
    rewarded = NormalizeReward(Tape(0), gamma=0.9)
    first, _ = observed.reset()
    rewarded.reset()
    out = [{"raw": tape.seen[-1], "observation": floats(first)}]
    for _ in range(STEPS):
        x, reward, terminated, truncated, _ = observed.step(None)
        step = {"terminated": terminated, "truncated": truncated, "reward": reward}
        step["normalized_reward"] = float(np.float32(rewarded.step(None)[1]))
        if terminated or truncated:
            step |= {"raw_final": tape.seen[-1], "final": floats(x)}
            x, _ = observed.reset()
            rewarded.reset()
        out.append(step | {"raw": tape.seen[-1], "observation": floats(x)})
    rms, returns = observed.obs_rms, rewarded.return_rms
    return {
        "steps": out,
        "statistics": {"mean": rms.mean.tolist(), "variance": rms.var.tolist(), "count": [rms.count]},
        "reward_statistics": {"mean": [float(returns.mean)], "variance": [float(returns.var)], "count": [returns.count]},
    }


def several():
    """Rewards of three environments together."""
    def create(i):
        return lambda: Tape(i)

    plain = SyncVectorEnv([create(i) for i in range(3)], autoreset_mode=AutoresetMode.SAME_STEP)
    wrapped = vector.NormalizeReward(SyncVectorEnv([create(i) for i in range(3)], autoreset_mode=AutoresetMode.SAME_STEP), gamma=0.9)
    plain.reset(), wrapped.reset()
    out = []
    for _ in range(STEPS):
        _, rewards, terminated, truncated, _ = plain.step(np.zeros((3, 1), np.float32))
        _, normalized, _, _, _ = wrapped.step(np.zeros((3, 1), np.float32))
        out.append({"rewards": rewards.tolist(), "terminated": terminated.tolist(), "truncated": truncated.tolist(), "normalized_rewards": floats(normalized)})
    return out


source = f"Gymnasium {gymnasium.__version__}, numpy {np.__version__}: NormalizeObservation and NormalizeReward of a tape"
text = json.dumps({"source": source, "single": single(), "several": several()}, separators=(",", ":"))
with open("normalize.json", "w") as f:
    f.write(text + "\n")
