"""`lamcts serve`: the report of a run over HTTP, to this machine alone, made again when the journal changes."""

import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager

import pytest
from commands import said

import lamcts
from lamcts.cli.serve import server_of
from lamcts.study import Study

pytest.importorskip("plotly", reason="plotly is not installed: pip install '.[report]'")

SPACE = {"rate": lamcts.Float(0, 1), "size": lamcts.Int(1, 9)}


def loss(point):
    return point["rate"] + point["size"]


def run(path, budget, seed=0):
    lamcts.minimize(loss, SPACE, budget=budget, seed=seed, sampler="uniform", journal=path)


@contextmanager
def served(*paths, seconds=0.0):
    """Serve some journals in a thread."""
    with server_of([str(path) for path in paths], 0, seconds) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def shows(n, text):
    """Return whether a page is of a run with `n` evaluations."""
    return f"<td>evaluations</td><td>{n}</td>" in text


def got(server, path="", host=None, method="GET"):
    """Return the status, the headers and the text at a path."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request(method, f"/{path}", headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    found = answer.status, answer.headers, answer.read().decode()
    connection.close()
    return found


def test_the_page_is_that_of_the_report_and_loads_from_its_server_alone(tmp_path):
    run(tmp_path / "run.db", 25)
    with served(tmp_path / "run.db") as server:
        status, headers, text = got(server)
        assert (
            status == 200 and headers["Cache-Control"] == "no-store" and headers["Content-Type"].startswith("text/html")
        )
        assert "<h2>Overview</h2>" in text and shows(25, text) and "connect-src 'self'" in text
        assert re.findall(r'src="([^"]+)"', text) == ["plotly.js"] and len(text) < 1_000_000
        status, headers, script = got(server, "plotly.js?x")
        assert status == 200 and headers["Content-Type"] == "text/javascript" and "Plotly" in script
        assert got(server, "../run.db")[0] == got(server, "run.db")[0] == 404
        assert server.server_address[0] == "127.0.0.1"


def test_a_name_of_another_site_for_this_address_is_refused(tmp_path):
    run(tmp_path / "run.db", 3)
    with served(tmp_path / "run.db") as server:
        assert got(server, host=f"evil.example:{server.server_port}")[0] == 403
        assert got(server, "state", host=f"evil.example:{server.server_port}")[0] == 403
        assert got(server, host=f"localhost:{server.server_port}")[0] == 200


def test_a_page_is_made_again_once_the_journal_has_changed(tmp_path):
    path = tmp_path / "run.db"
    study = Study(loss, SPACE, False, 30, seed=0, sampler="uniform", journal=path)
    evaluations = study.evaluations()
    for _ in range(3):
        next(evaluations)
    with served(path) as server:
        version = json.loads(got(server, "state")[2])
        first = got(server)[2]
        assert version["running"] is True and f"const known={json.dumps(version['version'])}" in first
        assert shows(3, first) and got(server)[2] == first and json.loads(got(server, "state")[2]) == version
        next(evaluations)
        server.report._next = 0.0  # the time for another page has come
        changed = json.loads(got(server, "state")[2])
        assert changed["version"] != version["version"] and shows(4, got(server)[2])
        evaluations.close()
        assert json.loads(got(server, "state")[2])["running"] is False


def test_no_page_is_made_before_its_time(tmp_path):
    run(tmp_path / "run.db", 3)
    with served(tmp_path / "run.db", seconds=1000) as server:
        first, state = got(server)[2], got(server, "state")[2]
        run(tmp_path / "run.db", 6)
        assert (
            got(server)[2] == first and json.loads(got(server, "state")[2])["version"] == json.loads(state)["version"]
        )


def test_several_runs_are_compared_and_a_folder_is_a_run(tmp_path):
    (tmp_path / "a").mkdir()
    run(tmp_path / "a" / "journal.db", 5)
    run(tmp_path / "b.db", 5, seed=1)
    with served(tmp_path / "a", tmp_path / "b.db") as server:
        text = got(server)[2]
    assert "<h2>a</h2>" in text and "<h2>b</h2>" in text


def test_a_journal_that_goes_away_is_an_error_on_the_page_and_comes_back(tmp_path):
    path = tmp_path / "run.db"
    run(path, 3)
    with served(path) as server:
        path.rename(tmp_path / "<b>.db")
        status, _, text = got(server)
        assert status == 503 and "there is no journal at" in text and "refresh" in text
        (tmp_path / "<b>.db").rename(path)
        assert got(server)[0] == 200


def test_a_head_request_gets_the_headers_of_the_page_alone(tmp_path):
    run(tmp_path / "run.db", 2)
    with served(tmp_path / "run.db") as server:
        for path in ("", "plotly.js", "state", "nothing"):
            status, headers, text = got(server, path)
            length = str(len(text.encode()))
            assert got(server, path, method="HEAD")[::2] == (status, "") and headers["Content-Length"] == length
            assert got(server, path, method="HEAD")[1]["Content-Length"] == length


def connected(server, request=b""):
    connection = socket.create_connection(server.server_address, timeout=60)
    connection.sendall(request)
    return connection


@pytest.mark.parametrize("request_so_far", [b"", b"GET / HTTP/1.0\r\nHost: "])
def test_an_idle_connection_is_closed(tmp_path, monkeypatch, request_so_far):
    run(tmp_path / "run.db", 2)
    with served(tmp_path / "run.db") as server:
        assert 1 <= server.RequestHandlerClass.timeout <= 60
        monkeypatch.setattr(server.RequestHandlerClass, "timeout", 0.05)
        with connected(server, request_so_far) as connection:
            assert connection.recv(1) == b""


def test_a_reader_that_hangs_up_prints_nothing(tmp_path, capsys):
    run(tmp_path / "run.db", 2)
    with served(tmp_path / "run.db") as server:
        server.daemon_threads = False  # the server then waits for the threads of its requests
        at_once = struct.pack("ii", 1, 0)
        for sent in (
            b"",
            b"GET / HT",
            f"GET /plotly.js HTTP/1.0\r\nHost: localhost:{server.server_port}\r\n\r\n".encode(),
        ):
            with connected(server, sent) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)  # a reset, as of a killed browser
        assert got(server)[0] == 200
    assert capsys.readouterr().err == ""


def test_a_missing_run_and_a_port_that_is_taken_are_errors_of_one_line(tmp_path, capsys):
    run(tmp_path / "run.db", 2)
    path = str(tmp_path / "run.db")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        for words, why in (
            ([str(tmp_path / "none.db")], "there is no journal at"),
            ([path, "--port", str(port)], f"--port: expected a free port, got {port} (Address already in use); give"),
            ([path, "--port", "70000"], "--port: expected a number from 0 to 65535, got 70000"),
            ([path, "--port", "x"], "argument --port: invalid int value: 'x'"),
        ):
            code, _, err = said(capsys, "serve", *words)
            assert code == 2 and why in err and err.count("\n") == 1, err


@pytest.mark.skipif(not hasattr(os, "kill"), reason="needs signals")
def test_ctrl_c_ends_it_cleanly(tmp_path):
    run(tmp_path / "run.db", 2)
    code = (  # a program that starts in the background of a shell is told to ignore Ctrl-C
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from lamcts.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-u", "-c", code, "serve", str(tmp_path / "run.db"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            url = re.match(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
            with urllib.request.urlopen(url, timeout=60) as answer:
                assert answer.status == 200
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0 and out == "ended\n" and err == ""
