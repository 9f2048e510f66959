"""Groups of observations of a manager-based task, as in Isaac Lab 2.3: their configuration, and what computes them."""

import copy
import re
from dataclasses import dataclass, field

import torch


@dataclass
class SceneEntityCfg:
    name: str
    joint_names: list = None
    joint_ids: object = field(default_factory=lambda: slice(None))
    body_names: list = None
    body_ids: object = field(default_factory=lambda: slice(None))
    preserve_order: bool = False

    def resolve(self, scene):
        entity = scene[self.name]
        for wanted, there, ids in ((self.joint_names, entity.joint_names, "joint_ids"), (self.body_names, entity.body_names, "body_ids")):
            if wanted is not None:
                found = [k for pattern in wanted for k, name in enumerate(there) if re.fullmatch(pattern, name)]
                setattr(self, ids, found if self.preserve_order else sorted(found))


@dataclass
class ObservationTermCfg:
    func: object
    params: dict = field(default_factory=dict)
    modifiers: list = None
    noise: object = None
    clip: tuple = None
    scale: float = None
    history_length: int = 0
    flatten_history_dim: bool = True


@dataclass
class ObservationGroupCfg:
    """Its terms are its other attributes."""

    concatenate_terms: bool = True
    concatenate_dim: int = -1
    enable_corruption: bool = False
    history_length: int = None
    flatten_history_dim: bool = True


class ObservationManager:
    """Without noise, scale and clip, which the tests look for in the configuration alone."""

    def __init__(self, cfg, env):
        self.env, self.active_terms, self._group_obs_term_cfgs, self.group_obs_term_dim, self.past = env, {}, {}, {}, {}
        for group, group_cfg in vars(cfg).items():
            terms = {k: copy.deepcopy(v) for k, v in vars(group_cfg).items() if isinstance(v, ObservationTermCfg)}
            for term in terms.values():
                for value in term.params.values():
                    if isinstance(value, SceneEntityCfg):
                        value.resolve(env.scene)
                if not group_cfg.enable_corruption:
                    term.noise = None
                if group_cfg.history_length is not None:
                    term.history_length, term.flatten_history_dim = group_cfg.history_length, group_cfg.flatten_history_dim
            self.active_terms[group], self._group_obs_term_cfgs[group] = list(terms), list(terms.values())
            self.group_obs_term_dim[group] = [tuple(x.shape[1:]) for x in self.values(group, torch.ones(env.num_envs, dtype=torch.bool))]

    def values(self, group, fresh):
        """The terms' values. The history of fresh rows is the present, over and over."""
        for name, term in zip(self.active_terms[group], self._group_obs_term_cfgs[group]):
            x = term.func(self.env, **term.params)
            if term.history_length > 0:
                again = x[:, None].repeat(1, term.history_length, 1)
                past = self.past.get((group, name), again)
                x = torch.where(fresh[:, None, None], again, torch.cat([past[:, 1:], x[:, None]], 1))
                self.past[group, name] = x
                x = x.flatten(1) if term.flatten_history_dim else x
            yield x

    def compute(self, fresh):
        return {group: torch.cat(list(self.values(group, fresh)), -1) for group in self.active_terms}
