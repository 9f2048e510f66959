"""The Python side of gorl's tracker wandb: it hands the values that it reads to Weights & Biases' own package.

It reads one JSON object a line from its standard input and answers with one: first the program and how the run is made,
then rows of values, and at last how the run ended. Where the input ends before that, gorl has died: the run has failed.
"""

import json
import os
import signal
import sys

opening = globals()["opening"]
requests = sys.stdin.buffer
replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # what packages print does not mix with the answers


def reply(**message):
    """Sends an answer."""
    replies.write(json.dumps(message) + "\n")
    replies.flush()


def open_run():
    """Makes the run, or says why there is none."""
    try:
        import wandb
    except ImportError as error:
        reply(final=f"{sys.executable} cannot import wandb ({error}): pip install wandb, or name another Python with the setting python")
        sys.exit()
    try:
        run = wandb.init(settings=wandb.Settings(console="off", silent=True), **opening)
        run.define_metric("*", step_metric="global_step")
    except wandb.errors.CommError as error:  # it may answer later
        reply(error=f"wandb.init: {error}")
        sys.exit()
    except (wandb.errors.Error, TypeError, ValueError) as error:
        reply(final=f"wandb.init: {error}")
        sys.exit()
    reply(id=run.id, url=run.url or "")
    return run


def keep(run, files, step):
    """Keeps films as media, and all other files in one artifact of the run's best checkpoint."""
    import wandb

    films = [path for path in files if path.lower().endswith((".mp4", ".gif", ".webm", ".ogg"))]
    best = [path for path in files if path not in films]
    if best:
        artifact = wandb.Artifact(f"{run.id}-best", type="model")
        for path in best:
            artifact.add_file(path)
        run.log_artifact(artifact, aliases=["best"])
    for path in films:
        name = os.path.splitext(os.path.basename(path))[0]
        run.log({f"videos/{name}": wandb.Video(path)} | ({"global_step": step} if step else {}))


def main():
    """Answers until the run ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for gorl, which then ends the run
    if hasattr(os, "setsid"):
        os.setsid()  # nor does it reach what the package starts
    run = open_run()
    for line in requests:
        message = json.loads(line)
        if "files" in message:
            try:
                keep(run, message["files"], message["step"])
            except Exception as error:  # a full disk, a film that the package refuses
                reply(error=f"{type(error).__name__}: {error}")
            else:
                reply()
            continue
        if "rows" not in message:
            run.finish(exit_code=message["exit_code"])
            reply()
            return
        for row in message["rows"]:
            values = {tag: float(value) for tag, value in row["values"].items()}
            values |= {"global_step": row["step"], "_timestamp": row["time"]}
            run.log(values, step=row["step"])
        reply()
    run.finish(exit_code=1)


main()
