"""Headers as documentation: the comment in front of each declaration, then the declaration.

Knows just what this repository's headers do (clang-format's layout, a comment above what it is about), not C++.
"""

from __future__ import annotations

import dataclasses
import re
import textwrap


@dataclasses.dataclass
class Declaration:
    name: str
    comment: list[str]
    code: list[str]


@dataclasses.dataclass
class Header:
    about: list[str]
    parts: list[tuple[str, list[Declaration]]]  # heading ("" where the header has none), what follows it


def prose(comment: list[str]) -> str:
    """Markdown of a comment: lines indented by two spaces or more are code outside of list items, the rest is text."""
    out: list[str] = []
    in_list = False
    for line in comment:
        is_bullet, was_in_list = line.lstrip().startswith(("* ", "- ")), in_list
        in_list = is_bullet or (in_list and line.startswith("  "))
        if line.startswith("  ") and not in_list:
            if out and out[-1] and not out[-1].startswith("    "):
                out.append("")
            out.append("    " + line)
            continue
        if line.startswith("- ") and out and out[-1] and not was_in_list:
            out.append("")
        if out and out[-1].startswith("    ") and line and not line.startswith(" "):
            out.append("")
        out.append(escape(line))
    return "\n".join(out)


def escape(text: str) -> str:
    """Text whose characters mean themselves, but for `code` in backticks."""
    pieces = text.split("`")
    pieces[::2] = [re.sub(r"([\\*_\[\]#|])", r"\\\1", piece).replace("<", "&lt;") for piece in pieces[::2]]
    return "`".join(pieces)


def comment_text(line: str) -> str | None:
    """What a line of a comment says, None for other lines."""
    match = re.match(r"\s*(?:// ?|/\* ?| \* ?| \*/)(.*)$", line)
    return None if match is None else re.sub(r"\s*\*/$", "", match[1])


NAMES = (
    r"#define\s+(\w+)",
    r"enum\s*\{\s*(\w+)",
    r"(?:class|struct|enum class|enum)\s+(?:\[\[nodiscard\]\]\s+)?(\w+)(?=[^(]*[{;])",
    r"using\s+(\w+)",
    r"typedef\s[^{]*\(\*(\w+)\)",
    r"typedef\s.*?(\w+);$",
    r"[^(=]*?(\w+)\(",
    r"[^=;{]*?(\w+)(?:<[^=;{(]*>)?\s*(?:=|;|\{)",
)


def name_of(code: list[str]) -> str:
    text = " ".join(line.strip() for line in code)
    text = re.sub(r"^(?:template <.*?>+\s+|requires\s*\(.*?\)\s+|PT2_API\s+)+", "", text)
    for pattern in NAMES:
        if match := re.match(pattern, text):
            return match[1]
    raise ValueError(f"no name in: {text[:120]}")


def without_private(code: list[str]) -> list[str]:
    """A class without its private part."""
    out: list[str] = []
    private_at: int | None = None
    for line in code:
        indent = len(line) - len(line.lstrip())
        if re.match(r"\s*(private|public|protected):$", line):
            private_at = indent if "private" in line else None
            if private_at is not None:
                while out and not out[-1].strip():
                    out.pop()
                continue
        if private_at is not None and line.strip().startswith("}") and indent < private_at:
            private_at = None
        if private_at is None:
            out.append(line)
    return out


def read(text: str) -> Header:
    """The declarations of a header; definitions of what is declared before (`Tensor::from`) are left out."""
    lines = text.splitlines()
    at = 0
    while at < len(lines) and comment_text(lines[at]) is not None:
        at += 1
    header = Header([comment_text(line) or "" for line in lines[:at]], [("", [])])
    comment: list[str] = []
    while at < len(lines):
        line = lines[at]
        words = comment_text(line)
        section = re.match(r"/\* --- (.*) --- \*/$", line)
        if section:
            header.parts.append((section[1], []))
        elif words is not None and not line.startswith("  "):
            comment.append(words)
        elif not line.strip() or re.match(r"#(if|else|endif|include|undef)|extern \"C\"|namespace|\}  // namespace|\}$", line):
            comment = []
        elif re.match(r"#define \w+_H$", line):
            comment = []
        elif re.match(r"(class|struct) \w+;$", line):
            pass  # its comment is about what follows
        else:
            code, at = statement(lines, at)
            first = " ".join(code)
            if not re.match(r"(template <[^{;]*> )?[^({;]*\b\w+(<\w+>)?::\w+\(", first) or "=" in first.split("(")[0]:
                if not re.match(r"#define (PT2_\w+_\(|PT2_JOIN|PT2_API)", first):
                    header.parts[-1][1].append(Declaration(name_of(code), comment, without_private(code)))
            comment = []
            continue
        at += 1
    header.parts = [part for part in header.parts if part[1]]
    return header


def statement(lines: list[str], at: int) -> tuple[list[str], int]:
    """The lines of one declaration, and the number of the line behind it."""
    start = at
    if lines[at].startswith("#define"):
        while lines[at].endswith("\\"):
            at += 1
        return lines[start : at + 1], at + 1
    depth = 0
    while at < len(lines):
        line = re.sub(r'"(\\.|[^"\\])*"|//.*$|/\*.*?\*/|\'.\'', "", lines[at])
        depth += line.count("{") + line.count("(") - line.count("}") - line.count(")")
        at += 1
        if depth == 0 and re.search(r"[;}]\s*$", line):
            break
    return lines[start:at], at


def fence(language: str, code: str) -> str:
    return f"```{language}\n{textwrap.dedent(code).rstrip()}\n```\n"


def markdown(header: Header, level: int, language: str) -> str:
    """Sections of a page: overloads, which follow one another, share a heading."""
    out = [prose(header.about), ""]
    for heading, declarations in header.parts:
        deeper = level
        if heading:
            out += [f"{'#' * level} {escape(heading[0].upper() + heading[1:])}", ""]
            deeper += 1
        last = ""
        for each in declarations:
            if each.name != last:
                out += [f"{'#' * deeper} {escape(each.name)}", ""]
            last = each.name
            out += [prose(each.comment), "", fence(language, "\n".join(each.code))]
    return "\n".join(out)
