import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import lamcts
from lamcts import Bool, Box, Choice, Float, Int, Permutation, Space
from lamcts.errors import JournalError
from lamcts.objectives import Command
from lamcts.objectives.programs import process

SPACE = Space({"lr": Float(1e-5, 1e-1, log=True), "layers": Int(1, 8)})
POINT = {"lr": 1e-3, "layers": 4}


def of(template, space=SPACE, **settings):
    return Command(template, space, **settings)


def test_the_value_is_what_the_program_prints():
    assert of("echo epoch {layers}, loss {lr}")(POINT) == 1e-3
    assert of(["echo", "{lr}", "{layers}"])(POINT) == 4


def test_words_are_filled_and_stay_words(tmp_path):
    space = Space({"act": Choice(("a b", "; touch here", "$HOME")), "on": Bool(), "x": Float(0, 1)})
    f = of("prog --act={act} '{on} {{x}}' {x:.2f} {seed}", space)
    call = f.arguments({"act": "; touch here", "on": True, "x": 0.125}, seed=7)
    assert call == ["prog", "--act=; touch here", "true {x}", "0.12", "7"]
    assert f.arguments({"act": "a b", "on": False, "x": 1e-300}, 0)[1:3] == ["--act=a b", "false {x}"]
    assert f.name == "prog"


@pytest.mark.parametrize("place", ["{learning rate}", "'{learning rate}'", "{learning rate:.2f}"])
def test_names_of_parameters_may_have_blanks_in_commands_and_decks(place, tmp_path):
    (tmp_path / "deck.tpl").write_text("rate = {learning rate:.2f}")
    space = Space({"learning rate": Float(0, 1), "größe": Int(1, 9)})
    f = of(f"prog --rate {place} -n{{größe}} '{{{{print $1}}}}' {{{{a b}}}}", space)
    words = f.arguments({"learning rate": 0.25, "größe": 3}, 0)
    assert words == ["prog", "--rate", "0.25", "-n3", "{print $1}", "{a", "b}"]
    f = Command(
        [sys.executable, "-c", "print(open('d').read())", "{größe}"], space, inputs={tmp_path / "deck.tpl": "d"}
    )
    assert f({"learning rate": 0.5, "größe": 3}) == 0.5


def test_a_parameter_that_is_inactive_takes_its_words_with_it():
    when = {"when": {"act": "sgd"}}
    space = Space({"act": Choice(["sgd", "adam"]), "m": Float(0, 1, **when), "n": Int(0, 3, **when)})
    f = Command("echo --m {m:.2f} -v --n={n} {act}", space)
    assert f.arguments({"act": "adam"}, 0) == ["echo", "-v", "adam"]
    assert f.arguments({"act": "sgd", "m": 0.5, "n": 2}, 0) == ["echo", "--m", "0.50", "-v", "--n=2", "sgd"]
    shell = Command(["sh", "-c", "echo 3 {m} {n}; : $1", "sh", "{act}"], space)
    assert shell({"act": "adam"}) == 3.0


def test_numbers_lose_no_digit_on_their_way():
    f, lr = of("echo {layers} {lr}"), 0.1 + 0.2 - 0.25
    assert f({"lr": lr, "layers": 1}) == lr


def test_the_seed_is_the_trials_and_a_new_one_without():
    f = of("echo {lr} {layers} {seed}")
    assert f(POINT, seed=12) == 12
    assert f(POINT) != f(POINT)


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("0.25", 0.25),
        ("1\n2\n3\n", 3),
        ("loss: 1e-3\n\n  \n", 1e-3),
        ("epoch 7 accuracy=91.5%\n", 91.5),
        ("score (0.1, -.5)", -0.5),
        ("final loss 3.\n", 3),
        ("1E+05 after 3.2s in v2\n", 1e5),
        ("2024-01-02 run-3\n", 2024),
        ("{epoch 3}\nloss: 0.5", 0.5),
        ("{'epoch': 3}\r\n91.5 %", 91.5),
    ],
)
def test_the_last_number_of_the_last_line_counts(output, value):
    assert of("echo {lr} {layers}").read(output) == value


def test_a_program_that_prints_nan_has_failed_and_not_found_its_epoch():
    assert np.isnan(of("echo {lr} {layers}").read("epoch 3 loss nan"))


@pytest.mark.parametrize("output", ["", "\n\n", "0.5\ndone", "1.2.3", "v2"])
def test_without_a_number_there_is_no_value(output):
    with pytest.raises(ValueError, match="expected a number on the last line"):
        of("echo {lr} {layers}").read(output)


PRETTY = '{\n  "loss": 0.3,\n  "epochs": 12\n}\n'


@pytest.mark.parametrize("output", ['{"loss": 0.3, "epochs": 12}', PRETTY])
def test_an_object_without_a_named_objective_is_a_failure(output):
    cure = r"a JSON object of loss, epochs: name the objective, such as objectives=\['loss'\] \(--objective loss\)"
    with pytest.raises(ValueError, match=cure):
        of("echo {lr} {layers}").read(output)
    assert of("echo {lr} {layers}", objectives=["loss"]).read(output) == {"loss": 0.3, "epochs": 12}
    with pytest.raises(ValueError, match=r"expected a number for 'mass' in the JSON object that it prints"):
        of("echo {lr} {layers}", objectives=["mass"]).read(output)
    assert of("echo {lr} {layers}", pattern='"loss": ([0-9.]+)').read(output) == 0.3


def test_a_line_after_the_object_of_a_named_objective_is_not_its_value():
    named = of("echo {lr} {layers}", objectives=["loss"])
    with pytest.raises(ValueError, match=r"expected a JSON object such as \{\"loss\": 0.5\} on the last line"):
        named.read('{"loss": 0.3}\ndone in 5')
    assert named.read('{"step": 1}\n0.25\n') == named.read("loss 0.25") == 0.25


CUT = [
    '{"loss": 3.0, "epochs": 7',
    '{"loss": 3.0, "epochs": 7\n',
    '{"loss": 3.0} after 7 s\n',
    "{'loss': 3.0, 'epochs': 7}\n",
    ' {"loss": 3.0, "epochs": 7}}\n',
    'INFO {"loss": 3.0, "epochs": 7}\n',
    PRETTY[:-5],
    f"begun\n{PRETTY[:-3]}\n",
    '{\n  "front": [\n    1,\n    2',
    "loss 1.",
    "loss -",
    "epoch 7, loss -",
    "epoch 7, loss 1e",
    "epoch 7, loss 1e-",
    "epoch 7, loss: ",
    "epoch 7, loss=",
    "epoch 7, lo",
    "epoch 7, loss na",
    "3.0, ",
]


@pytest.mark.parametrize("output", CUT)
def test_no_number_is_taken_from_a_line_that_may_be_cut_off(output):
    for goals in ({}, {"objectives": ["loss"]}, {"objectives": ["loss", "mass"]}):
        with pytest.raises(ValueError, match="expected"):
            of("echo {lr} {layers}", **goals).read(output)


def test_a_pattern_takes_no_number_that_may_be_cut_off():
    found = of("echo {lr} {layers}", pattern=r"loss (\S+)")
    assert found.read("loss 1.\n") == found.read("loss 1.0") == 1
    with pytest.raises(ValueError, match=r"got '1\.'"):
        found.read("loss 1.")


@pytest.mark.parametrize("output", ["loss: 3.0, epochs: 7\n", "loss: 3.0 (7 s)\n", "loss= epochs=7\n"])
def test_a_number_of_another_name_is_not_that_of_the_objective(output):
    with pytest.raises(ValueError, match="expected one number behind 'loss'"):
        of("echo {lr} {layers}", objectives=["loss"]).read(output)
    assert of("echo {lr} {layers}", objectives=["loss"]).read("epochs: 7, loss: 3.0\n") == 3


READ = """
from lamcts.objectives import Command
from lamcts.spaces import Float, Space
f = Command("echo {x}", Space({"x": Float(0, 1)}))
for line in ("1" * 10**6 + "x", "0." + "1" * 10**6 + "x", "1e" + "1" * 10**6 + "x", "1." * 10**6, "1.1e1" * 10**5):
    try:
        raise SystemExit(f.read("0.5 or " + line + chr(10)) != 0.5)
    except ValueError as error:
        assert len(str(error)) < 200
"""


def test_a_long_line_of_digits_is_read_in_one_pass():
    subprocess.run([sys.executable, "-c", READ], check=True, timeout=60)  # with two ways to match: for hours


def test_a_pattern_finds_the_number_elsewhere():
    output = "step 1: val=0.5 time=3\nstep 2: val=0.25 time=4\nbye"
    assert of("echo {lr} {layers}", pattern=r"val=(\S+)").read(output) == 0.25
    assert of("echo {lr} {layers}", pattern=r"^0\.\d+$").read("0.5\nx") == 0.5
    with pytest.raises(ValueError, match=r"expected a match of 'val=\.\*' in the output, got 'bye'"):
        of("echo {lr} {layers}", pattern="val=.*").read("bye")
    with pytest.raises(ValueError, match=r"got 'soon'"):
        of("echo {lr} {layers}", pattern=r"val=(\S+)").read("val=soon")


def test_a_program_that_fails_says_how():
    with pytest.raises(RuntimeError, match=r"^exit status 3: first \| out of memory$"):
        of(["sh", "-c", "echo first >&2; echo; echo out of memory >&2; echo {lr} {layers}; exit 3"])(POINT)
    with pytest.raises(RuntimeError, match=r"^exit status 9: .*no convergence$"):
        of(["sh", "-c", "echo {lr} {layers}; echo no convergence; exit 9"])(POINT)
    with pytest.raises(RuntimeError, match=r"^killed by SIGKILL$"):
        of(["sh", "-c", "kill -9 $$ {lr} {layers}"])(POINT)
    with pytest.raises(FileNotFoundError, match="no_such_program"):
        of("./no_such_program {lr} {layers}")(POINT)
    with pytest.raises(TimeoutError, match=r"killed after 0.2 s"):
        of("sleep 300 {lr} {layers}", timeout_seconds=0.2)(POINT)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"template": "echo {lr}"},
            "got none for 'layers': write {layers} into the command, or into a template",
        ),
        ({"template": "echo {lr} {layer}"}, r"expected one of \{lr\}, \{layers\}, \{seed\}, \{folder\}, got \{layer\}"),
        ({"template": "echo {lr} {}"}, "plain names"),
        ({"template": "echo {lr.real} {layers}"}, "plain names"),
        ({"template": "echo {lr[0]} {layers}"}, "plain names"),
        ({"template": "echo {lr!r} {layers}"}, "plain names"),
        ({"template": "echo {lr:{layers}}"}, "plain names"),
        ({"template": "echo {lr} {layers} }"}, "for braces"),
        ({"template": "echo {lr:d} {layers}"}, "formats that fit"),
        ({"template": "echo '{lr} {layers}"}, "close the quotation"),
        (
            {"template": "echo {lr} {layers} | tail -1"},
            r"got '\|', which is for a shell: use sh -c 'echo \"\$1\" \| \.\.\.' sh \{x\}",
        ),
        (
            {"template": "echo {lr:999999999999} {layers}"},
            r"at most 999 characters for a value, got \{lr:999999999999\}",
        ),
        ({"template": "echo {lr:.1000f} {layers}"}, "at most 999 characters"),
        ({"template": "echo {n:c}", "space": Space({"n": Int(2**40, 2**41)})}, "formats that fit"),
        ({"template": "  "}, "a program and its arguments"),
        ({"template": "echo {x}", "space": Box(0, 1, dim=3)}, "a Space with names"),
        ({"template": "echo {x}", "space": Space({"x": Box(0, 1, dim=3)})}, "'x' as a parameter that the command line"),
        ({"template": "echo {seed}", "space": Space({"seed": Int(0, 3)})}, "called 'seed'"),
        ({"timeout_seconds": 0}, "above 0"),
        ({"pattern": "("}, "a regular expression"),
        ({"pattern": "(a)(b)"}, "at most one group, got 2"),
    ],
)
def test_a_command_that_cannot_work_is_refused_at_once(settings, message):
    with pytest.raises(ValueError, match=message):
        Command(**{"template": "echo {lr} {layers}", "space": SPACE, **settings})


TEXTS = Space({"act": Choice(("relu", "x; touch pwned")), "size": Choice((1, 2.5)), "on": Bool(), "x": Float(0, 1)})


@pytest.mark.parametrize(
    "template",
    [
        "sh -c 'echo {act}' {size} {on} {x}",
        "/bin/bash -lc 'echo {act:>9}' {size} {on} {x}",
        "nice -n 5 dash -e -c 'echo {act}' {size} {on} {x}",
        "bash -eo pipefail -c 'echo {act}' {size} {on} {x}",
        "bash --norc --rcfile none -c -- 'echo {act}' {size} {on} {x}",
        "env A=1 zsh -c -e '{act}' {size} {on} {x}",
        "ksh +e -c 'echo {act}' {size} {on} {x}",
        "sh -c 'echo {size:c} {on} {x}' {act}",
        "su root -c 'echo {act}' {size} {on} {x}",
        "su root -c {act} {size} {on} {x}",
        "sudo su --command={act} root {size} {on} {x}",
        "runuser -u me --session-command {act} {size} {on} {x}",
        "script -qc 'echo {act}' /dev/null {size} {on} {x}",
        "flock lock -c {act} {size} {on} {x}",
    ],
)
def test_a_text_inside_what_a_shell_reads_is_refused(template):
    with pytest.raises(ValueError, match=r"which a shell reads as commands: use sh -c 'echo \"\$1\" \| \.\.\.' sh \{"):
        Command(template, TEXTS)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("doas 'echo {act}' {size} {on} {x}", "may read as commands: use sh -c"),
        ("unknown --do 'echo {act}' {size} {on} {x}", "may read as commands: use sh -c"),
        ("prog --file=conf/{act} {size} {on} {x}", "may read as commands"),
        ("prog --both={act},{size} {on} {x}", "may read as commands"),
        ("prog {act}.yaml {size} {on} {x}", "since it may be 'x; touch pwned', got {act} in '{act}.yaml'"),
        ("watch -n1 'echo {act}' {size} {on} {x}", "reads as commands: use a script that quotes it"),
        ("nice watch echo {act} {size} {on} {x}", "reads as commands: use a script that quotes it"),
        ("ssh host prog --act={act} {size} {on} {x}", "reads as commands: use a script that quotes it"),
    ],
)
def test_a_text_that_a_shell_could_obey_is_a_word_of_its_own(template, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        Command(template, TEXTS)


def test_texts_that_no_shell_obeys_may_stand_anywhere():
    plain = Space({"act": Choice(("relu", "conf/a-b_1.yaml", "k=v:w,@%+")), "order": Permutation(["a", "b"])})
    for template in ("sh -c 'echo {act}.yaml {order}'", "ssh host prog {act} {order}", "su -c '{act} {order}'"):
        Command(template, plain)


@pytest.mark.parametrize("bad", ["", "a b", "$x", "`x`", "a'b", "~", "*", "x\ny", "a\\b", "\u20ac", "{a,b}", "!1", "#"])
def test_a_text_of_signs_that_shells_know_is_taken_whole_or_behind_an_option(bad):
    for member in (Choice(("relu", bad)), Permutation(["a", bad])):
        space = Space({"act": member})
        with pytest.raises(ValueError, match="as a word of its own"):
            Command("prog x{act}", space)
        Command("prog {act} --act={act} act={act} model.act={act} +act={act} {act:>9}", space)


@pytest.mark.parametrize(
    "template",
    [
        "sh -c 'echo {size} {on} {x:.3g} {seed}' sh {act}",
        "su root -c 'echo {size} {on} {x:.3g} {seed}' -- {act}",
        "script -qc 'echo {size} {on} {x}' {act}",
        "bash run.sh -c {act} {size} {on} {x}",
        "python -c {act} {size} {on} {x}",
        "sh -- run.sh -c {act} {size} {on} {x}",
    ],
)
def test_numbers_inside_what_a_shell_reads_and_texts_beside_it_are_taken(template):
    Command(template, TEXTS)


def test_the_way_round_a_shell_that_is_advised_takes_a_text_as_a_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    f = Command("""sh -c 'echo "$1" | wc -c' sh {act} {size} {on} {x}""", TEXTS)
    assert f({"act": "x; touch pwned", "size": 1, "on": True, "x": 0.5}) == len("x; touch pwned\n")
    assert list(tmp_path.iterdir()) == []


SCRIPT = """
import sys
x, n = float(sys.argv[1]), int(sys.argv[2])
if n == 3:
    sys.exit("three is not allowed")
print("value", (x - 0.3) ** 2 + n)
"""
UNIT = Space({"x": Float(0, 1), "n": Int(1, 4)})


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "my script.py"
    path.write_text(SCRIPT)
    return [sys.executable, "-S", "-E", str(path), "{x}", "{n}"]


@pytest.mark.parametrize("how", [{}, {"workers": 2}, {"executor": ThreadPoolExecutor, "workers": 2}], ids=str)
def test_a_search_over_a_program_goes_on_past_its_failures(script, how):
    f = pickle.loads(pickle.dumps(Command(script, UNIT)))
    result = lamcts.minimize(f, budget=12, seed=0, sampler="uniform", progress=False, **how)
    history = result.history
    for point, value in zip(history.points, history.values, strict=True):
        assert np.isnan(value) if point["n"] == 3 else value == (point["x"] - 0.3) ** 2 + point["n"]
    assert history.failed.any() and result.fun == np.nanmin(history.values)
    assert set(history.messages.values()) == {"RuntimeError: exit status 1: three is not allowed"}


def test_a_program_that_prints_without_end_is_a_failed_evaluation(monkeypatch):
    monkeypatch.setattr(process, "MOST_BYTES", 2**20)
    result = lamcts.minimize(Command("yes {x} {n}", UNIT), budget=1, seed=0, sampler="uniform", progress=False)
    assert result.history.messages == {0: "RuntimeError: it wrote more than 1 MiB: print less, or write to a file"}


def test_a_journal_goes_on_with_its_command_and_with_no_other(script, tmp_path):
    how = {"seed": 0, "sampler": "uniform", "progress": False}
    whole = lamcts.minimize(Command(script, UNIT), budget=6, **how)
    journal = tmp_path / "run.db"
    lamcts.minimize(Command(script, UNIT, timeout_seconds=60), budget=3, journal=journal, **how)
    resumed = lamcts.minimize(Command(script, UNIT), budget=6, journal=journal, **how)
    assert resumed.history.values.tobytes() == whole.history.values.tobytes()
    for other in (Command([*script, "--fast"], UNIT), Command(script, UNIT, pattern=".*")):
        with pytest.raises(JournalError, match=r"of another run: objective\.(command|pattern) is"):
            lamcts.minimize(other, budget=8, journal=journal, **how)
    with pytest.raises(JournalError, match="space"):
        wider = Space({"x": Float(0, 2), "n": Int(1, 4)})
        lamcts.minimize(Command(script, wider), budget=8, journal=journal, **how)


DECK = '{{ "lr": {lr:.3f}, "act": "{act}", "seed": {seed}, other: {} }}\n'


@pytest.fixture
def deck(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deck.tpl").write_text(DECK)
    (tmp_path / "b.tpl").write_text(DECK)
    program = "import re\ntext = open('deck.in').read()\nopen('log', 'w').write(text)\n"
    (tmp_path / "sim.py").write_text(f"{program}print(re.search(r'\"lr\": ([0-9.]+)', text)[1])\n")
    return {"inputs": {"deck.tpl": "deck.in"}}


def test_a_deck_is_written_into_the_folder_of_its_trial_where_the_program_starts(tmp_path, deck):
    space = lamcts.Space({"lr": lamcts.Float(0, 1), "act": lamcts.Choice(["relu", "a b"])})
    f = Command([sys.executable, str(tmp_path / "sim.py")], space, **deck)
    assert f({"lr": 0.25, "act": "a b"}, seed=7) == 0.25
    result = lamcts.minimize(f, budget=4, seed=0, journal="run.db")
    for trial, point in zip(result.history.trial, result.history.points, strict=True):
        text = (tmp_path / "run.db.folders" / str(trial) / "log").read_text()
        assert text.startswith(f'{{{{ "lr": {point["lr"]:.3f}, "act": "{point["act"]}", "seed": ')
        assert text.endswith("other: {} }}\n")
    assert f.fingerprint()["inputs"] == {"deck.in": DECK}


@pytest.mark.parametrize(
    ("inputs", "space", "words"),
    [
        ({"none.tpl": "deck.in"}, {"lr": lamcts.Float(0, 1)}, "expected a template file, got none.tpl"),
        *(
            ({"deck.tpl": name}, {"lr": lamcts.Float(0, 1)}, "name of a file in the trial's folder")
            for name in ("../deck.in", "..", ".", "", "/deck.in", "in/", "a\0b", "n" * 256, "\u00e4" * 128)
        ),
        *(
            ({"deck.tpl": "deck.in", "b.tpl": name}, {"lr": lamcts.Float(0, 1)}, "another file name for each deck")
            for name in ("deck.in", "Deck.in")
        ),
        ({"deck.tpl": "deck.in"}, {"size": lamcts.Float(0, 1)}, "a place for every parameter, got none for 'size'"),
    ],
)
def test_a_deck_that_is_missing_or_lacks_a_parameter_is_an_error(deck, inputs, space, words):
    with pytest.raises(ValueError, match=words):
        Command("true", lamcts.Space(space), inputs=inputs)


@pytest.mark.parametrize(
    "spec", ["{x:d}", "{x:.3q}", "{x:1000}", "{x:%s}", "{x} {seed:c}", "{x} {folder:d}", "{x} {n:d}", "{x} {n:c}"]
)
def test_formats_that_do_not_fit_are_refused_before_the_first_evaluation(deck, spec):
    space = {"x": lamcts.Float(0, 1), "n": lamcts.Choice((1, -2, 3, 4, "auto"))}
    Path("deck.tpl").write_text(f"X={spec} {{n}}")
    with pytest.raises(ValueError, match=r"inputs: deck\.in: expected (formats|at most)"):
        Command("true", lamcts.Space(space), **deck)
    with pytest.raises(ValueError, match=r"template: expected (formats|at most)"):
        Command(f"true {spec} {{n}}", lamcts.Space(space))
    Command("true {p:>9s} {on:5}", lamcts.Space({"p": Permutation([1, 2]), "on": Bool()}))


def test_the_command_line_takes_decks(deck, capsys):
    from lamcts.cli import main

    line = ["run", "--command", f"{sys.executable} {Path.cwd()}/sim.py", "--param", "lr=0:1", "--param", "act=a,b"]
    line += ["--budget", "3", "--out", "out", "--no-plot", "--quiet"]
    assert main([*line, "--template", "deck.tpl:deck.in"]) == 0
    assert main([*line, "--template", "deck.tpl"]) == 2
    assert "--template: expected FILE:NAME" in capsys.readouterr().err
    assert main([*line, "--template", "deck.tpl:deck.in", "--template", "deck.tpl:other.in"]) == 2
    assert "each template file once" in capsys.readouterr().err
