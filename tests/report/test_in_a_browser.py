"""The page in headless Chromium: every figure is drawn, nothing is asked of a network, no script complains."""

import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from commands import said

import lamcts
from lamcts.cli.report import runs_of
from lamcts.report import live

pytest.importorskip("plotly", reason="plotly is not installed: pip install '.[report]'")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = "--headless --no-sandbox --disable-gpu --use-angle=swiftshader --enable-unsafe-swiftshader --disable-sync "
QUIET += "--disable-background-networking --disable-component-update --no-first-run --enable-logging=stderr"
DESKTOP, PHONE = "1280,900", "500,900"  # pixels; Chromium has no narrower window
NAMED = {"lr": lamcts.Float(1e-4, 1, log=True), "<img src=x>": lamcts.Choice(["a", "b"]), "n": lamcts.Int(1, 9)}
SPACE = lamcts.Space(NAMED)


def in_a_browser(test):
    why = "Chromium is not installed: apt-get install chromium"
    return pytest.mark.dear(pytest.mark.skipif(CHROMIUM is None, reason=why)(test))


def opened(page, folder, window):
    """Return the page's elements after its scripts ran, what they said on the console, and addresses asked for."""
    net = folder / f"net{window}.json"
    how = [*QUIET.split(), f"--user-data-dir={folder / window}", f"--window-size={window}", f"--log-net-log={net}"]
    command = [CHROMIUM, *how, "--virtual-time-budget=20000", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    words = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "GL Driver Message" not in line]
    asked = [event.get("params", {}) for event in json.loads(net.read_text())["events"]]
    own = "not an origin"  # asks the browser for itself
    return done.stdout, words, {each["url"] for each in asked if "url" in each and each.get("initiator", own) != own}


@in_a_browser
@pytest.mark.parametrize("window", [DESKTOP, PHONE])
def test_a_browser_draws_every_figure_and_asks_nothing_of_a_network(capsys, tmp_path, monkeypatch, window):
    monkeypatch.chdir(tmp_path)

    def both(point):
        return {"cost": point["n"] + point["lr"], "gain": point["n"] * point["lr"], "stress": point["n"]}

    goals = {"objectives": {"cost": "min", "gain": "max"}, "constraints": ["stress <= 7"]}
    lamcts.minimize(both, SPACE, budget=60, seed=0, sampler="uniform", journal="run.db", **goals)
    assert said(capsys, "report", "run.db")[0] == 0
    text = Path("report.html").read_text()
    shown, words, asked = opened(tmp_path / "report.html", tmp_path, window)
    figures = re.findall(r'<script>draw\("(figure\d+)"', text)
    body = shown.partition("</head>")[2]
    drawn = re.findall(r'<div id="(figure\d+)"[^>]*class="js-plotly-plot"', body)
    assert len(figures) > 8 and drawn == figures
    assert words == [] and all(url.startswith(("file:", "data:", "blob:")) for url in asked), (words, asked)
    assert "WebGL is not supported" not in body and "<img src=" not in body


@in_a_browser
def test_a_live_page_reloads_itself_until_nothing_changes(tmp_path, monkeypatch):
    lamcts.minimize(lambda p: p["lr"], SPACE, budget=25, seed=0, sampler="uniform", journal=tmp_path / "run.db")
    monkeypatch.setattr(live, "SHARE", 0)  # no pause between two pages
    asked, made = [], []

    def state():
        asked.append(None)
        return min(len(asked) // 3, 2), False

    def read():
        made.append(None)
        return runs_of([str(tmp_path / "run.db")])

    with live.LiveServer(live.LiveReport(read, state, 0.0), 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        command = [CHROMIUM, *QUIET.split(), f"--user-data-dir={tmp_path / 'browser'}", "--virtual-time-budget=20000"]
        done = subprocess.run([*command, "--dump-dom", server.url], capture_output=True, text=True, timeout=240)
        server.shutdown()
    assert len(made) == 3 and 'const known="2"' in done.stdout and "the run has ended</span>" in done.stdout
    words = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "GL Driver Message" not in line]
    assert words == [] and re.search('<div id="figure1"[^>]*class="js-plotly-plot"', done.stdout)


@in_a_browser
def test_a_page_that_complains_and_asks_is_noticed(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<img src='http://nowhere.invalid/x.png'><script>missing()</script>")
    _, words, asked = opened(page, tmp_path, DESKTOP)
    assert any("missing is not defined" in line for line in words) and "http://nowhere.invalid/x.png" in asked
