"""The tasks of the stand-in, by Gymnasium's registry."""

import gymnasium

from isaaclab.app import AppLauncher

if not AppLauncher.started:
    raise ModuleNotFoundError("No module named 'pxr' (the app must be launched before tasks are imported)")

TASKS = ("Fish-Direct", "fish:DirectFish"), ("Fish-AMP-Direct", "fish:AmpFish"), ("Fish", "fish:ManagerFish"), ("Dog", "dog:ManagerDog")

for name, task in TASKS:
    gymnasium.register(
        id=f"Standin-{name}-v0",
        entry_point=f"isaaclab_tasks.{task}",
        disable_env_checker=True,
        kwargs={"env_cfg_entry_point": f"isaaclab_tasks.{task}Cfg"},
    )
gymnasium.register(id="Standin-Dog-Own-v0", entry_point="isaaclab_tasks.dog:ManagerDog", disable_env_checker=True, kwargs={"env_cfg_entry_point": "isaaclab_tasks.dog:OwnGroupDogCfg"})
