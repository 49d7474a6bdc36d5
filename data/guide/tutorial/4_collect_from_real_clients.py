# %% [markdown]
# # 4. Collect from real clients
#
# Ten minutes. Until now one machine had all records. Now each respondent makes a report, and a *collector* receives it over
# HTTP.
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
# Use a separate terminal and leave it running (Ctrl-C stops the collector):

# %% magic_args="--bg" language="bash"
# ldpflow serve clinic.toml --into data/var/collected --port 8080 --seal-after 2

# %% [markdown]
# In another terminal, check that it runs:

# %% language="bash"
# curl --silent --retry 30 --retry-connrefused --retry-delay 1 http://127.0.0.1:8080/health

# %% [markdown]
# ## One respondent
#
# This happens on the respondent's own machine. The record stays there; only `report.jsonl` leaves.

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
# *accepted* means that the report is on the disk. A repeated report is counted once.
#
# ## A browser
#
# The collector also serves a page that asks the questions and adds the noise in the browser. It is at
# <http://127.0.0.1:8080/survey/clinic/>. It shows the report before sending it.

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
# ## Many respondents
#
# This simulates the reports of two thousand people of the file. A batch has one report per line.

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
# Every two seconds (`--seal-after 2`) the collector seals what has arrived into a file. A round counts the files.

# %% language="bash" tags=["rows vary"]
# sleep 4
# ldpflow run clinic.toml --reports data/var/collected/reports/* --round first-survey

# %% [markdown]
# The check `clients` reports that far fewer respondents answered than in the round before, which had the whole file. The round
# has landed nevertheless.
#
# The intervals are wider than in step 3, because one person in ten was asked. An estimate that is indistinguishable from noise
# is *withheld*, and a note gives the reason and what would help.
#
# [The collector's page](../../../dpcore/collector/README.md) describes keys, certificates, limits and other options.
#
# Next: [run it every night](5_run_it_every_night.md).
