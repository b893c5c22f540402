"""SQL files cut into statements, and the SQL client's output cut into their answers. Standard library only."""
import re
from dataclasses import dataclass, field

PROMPT = "Flink SQL> "
ESCAPE_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
QUESTION = re.compile(r"^\s*--\s*(Q\d+\.\d+)\s+(.*?)\s*$", re.M)
BORDER = re.compile(r"\+(?:-+\+)+$")
TOTAL = re.compile(r"^(?:Received a total of )?(\d+) rows? (?:in set)?\s*(?:\(([\d.]+) seconds?\))?$")
EMPTY = re.compile(r"Empty set\s*(?:\(([\d.]+) seconds?\))?$")


@dataclass
class Statement:
    """One statement with the comments before it. A comment `-- Q3.1 text` names it for the oracle."""
    file: str
    text: str
    key: str = ""
    question: str = ""

    @property
    def sql(self):
        """Without the comments before it."""
        return re.sub(r"\A(?:\s*--[^\n]*\n|\s+)*", "", self.text).strip()


@dataclass
class Answer:
    """What the client said: kind `table` (columns, rows of text, None for NULL), `done` or `error` (message)."""
    kind: str
    columns: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    message: str = ""
    seconds: float = 0.0


def statements(file, text):
    """Cuts at each `;` that is outside of comments and quotes and not between BEGIN and END."""
    found, start, at, depth = [], 0, 0, 0
    token = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|`(?:[^`]|``)*`|\b(?:BEGIN|END)\b(?=\s*(?:;|\s+\w))|;", re.S | re.I)
    while match := token.search(text, at):
        at = match.end()
        word = match.group().upper()
        if word == "BEGIN":
            depth += 1
        elif word == "END" and depth:
            depth -= 1
        elif word == ";" and depth == 0:
            found.append(_statement(file, text[start:at]))
            start = at
    if re.sub(r"--[^\n]*|/\*.*?\*/", "", text[start:], flags=re.S).strip():
        raise ValueError(f"{file}: the last statement has no ';' at its end")
    return found


def _statement(file, text):
    statement = Statement(file, text.strip("\n"))
    before = statement.text[: len(statement.text) - len(statement.sql)]
    if names := QUESTION.findall(before):
        statement.key, statement.question = names[-1]
    return statement


def answer(segment):
    """The answer in what stands between two prompts. The client echoes some statements before it, cut at odd places."""
    lines = ESCAPE_CODES.sub("", segment).replace("\r", "").split("\n")
    for number, line in enumerate(lines):
        if "[ERROR]" in line:
            message = "\n".join([line[line.index("[ERROR]"):], *lines[number + 1:]])
            return Answer("error", message=message.split("Shutting down the session")[0].strip())
        if border := BORDER.search(line):
            return _table(border.group(), lines[number + 1:])
        if empty := EMPTY.search(line):
            return Answer("table", seconds=float(empty.group(1) or 0))
    return Answer("done", message=" ".join(re.findall(r"\[INFO\] (.*)", "\n".join(lines))))


def _table(border, lines):
    edges = [match.start() for match in re.finditer(r"\+", border)]
    result, body, open_cell = Answer("table"), [], None
    for line in lines:
        if open_cell is not None or (line.startswith("|") and not line.endswith("|")):  # text of several lines
            open_cell = [*(open_cell or []), line]
            if line.endswith("|"):
                body.append(["\n".join(open_cell)[1:-1].strip()])
                open_cell = None
            continue
        if "[ERROR]" in line:
            return Answer("error", message=line[line.index("[ERROR]"):])
        if total := TOTAL.match(line):
            count = int(total.group(1))
            result.seconds = float(total.group(2) or 0)
            result.columns, result.rows = (body[0] if body else []), body[1:]
            if len(result.rows) != count:
                result.message = f"the client speaks of {count} rows, {len(result.rows)} were read"
            return result
        if line.startswith("|") and line.endswith("|"):
            body.append(_cells(line, edges))
    return Answer("error", message="the answer has no last line")


def _cells(line, edges):
    if len(line) == edges[-1] + 1:  # all characters are one column wide: the border says where cells end
        cells = [line[a + 1:b] for a, b in zip(edges, edges[1:])]
    else:
        cells = line[1:-1].split("|")
    return [None if cell.strip() == "<NULL>" else cell.strip() for cell in cells]


def drawn(result, limit=24):
    """The table as text, columns as narrow as their content, at most `limit` rows."""
    if not result.columns:
        return ""
    shown = [[("NULL" if cell is None else cell) for cell in row] for row in result.rows[:limit]]
    widths = [max(len(row[i]) for row in [result.columns, *shown]) for i in range(len(result.columns))]
    number = [all(re.fullmatch(r"-?[\d.]+(E-?\d+)?|NULL", row[i]) for row in shown) for i in range(len(widths))]
    pad = lambda row, head=False: "  ".join(
        cell.rjust(width) if right else cell.ljust(width) for cell, width, right in zip(row, widths, number)).rstrip()
    lines = [pad(result.columns), "  ".join("-" * width for width in widths), *map(pad, shown)]
    if len(result.rows) > limit:
        lines.append(f"... and {len(result.rows) - limit:,} more")
    return "\n".join(lines)
