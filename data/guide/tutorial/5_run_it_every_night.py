# %% [markdown]
# # 5. Run it every night
#
# Ten minutes. You create a project, start everything with one command, and see a scheduled round.

# %% tags=["hidden"]
import os
from pathlib import Path

for name in ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):  # commands here print plainly
    os.environ.pop(name, None)
os.chdir(next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "Makefile").exists()))

# %% [markdown]
# ## Create a project
#
# A project is a small folder that you keep in your own repository. Every block of commands below starts in the folder of the
# tutorial, so most begin with `cd clinic`.

# %% language="bash"
# ldpflow init clinic

# %% [markdown]
# Add the scheme of [step 3](3_your_own_scheme.md), and name it in `ldpflow.toml`:

# %% language="bash"
# cp clinic.toml clinic/schemes/
# cd clinic
# sed -i 's/survey.toml/clinic.toml/' ldpflow.toml
# grep -v "^#" ldpflow.toml

# %% tags=["hidden"]
settings = Path("clinic/ldpflow.toml")
settings.write_text(settings.read_text().replace("80" + "80", os.environ.get("COLLECTOR_PORT", "80" + "80")))

# %% [markdown]
# `schedule` is in the time zone `time_zone`. A round's name is the UTC date at which it starts: a round at 00:30 in Berlin has
# the name of the previous day. `seal_after = 5` is short for the tutorial. In production use 60 or more: a report then waits
# for more others, which hides the order of arrival better.
#
# ## Start it
#
# Use a separate terminal. The command starts a Prefect server, a worker, the collector, and the schedule; Ctrl-C stops them.

# %% magic_args="--bg" language="bash"
# cd clinic
# ldpflow up

# %% [markdown]
# In another terminal, after about twenty seconds:

# %% tags=["hidden"]
import subprocess
import time

deadline = time.monotonic() + 120
while b"takes reports" not in (said := subprocess.run(["ldpflow", "status"], cwd="clinic", capture_output=True).stdout):
    assert time.monotonic() < deadline, said
    time.sleep(1)

# %% language="bash"
# cd clinic
# ldpflow status || true

# %% [markdown]
# A line that reports a problem begins with `!`, and the exit status is then 1. A watchdog checks this status: leave `|| true`
# out there, since it hides the status.
#
# ## Send reports
#
# Use the two thousand reports of [step 4](4_collect_from_real_clients.md).

# %% language="bash"
# curl --silent --data-binary @reports.jsonl --header "Content-Type: application/x-ndjson" \
#   http://127.0.0.1:8080/schemes/clinic/batches

# %% [markdown]
# ## The night
#
# The daily round runs at 02:15 UTC. It counts all sealed reports that no other round has counted, except reports that were
# sent for a later round. You can also start it now:

# %% language="bash"
# cd clinic
# sleep 6        # the collector seals its files every five seconds
# prefect deployment run round/daily --watch > watched.txt 2>&1
# tail -1 watched.txt

# %% [markdown]
# Its pages, logs and plots are in the browser, at <http://127.0.0.1:4200>. The browser asks once for a key. `ldpflow up --key`
# only prints this key and starts nothing. The estimates are in the project's own warehouse:

# %% language="bash"
# cd clinic
# ldpflow query "select attribute, category, estimate, low, high from latest_frequencies"

# %% language="bash"
# cd clinic
# ldpflow status || true

# %% [markdown]
# ## A server of your own
#
# If your team has a Prefect server, `ldpflow deploy` adds the same schedules to it. Settings that your team changed on that
# server stay, unless `ldpflow.toml` has changed since. Replace the address below by that of the server. Here it is the server
# that `ldpflow up` has started, which has these schedules already: all lines say `unchanged`.

# %% language="bash"
# cd clinic
# PREFECT_API_URL=http://127.0.0.1:4200/api ldpflow deploy

# %% [markdown]
# A worker in the project's folder executes the rounds. `ldpflow up` starts one for its own server; for another server, start
# `prefect worker start --pool ldpflow-pool` with the same `PREFECT_API_URL`.
#
# [One page](../../project/RUNNING.md) describes systemd, containers and object stores. Stop `ldpflow up` with Ctrl-C.
#
# Next: [decide epsilon and defend it](6_decide_epsilon.md).
