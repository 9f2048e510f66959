"""Times skrl's PPO with networks that have memory or read pictures: one update, and one rollout step (act and record).

    python benchmarks/skrl_networks.py gru|camera [--repeats N] [--threads N]

gru is PPO_RNN, its models as in skrl's documentation: a recurrent layer and a perceptron, for the policy and for the value.
camera is PPO with two convolutional networks that skrl's instantiator makes. Prints one JSON line a measure, as
skrl_update.py does. Run it with the Python of `make peers`.
"""

import argparse

import gymnasium
import numpy as np
import torch

from skrl.agents.torch.ppo import PPO, PPO_RNN
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.utils.model_instantiators.torch import deterministic_model, gaussian_model

from skrl_agent import time_rounds

ENVS, ACTIONS = 64, 6
GRU = dict(observations=32, hidden=64, layers=[64, 32], rollouts=32, sequence=16, learning_epochs=4, mini_batches=4, repeats=10)
CAMERA = dict(shape=(84, 84, 3), rollouts=16, learning_epochs=2, mini_batches=4, repeats=2)


class Recurrent(Model):
    def build(self, inputs, outputs):
        self.gru = torch.nn.GRU(inputs, GRU["hidden"], batch_first=True)
        layers, width = [], GRU["hidden"]
        for units in GRU["layers"]:
            layers += [torch.nn.Linear(width, units), torch.nn.ReLU()]
            width = units
        self.net = torch.nn.Sequential(*layers, torch.nn.Linear(width, outputs))

    def get_specification(self):
        return {"rnn": {"sequence_length": GRU["sequence"], "sizes": [(1, ENVS, GRU["hidden"])]}}

    def run(self, inputs):
        states, terminated, hidden = inputs["observations"], inputs.get("terminated"), inputs["rnn"][0]
        if not self.training:
            out, hidden = self.gru(states.view(-1, 1, states.shape[-1]), hidden.contiguous())
            return self.net(out.flatten(0, 1)), hidden
        length = GRU["sequence"]
        rows = states.view(-1, length, states.shape[-1])
        hidden = hidden.view(1, -1, length, GRU["hidden"])[:, :, 0, :].contiguous()
        if terminated is not None and torch.any(terminated):
            parts, ended = [], terminated.view(-1, length)
            cuts = [0] + (ended[:, :-1].any(dim=0).nonzero(as_tuple=True)[0] + 1).tolist() + [length]
            for start, end in zip(cuts, cuts[1:]):
                out, hidden = self.gru(rows[:, start:end, :], hidden)
                hidden[:, (ended[:, end - 1]), :] = 0
                parts.append(out)
            out = torch.cat(parts, dim=1)
        else:
            out, hidden = self.gru(rows, hidden)
        return self.net(out.flatten(0, 1)), hidden


class Policy(GaussianMixin, Recurrent):
    def __init__(self, observations, actions):
        Model.__init__(self, observation_space=observations, action_space=actions, device="cpu")
        GaussianMixin.__init__(self)
        self.build(observations.shape[0], actions.shape[0])
        self.log_std = torch.nn.Parameter(torch.zeros(actions.shape))

    def compute(self, inputs, role):
        mean, hidden = self.run(inputs)
        return mean, {"log_std": self.log_std, "rnn": [hidden]}


class Value(DeterministicMixin, Recurrent):
    def __init__(self, observations, actions):
        Model.__init__(self, observation_space=observations, action_space=actions, device="cpu")
        DeterministicMixin.__init__(self)
        self.build(observations.shape[0], 1)

    def compute(self, inputs, role):
        value, hidden = self.run(inputs)
        return value, {"rnn": [hidden]}


def convolutional(observations, actions):
    network = [
        {
            "name": "cnn",
            "input": "permute(OBSERVATIONS, (0, 3, 1, 2)) / 255",
            "layers": [{"conv2d": [32, 8, 4, 0]}, {"conv2d": [64, 4, 2, 0]}, {"conv2d": [64, 3, 1, 0]}, "flatten", 512],
            "activations": "relu",
        }
    ]
    spaces = dict(observation_space=observations, action_space=actions, device="cpu", network=network)
    out = {"policy": gaussian_model(**spaces, output="ACTIONS"), "value": deterministic_model(**spaces, output="ONE")}
    for role, model in out.items():
        model.init_state_dict(role=role)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", choices=["gru", "camera"])
    parser.add_argument("--repeats", type=int, default=None)
    parser.add_argument("--threads", type=int, default=1, help="libtorch's compute threads")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    actions = gymnasium.spaces.Box(-1.0, 1.0, (ACTIONS,))
    if arguments.size == "gru":
        size, kind = GRU, PPO_RNN
        space = gymnasium.spaces.Box(-np.inf, np.inf, (GRU["observations"],))
        models = {"policy": Policy(space, actions), "value": Value(space, actions)}
        observations = torch.randn(ENVS, GRU["observations"])
    else:
        size, kind = CAMERA, PPO
        space = gymnasium.spaces.Box(0, 255, CAMERA["shape"], dtype=np.float32)
        models = convolutional(space, actions)
        observations = torch.randint(0, 256, (ENVS, int(np.prod(CAMERA["shape"])))).float()
    cfg = {k: size[k] for k in ("rollouts", "learning_epochs", "mini_batches")}
    agent = kind(
        models=models, memory=RandomMemory(memory_size=size["rollouts"], num_envs=ENVS, device="cpu"),
        observation_space=space, action_space=actions, device="cpu",
        cfg={**cfg, "grad_norm_clip": 0.5, "value_clip": 0.2, "experiment": {"write_interval": 0, "checkpoint_interval": 0}},
    )  # fmt: skip
    agent.init()
    agent.enable_training_mode(True)
    rewards = torch.randn(ENVS, 1)
    ends = torch.rand(size["rollouts"], ENVS, 1) < 0.02
    time_rounds(agent, arguments.size, observations, rewards, ends, {}, arguments.repeats or size["repeats"])


if __name__ == "__main__":
    main()
