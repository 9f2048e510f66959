"""The Python side of gorl's bridge to PettingZoo: games in which several agents act, each in a seat of its own.

child.py runs this if the options ask for PettingZoo. Parallel and Turns play a game by PettingZoo's two interfaces. Games
writes observations, rewards and ends of every seat into the shared memory. A seat is one of possible_agents. It ends once
in a game. A game ends when no agent is live, and is reset in the same step.
"""

import importlib
import os
import pkgutil
import sys

import gorl_child as child
import numpy as np
from gorl_child import Missing, Refused, gymnasium

TERMINATED, TRUNCATED, ACTIVE = 1, 2, 4  # bits of a seat's flags; the first two are a game's, too
OBSERVATION, MASK = "observation", child.INFO_MASK  # the keys of an observation that contains an action mask

try:
    import pettingzoo
except ModuleNotFoundError as e:
    if e.name != "pettingzoo":
        raise
    problem = f"{sys.executable} has no pettingzoo; install it with: {sys.executable} -m pip install pettingzoo"
    raise Missing(f"{problem}, or set environment.python to a Python that has it") from None


# Making games.


def find(name):
    """The module of an environment, such as classic.connect_four_v3 of pettingzoo or mpe2.simple_spread_v3."""
    name = name.replace("/", ".")
    for path in ("pettingzoo." + name, name):
        try:
            return importlib.import_module(path)
        except ModuleNotFoundError as e:
            if e.name is None or path != e.name and not path.startswith(e.name + "."):
                raise  # the module exists, and one of its own imports failed
    package, _, module = name.rpartition(".")
    for path in ("pettingzoo." + package, package):
        try:
            there = [m.name for m in pkgutil.iter_modules(importlib.import_module(path).__path__) if m.name.rpartition("_v")[2].isdigit()]
            break
        except (ImportError, ValueError, AttributeError):
            there = []
    near = [m for m in there if m.rpartition("_v")[0] == module.rpartition("_v")[0]]
    known = f"; {package} has {', '.join(near or there)}" if there else f": pettingzoo.{name} and {name} cannot be imported"
    raise Refused(f"there is no environment {name!r}{known}")


def make(setup):
    """Makes the games from setup["from"] up to setup["to"]."""
    kwargs = dict(setup["kwargs"] or {})
    if setup["render_mode"]:
        kwargs["render_mode"] = setup["render_mode"]
        if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
            os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame draws without a display
    if setup["factory"]:
        create, name = child.function(setup["factory"]), setup["factory"]
    else:
        module, name = find(setup["id"]), setup["id"]
        create = None if setup["aec"] else getattr(module, "parallel_env", None)
        create = create or getattr(module, "env", None)
        if create is None:
            raise Refused(f"{module.__name__} has neither parallel_env nor env: it is no environment of PettingZoo")
    made = []
    for _ in range(setup["from"], setup["to"]):
        env = create(**kwargs)
        if isinstance(env, pettingzoo.AECEnv):
            made.append(Turns(env))
        elif not isinstance(env, pettingzoo.ParallelEnv):
            raise Refused(f"{name} returned a {type(env).__name__}; it must be a pettingzoo.ParallelEnv or AECEnv")
        elif setup["aec"]:
            raise Refused(f"aec is set, and {name} returned a ParallelEnv ({type(env).__name__}); leave aec out")
        else:
            made.append(Parallel(env))
    return made


# Playing games.


class Game:
    """A game in progress. live are the agents that have not ended, acting those that act next, out those that have ended."""

    def __init__(self, env):
        self.env = env
        if not getattr(env, "possible_agents", None):
            raise Refused(f"{self.name()} has no possible_agents; the bridge needs them: the seats are fixed")
        self.agents = list(env.possible_agents)
        self.seats = {agent: i for i, agent in enumerate(self.agents)}

    def name(self):
        return type(self.env.unwrapped).__name__

    def begin(self, seed):
        """Starts a new game."""
        self.out = set()
        self.start({} if seed is None else {"seed": seed})
        self.live = self.living()
        if not self.live or not self.acting:
            raise Refused(f"reset of {self.name()} leaves no agent that acts")

    def living(self):
        """The agents that have not ended."""
        for agent in self.env.agents:
            if agent not in self.seats:
                raise Refused(f"the agents of {self.name()} have {agent!r}, which is none of possible_agents, {self.agents}")
        return [agent for agent in self.env.agents if agent not in self.out]

    def ended(self, rewards, terminated, truncated):
        """Returns the agents that ended in a step. The results must have an entry for every agent that was live."""
        for name, values in (("rewards", rewards), ("terminations", terminated), ("truncations", truncated)):
            for agent in self.live:
                if agent not in values:
                    raise Refused(f"the {name} of {self.name()} lack {agent_text(agent)}, which lives")
                if values is not rewards and values[agent] not in (0, 1):
                    raise Refused(f"the {name} of {self.name()} have {values[agent]!r} for {agent_text(agent)}; it must be True or False")
        return [agent for agent in self.live if terminated[agent] or truncated[agent]]

    def settle(self, ended):
        """Marks the agents that ended as out, and returns whether the game goes on."""
        self.out.update(ended)
        before, self.live = self.live, self.living()
        for agent in before:
            if agent not in self.out and agent not in self.live:
                raise Refused(f"{agent_text(agent)} has left the agents of {self.name()}, neither terminated nor truncated")
        return bool(self.live)


def agent_text(agent):
    return f"the agent {agent!r}"


class Parallel(Game):
    """A game in which all agents act at once."""

    def start(self, seed):
        self.observations, self.infos = self.env.reset(**seed)
        self.acting = list(self.env.agents)

    def play(self, actions):
        """Plays one step; returns rewards and flags, by agent, and whether the game goes on."""
        self.observations, rewards, terminated, truncated, self.infos = self.env.step(actions)
        on = self.settle(self.ended(rewards, terminated, truncated))
        self.acting = self.live
        if on and len(self.live) < len(self.env.agents):
            back = next(agent for agent in self.env.agents if agent in self.out)
            raise Refused(f"{agent_text(back)} has ended and is among the agents of {self.name()}; an agent ends once in a game")
        return rewards, terminated, truncated, on


class Turns(Game):
    """A game in which the agents act one after another (AEC)."""

    def start(self, seed):
        self.env.reset(**seed)
        self.skip_ended()
        self.observations = {agent: self.env.observe(agent) for agent in self.env.agents}
        self.infos = self.env.infos

    def skip_ended(self):
        """Takes the turns of agents that have ended, as PettingZoo requires, and finds the agent that acts next."""
        env = self.env
        for _ in range(len(self.agents) + 1):
            agent = env.agent_selection
            if not env.agents or not (env.terminations.get(agent) or env.truncations.get(agent)):
                break
            env.step(None)
        else:
            raise Refused(f"{self.name()} goes on selecting agents that have ended")
        self.acting = [env.agent_selection] if env.agents else []
        for agent in self.acting:
            if agent not in env.agents or agent in self.out:
                raise Refused(f"{self.name()} selects {agent_text(agent)}, which does not live; its agents are {env.agents}")

    def play(self, actions):
        """Plays one turn; see Parallel."""
        env = self.env
        env.step(actions[self.acting[0]])
        rewards, terminated, truncated = dict(env.rewards), dict(env.terminations), dict(env.truncations)
        ended = self.ended(rewards, terminated, truncated)
        # Ended agents get their last observation now, the others theirs when the next agent is known.
        self.infos, self.observations = dict(env.infos), {agent: env.observe(agent) for agent in ended}
        if len(ended) == len(self.live):
            self.live, self.acting = [], []
            return rewards, terminated, truncated, False
        self.out.update(ended)
        self.skip_ended()
        on = self.settle(ended)
        self.infos.update(env.infos)
        self.observations.update({agent: env.observe(agent) for agent in self.live})
        return rewards, terminated, truncated, on


# The bridge.


class Seat:
    """The spaces of an agent, and where its action mask comes from: its observation (a Dict), its infos under a key, or nowhere."""

    def __init__(self, game, agent, key):
        self.observation, self.action = game.env.observation_space(agent), game.env.action_space(agent)
        self.keys, self.key = None, None
        spaces, ignored = gymnasium.spaces, key == child.IGNORE
        if isinstance(self.observation, spaces.Dict) and MASK in self.observation.spaces:
            rest = {k: v for k, v in self.observation.spaces.items() if k != MASK}
            self.keys = list(rest)
            self.observation = rest[OBSERVATION] if self.keys == [OBSERVATION] else spaces.Dict(rest)
        elif not ignored:
            self.key = key or (MASK if MASK in (game.infos.get(agent) or {}) else None)
        self.masked = not ignored and (self.keys or self.key) is not None
        if self.masked and not isinstance(self.action, (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)):
            raise Refused(f"{agent_text(agent)} has an action mask, and its action space is {self.action}: set action_masks to {child.IGNORE}")

    def choices(self):
        """How many values its action mask has."""
        return sum(child.describe(self.action, "action")["nvec"]) if self.masked else 0

    def see(self, value):
        """An observation without its action mask."""
        if self.keys is None:
            return value
        return value[OBSERVATION] if self.keys == [OBSERVATION] else {k: value[k] for k in self.keys}

    def allowed(self, agent, game):
        """The action mask of an agent that acts next."""
        if self.key is None:
            return game.observations[agent][MASK]
        info = game.infos.get(agent) or {}
        if self.key not in info:
            raise Refused(f"the infos of {agent_text(agent)} of {game.name()} have no {self.key!r}, where the action mask should be")
        return info[self.key]


class Games(child.Bridge):
    """The games of this process and their places in the shared memory."""

    def __init__(self, setup):
        self.setup, self.current = setup, 0
        self.games = make(setup)
        self.envs = [game.env for game in self.games]
        first = self.games[0]
        first.begin(None)
        self.agents, self.places = first.agents, first.seats
        self.seats = [Seat(first, agent, setup["masks"]) for agent in self.agents]
        for game in self.games[1:]:
            if game.agents != self.agents or any(
                game.env.observation_space(a) != first.env.observation_space(a) or game.env.action_space(a) != first.env.action_space(a) for a in self.agents
            ):
                raise Refused(f"two environments of {first.name()} differ in their possible_agents or in their spaces; they must be the same")
        self.observation = gymnasium.spaces.Tuple([seat.observation for seat in self.seats])
        self.action = gymnasium.spaces.Tuple([seat.action for seat in self.seats])
        self.state, self.amp = self.find_state(first), None
        self.masks = None
        for seat in self.seats:
            child.taker(seat.action, np.zeros((1, child.width(seat.action) + child.width(seat.action, True)), np.float32))

    def find_state(self, game):
        """The space of the method state's results, None if there are none."""
        if self.setup["states"] == child.IGNORE:
            return None
        try:
            value = np.asarray(game.env.state())
        except Exception:  # games without a state raise various exceptions
            return None
        if value.dtype.kind not in "fiub" or value.size == 0:
            return None
        if value.dtype == np.uint8:
            return gymnasium.spaces.Box(0, 255, value.shape, np.uint8)
        return gymnasium.spaces.Box(-np.inf, np.inf, value.shape, np.float32)

    def description(self):
        seats = [{"name": str(agent), "masks": seat.masked} for agent, seat in zip(self.agents, self.seats)]
        return {**super().description(), "seats": seats}

    def attach(self, memory):
        a, b = self.setup["from"], self.setup["to"]

        def rows(name):
            array = memory.array(name)
            return array if array is None else array[a:b]

        def places(name, space):
            """For each game the function that writes the observations of seats, or a state, into its row."""
            floats, small = rows(name), rows(name + "_bytes")
            none = [None] * (b - a)
            return [(space, *row) for row in zip(none if floats is None else floats, none if small is None else small)]

        def putters(name):
            """For each game its row, and the functions that write the seats' observations into their parts of the row."""
            found = []
            for space, row, small in places(name, self.observation):
                parts = [put for _, put in child.putters_of_parts(space, row, small)]
                found.append(([x for x in (row, small) if x is not None], parts))
            return found

        self.put, self.put_final = putters("observations"), putters("final_observations")
        self.put_state = self.put_final_state = None
        if self.state is not None:
            self.put_state = [child.putter(*place) for place in places("states", self.state)]
            self.put_final_state = [child.putter(*place) for place in places("final_states", self.state)]
        self.mask_rows, self.mask_parts, at = rows("action_masks_bytes"), [], 0
        for seat in self.seats:
            self.mask_parts.append(slice(at, at + seat.choices()))
            at += seat.choices()
        actions, self.take, at = rows("actions"), [], 0
        for seat in self.seats:
            to = at + child.width(seat.action) + child.width(seat.action, True)
            take = child.taker(seat.action, actions[:, at:to])
            self.take.append((lambda take=take: take().tolist()) if isinstance(seat.action, gymnasium.spaces.Discrete) else take)
            at = to
        self.reward_rows, self.flags, self.seat_flags = rows("rewards"), rows("flags"), rows("seats")
        self.rewards = memoryview(self.reward_rows)  # which takes numbers only
        self.infos = child.Infos(self.setup, rows("infos"))

    def place(self, game, agent):
        """The index of an agent's seat."""
        index = self.places.get(agent)
        if index is None:
            raise Refused(f"{game.name()} has a value for {agent_text(agent)}, which is none of possible_agents, {self.agents}")
        return index

    def show(self, k, put, put_state):
        """Writes the seats' observations in game k, zeros for seats without one, and the game's state."""
        game, (rows, parts) = self.games[k], put[k]
        for row in rows:
            row.fill(0)
        for agent, value in game.observations.items():
            index = self.place(game, agent)
            try:
                parts[index](self.seats[index].see(value))
            except (ValueError, TypeError, KeyError) as e:
                raise Refused(f"the observation of {agent_text(agent)} of {game.name()}: {type(e).__name__}: {e}") from None
        if put_state is None:
            return
        try:
            put_state[k](game.env.state())
        except ValueError as e:
            raise Refused(f"the state of {game.name()}: {e}; set states to {child.IGNORE} to train without it") from None

    def show_next(self, k):
        """Writes what the next action of game k depends on: observations, state, who acts, and action masks."""
        game, flags = self.games[k], self.seat_flags[k]
        self.show(k, self.put, self.put_state)
        if self.mask_rows is not None:
            self.mask_rows[k] = 1
        for agent in game.acting:
            index = self.place(game, agent)
            flags[index] |= ACTIVE
            seat = self.seats[index]
            if seat.masked:
                child.put_mask(seat.allowed(agent, game), self.mask_rows[k][self.mask_parts[index]], agent_text(agent))

    def reset(self, seed):
        self.seat_flags[:] = 0
        for k, game in enumerate(self.games):
            self.current = k
            game.begin(seed + self.setup["from"] + k if seed >= 0 else None)
            self.show_next(k)
            if self.setup["infos"]:
                self.infos.note(k, game.infos)

    def step(self):
        taken, every = [take() for take in self.take], self.setup["every"]
        self.reward_rows[:] = 0
        self.seat_flags[:] = 0
        for k, game in enumerate(self.games):
            self.current = k
            before = game.live
            actions = {agent: taken[self.places[agent]][k] for agent in game.acting}
            rewards, terminated, truncated, on = game.play(actions)
            for agent in before:
                index = self.places[agent]
                try:
                    self.rewards[k, index] = rewards[agent]
                except (TypeError, ValueError):
                    raise child.no_reward(rewards[agent], game.env) from None
                self.seat_flags[k, index] = TERMINATED * bool(terminated[agent]) | TRUNCATED * bool(truncated[agent])
            if every or not on:
                self.infos.note(k, game.infos)
            self.flags[k] = 0
            if not on:
                self.end(k, before)
                game.begin(None)
            self.show_next(k)

    def end(self, k, before):
        """Writes the end of game k: its last observations, and whether it was truncated."""
        flags = self.seat_flags[k]
        cut = any(flags[self.places[agent]] == TRUNCATED for agent in before)
        self.flags[k] = TRUNCATED if cut else TERMINATED
        self.show(k, self.put_final, self.put_final_state)
        game = self.games[k]
        for agent in self.agents:
            if agent not in game.out and agent not in before:
                flags[self.places[agent]] = TRUNCATED  # an agent that was not in this game


bridge = Games
