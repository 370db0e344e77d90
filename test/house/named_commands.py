#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command and option of `sickbay` that a text names exists.

The texts: README.md, doc/*.md, doc/formats/*.md, the man pages, and the string literals of src/ and lab/ (messages,
causes, remedies, help). The truth: what `sickbay COMMAND --help` of the program itself lists, and those of smd and sickbay-ckpt.

What counts as a mention:
- in Markdown, `sickbay WORD` inside backquotes or in a code block; prose says Sickbay.
- in man pages and string literals, `sickbay WORD` anywhere, but not behind a path or a dash.
- the options that stand behind it, up to the end of the quotes, of the command (a `|`, `;`, `&&`, `--`) or of the line.
- in Markdown (as above), man pages and remedies (remedied_by(...), remedy_text = ...) each --option, even alone:
  some command has it, or another program stands before it in the same piece of text.

First it shows on texts of its own that wrong ones are found.
"""
import functools
import os
import pathlib
import re
import subprocess
import sys

SICKBAY = pathlib.Path(os.environ["SICKBAY_BIN"]) / "sickbay"
SOURCE = pathlib.Path(os.environ["SICKBAY_SOURCE"])

# The generated scripts and pages name both programs: "sickbay and mybatch".
NO_COMMANDS = {"and", "mybatch", "myrequeue", "mytrigger", "itself"}
HIDDEN = {"man", "complete-words"}  # commands that no help lists
# Behind these another program reads the words, so that options there are none of ours.
PASSES_ON = {("submit",), ("lab", "exec")}
OTHER_PROGRAMS = re.compile(r"\b(sbatch|srun|sacct|sacctmgr|scontrol|sinfo|scancel|systemctl|sickbayd|sickbay-\w+|tar|curl)\b")
MENTION = re.compile(r"(?<![\w/.-])sickbay[ ]+(-*[\w{][\w{}-]*)([^\n]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


@functools.cache
def definition(path):
    """The inner commands and the long options of a command; nothing where there is no such command."""
    shown = subprocess.run([SICKBAY, *path, "--help"], capture_output=True, text=True, check=False)
    if shown.returncode != 0:
        return None
    inner = shown.stdout.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
    return (set(re.findall(r"^  ([a-z][\w-]*)", inner, re.M)), set(re.findall(r"(--[a-z][a-z-]*)", shown.stdout)))


@functools.cache
def all_options():
    """Those of all commands, of smd and of sickbay-ckpt, and sbatch's, which `sickbay submit` takes."""
    def of(path):
        inner, options = definition(path)
        return options.union(*(of((*path, word)) for word in inner))
    def help_of(program, *words):
        return subprocess.run([SICKBAY.with_name(program), *words, "--help"], capture_output=True, text=True, check=True).stdout
    smds = help_of("smd")
    ckpts = help_of("sickbay-ckpt")
    for word in re.findall(r"^  ([a-z]+)  ", ckpts.partition("\nSubcommands:\n")[2], re.M):
        ckpts += help_of("sickbay-ckpt", word)
    sbatchs = (SOURCE / "src/model/sbatch_options.cc").read_text()
    return of(()) | set(OPTION.findall(smds)) | set(re.findall(r"(--[a-z][a-z-]*)", ckpts)) | {"--" + name for name in re.findall(r'\{"([a-z][a-z-]*)", ', sbatchs)}


def until_the_end(rest):
    """What belongs to the command: not what stands behind its quotes or in the next command."""
    return re.split(r"['\"`’)|;#]|&&|\s--(?:\s|$)|\s{2,}", rest)[0]


def wrong_mentions(text):
    """One sentence for each mention in a piece of text that is not so."""
    for mention in MENTION.finditer(text):
        word, rest = mention.group(1), until_the_end(mention.group(2))
        if word.startswith("-") or "{" in word:  # an option of its own, or a word that the program puts in
            continue
        commands, _ = definition(())
        if word in NO_COMMANDS:
            continue
        if word not in commands and word not in HIDDEN:
            yield f"there is no command 'sickbay {word}'"
            continue
        path = (word,)
        inner, options = definition(path)
        following = rest.split()
        if inner and following and re.fullmatch(r"[a-z][a-z-]*", following[0]):
            if following[0] not in inner:
                yield f"there is no command 'sickbay {word} {following[0]}'"
                continue
            path = (word, following[0])
            options = definition(path)[1]
        if path in PASSES_ON:
            continue
        for option in OPTION.findall(rest):
            if option not in options:
                yield f"'sickbay {' '.join(path)}' has no option {option}"


def wrong_options(text):
    """One sentence for each option that is nobody's."""
    for option in OPTION.finditer(text):
        if option.group() not in all_options() and not OTHER_PROGRAMS.search(text[: option.start()]):
            yield f"no command has the option {option.group()}"


def pieces_of_markdown(text):
    """Backquoted spans and lines of code blocks, each with the number of its line."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield number, line
        else:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span


def pieces_of_man_page(text):
    text = text.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith((".TH", '.\\"')):  # the version of the program; comments
            yield number, re.sub(r"^\.[A-Z]+ ", "", line)


LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def pieces_of_code(text):
    """Literals, those that stand side by side joined, each with its line and whether it is a remedy."""
    text = re.sub(r"^\s*(//|#include).*$", "", text, flags=re.M)
    text = re.sub(r"(?<=[;{}),])\s+//.*$", "", text, flags=re.M)
    at = 0
    while literal := LITERAL.search(text, at):
        begins, words, at = literal.start(), literal.group(1), literal.end()
        while following := re.compile(r'\s*"((?:[^"\\\n]|\\.)*)"').match(text, at):
            words, at = words + following.group(1), following.end()
        before = text[max(0, begins - 90) : begins]
        remedy = re.search(r"(remedied_by\((fmt::format\()?\s*|remedy_text \+?=[^;]*)$", before) is not None
        for part in re.split(r"\\n", words.replace('\\"', '"')):
            yield text.count("\n", 0, begins) + 1, part, remedy


def pieces_of_tree():
    """(file, line, text, whether options that stand alone count) of all that is looked at."""
    for pattern in ("README.md", "doc/*.md", "doc/formats/*.md"):
        for file in sorted(SOURCE.glob(pattern)):
            for number, piece in pieces_of_markdown(file.read_text()):
                yield file, number, piece, True
    for file in sorted(SOURCE.glob("doc/man/*.[18]")):
        for number, piece in pieces_of_man_page(file.read_text()):
            yield file, number, piece, file.suffix == ".1"  # .8 are of other programs
    for folder in ("src", "lab"):
        for file in sorted((SOURCE / folder).rglob("*")):
            if file.suffix in (".cc", ".h") and not file.name.endswith(("_test.cc", "_test_parts.h")):
                for number, piece, remedy in pieces_of_code(file.read_text()):
                    yield file, number, piece, remedy


def check_tree():
    good, seen = True, 0
    for file, number, piece, alone in pieces_of_tree():
        seen += len(MENTION.findall(piece))
        for said in list(wrong_mentions(piece)) or (wrong_options(piece) if alone else ()):
            print(f"{file.relative_to(SOURCE)}:{number}: {said}", file=sys.stderr)
            good = False
    if seen < 150:  # the rule no longer finds what there surely is
        print(f"only {seen} mentions were found", file=sys.stderr)
    return good and seen >= 150


# A text, and what must be said of it.
FAULTS = [
    ("see 'sickbay status' and 'sickbay why c17 --wait'", []),
    ("without root, the simulator shows the same (sickbay demo)", ["there is no command 'sickbay demo'"]),
    ("then sickbay labels accept FILE", ["there is no command 'sickbay labels accept'"]),
    ("'sickbay report log --colour' colours it", ["'sickbay report' has no option --colour"]),
    ("sickbay rules test | grep --invert-match ok", []),
    ("sickbay submit --nodes=2 job.sh", []),
    ("sickbay lab up --faults", ["'sickbay lab up' has no option --faults"]),
    ("/usr/bin/sickbay starts; the log of sickbay: a line", []),
]


def self_test():
    good = True
    for text, expected in FAULTS:
        if (found := list(wrong_mentions(text))) != expected:
            print(f"self-test: in {text!r} was found {found}, not {expected}", file=sys.stderr)
            good = False
    if list(wrong_options("write --rejetcs FILE")) != ["no command has the option --rejetcs"]:
        print("self-test: a wrong option of a remedy is not found", file=sys.stderr)
        good = False
    if list(wrong_options("as with sbatch --exact, or --rejects FILE")):
        print("self-test: an option of another program is held for ours", file=sys.stderr)
        good = False
    return good


if __name__ == "__main__":
    sys.exit(0 if self_test() & check_tree() else 1)
