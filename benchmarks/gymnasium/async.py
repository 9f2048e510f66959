"""Prints how many steps of one environment Gymnasium's AsyncVectorEnv makes in a second: ENVIRONMENT COPIES SECONDS"""

import sys
import time

import gymnasium
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

name, copies, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
envs = AsyncVectorEnv(
    [lambda: gymnasium.make(name, disable_env_checker=True)] * copies,
    shared_memory=True,
    autoreset_mode=AutoresetMode.SAME_STEP,
)
envs.reset(seed=1)
actions = [envs.action_space.sample() for _ in range(64)]


def run(seconds):
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        envs.step(actions[steps % 64])
        steps += 1
    return steps * copies / (time.perf_counter() - start)


run(seconds / 10)  # the first tenth warms up
print(run(seconds * 0.9))
envs.close()
