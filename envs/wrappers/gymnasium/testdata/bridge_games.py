"""Games for the tests of the bridge to PettingZoo, whose every number can be foretold."""

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv


class Lives(ParallelEnv):
    """Three agents with spaces of their own. c_0 is born in step 1; a_0 dies in step 2, c_0 in step 4; step 5 is the time limit.

    bad says what goes wrong in step 3, or from the beginning.
    """

    metadata = {"name": "lives"}
    made = 0

    def __init__(self, bad=None, render_mode=None):
        self.bad, self.render_mode = bad, render_mode
        self.possible_agents = ["a_0", "b_0", "c_0"]
        Lives.made += 1
        self.seen = {
            "a_0": spaces.Box(-9, 9, (3 if bad == "spaces" and Lives.made > 1 else 2,), np.float64),
            "b_0": spaces.Dict({"camera": spaces.Box(0, 255, (2, 2), np.uint8), "door": spaces.Discrete(4, start=2)}),
            "c_0": spaces.Dict({"observation": spaces.Box(-9, 9, (1,), np.float32), "action_mask": spaces.Box(0, 1, (5,), np.int8)}),
        }
        self.done = {"a_0": spaces.Discrete(3), "b_0": spaces.Box(-1, 1, (2,), np.float32), "c_0": spaces.MultiDiscrete([2, 3])}
        self.seed = self.offset = 0

    def observation_space(self, agent):
        return self.seen[agent]

    def action_space(self, agent):
        return self.done[agent]

    def observe(self, agent):
        k = self.k
        if agent == "a_0":
            return np.array([k, self.seed % 7], np.float64)
        if agent == "b_0":
            return {"camera": np.full((3, 3) if self.goes_wrong("shape") else (2, 2), 10 * k, np.uint8), "door": 2 + k % 4}
        mask = [k % 2, 1, 1, (k + 1) % 2, 0] if not self.goes_wrong("mask") else [2] * 5
        return {"observation": np.array([-k], np.float32), "action_mask": np.array(mask, np.int8)}

    def goes_wrong(self, what):
        return self.bad == what and self.k == 3

    def state(self):
        if self.bad == "stateless":
            raise NotImplementedError
        return np.array([self.k, len(self.agents)], np.float32)[: 1 if self.goes_wrong("state") else 2]

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.seed = seed
        self.k, self.agents = 0, [] if self.bad == "nobody" else ["a_0", "b_0"]
        return {a: self.observe(a) for a in self.agents}, {a: {} for a in self.agents}

    def step(self, actions):
        assert sorted(actions) == sorted(self.agents), (actions, self.agents)
        for agent, action in actions.items():
            assert self.done[agent].contains(action if agent != "a_0" else np.int64(action)), (agent, action)
        self.k = k = self.k + 1
        if k == 1:
            self.agents = self.agents + ["c_0"]
        if k == 4 and self.bad == "back":
            self.agents = ["a_0"] + self.agents
        if self.goes_wrong("stranger"):
            self.agents = self.agents + ["d_0"]
        there = list(self.agents)
        rewards = {a: k + 0.5 * i for i, a in enumerate(there)}
        terminated = {a: (a, k) in (("a_0", 2), ("c_0", 4)) for a in there}
        truncated = {a: k == 5 for a in there}
        self.agents = [a for a in there if not terminated[a] and not truncated[a]]
        if self.goes_wrong("leaves"):
            self.agents = ["c_0"]
        if self.goes_wrong("reward"):
            rewards["b_0"] = None
        if self.goes_wrong("flag"):
            terminated["b_0"] = "no"
        if self.goes_wrong("lacks"):
            del rewards["b_0"]
        observations = {a: self.observe(a) for a in there if a != "d_0"}
        if self.goes_wrong("tells"):
            observations["e_0"] = 3
        return observations, rewards, terminated, truncated, {a: {"k": k} for a in there}

    def render(self):
        return np.full((3, 4, 3), self.k, np.uint8)


class Turns(AECEnv):
    """Three agents in turns. Each turn gives its agent 1 and the next one 0.5. The third turn kills x_1; six turns are the limit.

    bad says what goes wrong in the fifth turn.
    """

    metadata = {"name": "turns"}

    def __init__(self, bad=None):
        self.bad, self.possible_agents = bad, ["x_0", "x_1", "x_2"]
        self.space, self.choice = spaces.Box(-99, 99, (2,), np.float32), spaces.Discrete(4)

    def observation_space(self, agent):
        return self.space

    def action_space(self, agent):
        return self.choice

    def reset(self, seed=None, options=None):
        self.k, self.agents, self.agent_selection = 0, list(self.possible_agents), "x_0"
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0), dict.fromkeys(self.agents, 0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos = {a: {"action_mask": self.mask(a)} for a in self.agents}

    def mask(self, agent):
        return np.array([self.k % 2, 1, 0, 1] if agent == self.agent_selection else [0] * 4, np.int8)

    def observe(self, agent):
        return np.array([self.k, self.possible_agents.index(agent)], np.float32)

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
        else:
            assert self.mask(agent)[action] == 1, (agent, action)
            self.k += 1
            self._cumulative_rewards[agent] = 0
            self._clear_rewards()
            after = self.agents[(self.agents.index(agent) + 1) % len(self.agents)]
            self.rewards[agent], self.rewards[after] = 1, 0.5
            self._accumulate_rewards()
            self.agent_selection = after
            if self.k == 3:
                self.terminations["x_1"] = True
            if self.k == 6:
                self.truncations = dict.fromkeys(self.agents, True)
            if self.k == 5 and self.bad == "selects":
                self.agent_selection = "x_1"
            self._deads_step_first()
        self.infos = {a: {"action_mask": self.mask(a)} for a in self.agents}


class Nobody:
    """No game at all."""
