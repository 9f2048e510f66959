"""Times skrl's AMP without an environment: one update, and one rollout step (act and record).

    python benchmarks/skrl_update.py small|medium|large [--repeats N] [--threads N] [--device D]

Prints one JSON line a measure: {"library", "size", "measure", "value"}, the median in milliseconds.
The first round warms up and is not counted. Run it with the Python of `make peers`.
"""

import argparse

import torch

from skrl_agent import amp_agent, time_rounds

SIZES = {
    "small": dict(
        envs=16, observations=17, actions=6, amp_observations=34, hidden=[64, 64],
        rollouts=32, learning_epochs=8, mini_batches=8,
    ),
    "medium": dict(
        envs=256, observations=17, actions=6, amp_observations=34, hidden=[64, 64],
        rollouts=32, learning_epochs=8, mini_batches=8,
    ),
    "large": dict(
        envs=256, observations=105, actions=28, amp_observations=210, hidden=[1024, 512],
        rollouts=16, learning_epochs=6, mini_batches=2,
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("--repeats", type=int, default=None, help="rounds counted (default: 20 small, 5 others)")
    parser.add_argument("--threads", type=int, default=1, help="libtorch's compute threads")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    size = SIZES[arguments.size]
    repeats = arguments.repeats or (20 if arguments.size == "small" else 5)
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)

    envs, rollouts = size["envs"], size["rollouts"]
    agent = amp_agent(
        envs=envs,
        observations=size["observations"],
        actions=size["actions"],
        amp_observations=size["amp_observations"],
        hidden=size["hidden"],
        reference=lambda n: torch.randn(n, size["amp_observations"]).to(arguments.device),
        device=arguments.device,
        settings={
            "rollouts": rollouts,
            "learning_epochs": size["learning_epochs"],
            "mini_batches": size["mini_batches"],
            "grad_norm_clip": 1.0,
            "value_clip": 0.2,
            "discriminator_batch_size": 0,
            "amp_batch_size": 512,
        },
    )
    observations = torch.randn(envs, size["observations"])
    amp_observations = torch.randn(envs, size["amp_observations"])
    rewards = torch.randn(envs, 1)
    never = torch.zeros(envs, 1, dtype=torch.bool)

    time_rounds(
        agent, arguments.size, observations, rewards, never.expand(rollouts, envs, 1), {"amp_obs": amp_observations}, repeats
    )


if __name__ == "__main__":
    main()
