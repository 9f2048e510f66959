"""The tasks of the stand-in, by Gymnasium's registry."""

import gymnasium

from isaaclab.app import AppLauncher

if not AppLauncher.started:
    raise ModuleNotFoundError("No module named 'pxr' (the app must be launched before tasks are imported)")

for name, task in (("Fish-Direct", "DirectFish"), ("Fish-AMP-Direct", "AmpFish"), ("Fish", "ManagerFish")):
    gymnasium.register(
        id=f"Standin-{name}-v0",
        entry_point=f"isaaclab_tasks.fish:{task}",
        disable_env_checker=True,
        kwargs={"env_cfg_entry_point": f"isaaclab_tasks.fish:{task}Cfg"},
    )
