# %% [markdown]
# # 4. Collect from real clients
#
# Ten minutes. Until now one machine had all records. Now each person makes their own report, and a *collector* takes it over HTTP.
# This page uses `clinic.toml` of [step 3](3_your_own_scheme.md).

# %% tags=["hidden"]
import os
from pathlib import Path

for name in ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):  # commands here print plainly
    os.environ.pop(name, None)
os.chdir(next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "Makefile").exists()))

# %% [markdown]
# ## Start the collector
#
# In a terminal of its own, which is left running (Ctrl-C stops it):

# %% magic_args="--bg" language="bash"
# ldpflow serve clinic.toml --into data/var/collected --port 8080 --seal-after 2

# %% [markdown]
# In another terminal, ask whether it is there:

# %% language="bash"
# curl --silent --retry 30 --retry-connrefused --retry-delay 1 http://127.0.0.1:8080/health

# %% [markdown]
# ## One person
#
# This happens on the person's own machine. The record stays there; only `report.jsonl` leaves.

# %% language="bash"
# echo '{"visits": 3, "chronic_index": 12.5}' > me.jsonl
# ldpflow privatize clinic.toml me.jsonl report.jsonl
# cat report.jsonl

# %% [markdown]
# Send it, twice:

# %% language="bash"
# for time in first second; do
#   curl --silent --data-binary @report.jsonl --header "Content-Type: application/json" \
#     http://127.0.0.1:8080/schemes/clinic/reports
#   echo
# done

# %% [markdown]
# *accepted* means that it is on the disk. The same report again is counted once.
#
# ## A browser
#
# The collector also serves a page that asks the questions and makes the noise in the browser. It is at
# <http://127.0.0.1:8080/survey/clinic/>. It shows the report before it is sent.

# %% tags=["picture"]
import subprocess

from IPython.display import Image

chromium = [
    "chromium",
    "--headless",
    "--no-sandbox",
    "--hide-scrollbars",
    "--virtual-time-budget=4000",
    "--window-size=760,900",
]
page = ["--screenshot=consent.png", "http://127.0.0.1:8080/survey/clinic/"]
subprocess.run([*chromium, *page], check=True, capture_output=True)
Image("consent.png", alt="The consent page in a browser: two questions, and what an answer gives away")

# %% [markdown]
# ## Many people
#
# Two thousand people of the file, as if each had made a report. A batch has a report a line.

# %%
import pandas as pd

people = pd.read_parquet("data/samples/health_insurance.parquet").sample(2000, random_state=7)
people.to_csv("people.csv", index=False)

# %% language="bash"
# ldpflow privatize clinic.toml people.csv reports.jsonl
# curl --silent --data-binary @reports.jsonl --header "Content-Type: application/x-ndjson" \
#   http://127.0.0.1:8080/schemes/clinic/batches

# %% [markdown]
# ## Count them
#
# Every two seconds (`--seal-after 2`) the collector seals what has come into a file. A round counts the files.

# %% language="bash" tags=["rows vary"]
# sleep 4
# ldpflow run clinic.toml --reports data/var/collected/reports/* --round first-survey

# %% [markdown]
# The check `clients` says that far fewer answered than in the round before: there it was the whole file. That is what checks
# are for, and the round has landed all the same.
#
# The intervals are wider than in step 3, since one person in ten was asked. A number that cannot be told from noise is *refused*,
# and a note says why and what would help.
#
# What else a collector can be told, keys, certificates and limits, is on [its own page](../../../dpcore/collector/README.md).
#
# Next: [run it every night](5_run_it_every_night.md).
