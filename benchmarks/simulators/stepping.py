"""Prints how many environment steps a simulator makes in a second, stepped from Python alone with random actions:

    python stepping.py SIMULATOR TASK COPIES SECONDS [DEVICE]
"""

import os
import sys
import time

simulator, task, copies, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
device = sys.argv[5] if len(sys.argv) > 5 else "cpu"
out = os.dup(1)
os.dup2(2, 1)  # simulators print what they like


def envpool():
    import envpool
    import numpy as np

    env = envpool.make(task, env_type="gymnasium", num_envs=copies, seed=1)
    shape = (64, copies, *env.action_space.shape)
    return env, np.random.default_rng(1).uniform(-1, 1, shape)


def tensors(env, width):
    import torch

    torch.manual_seed(1)
    return env, 2 * torch.rand(64, copies, width, device=device) - 1


def gymnasium():
    import gymnasium
    from gymnasium.vector import AsyncVectorEnv, AutoresetMode

    env = AsyncVectorEnv(
        [lambda: gymnasium.make(task, disable_env_checker=True)] * copies,
        shared_memory=True,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    return env, [env.action_space.sample() for _ in range(64)]


def mjlab():
    import mjlab.tasks  # registers
    from mjlab.envs import ManagerBasedRlEnv
    from mjlab.tasks.registry import load_env_cfg

    cfg = load_env_cfg(task)
    cfg.scene.num_envs, cfg.seed = copies, 1
    env = ManagerBasedRlEnv(cfg=cfg, device=device)
    return tensors(env, env.single_action_space.shape[0])


def isaaclab():
    from isaaclab.app import AppLauncher

    AppLauncher(headless=True, device=device)
    import gymnasium
    import isaaclab_tasks  # registers
    from isaaclab_tasks.utils import parse_env_cfg

    cfg = parse_env_cfg(task, device=device, num_envs=copies)
    cfg.seed = 1
    env = gymnasium.make(task, cfg=cfg)
    return tensors(env, env.unwrapped.single_action_space.shape[0])


env, actions = globals()[simulator]()


def wait():
    """Lets the device end what it was asked for."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


def run(seconds):
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        env.step(actions[steps % 64])
        wait()
        steps += 1
    return steps * copies / (time.perf_counter() - start)


env.reset()
run(seconds / 10)  # the first tenth warms up
os.write(out, f"{run(seconds * 0.9)}\n".encode())
os._exit(0)
