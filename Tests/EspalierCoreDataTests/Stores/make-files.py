"""Makes the SQLite files of this folder with the SQLite library of Python, each compressed with raw DEFLATE.

Run it in this folder: python3 make-files.py. The tests need neither Python nor SQLite. Row n of a table `sample` is
given by a formula that SQLiteSample.swift repeats.
"""
import os
import shutil
import sqlite3
import struct
import tempfile
import zlib

FOLDER = os.path.dirname(os.path.abspath(__file__))
WORK = tempfile.mkdtemp()


def row(n):
    text = None if n % 11 == 0 else f"row {n} " * (n % 7) + "é𝄞"
    number = (n - 50) ** 3 * 7 ** (n % 13)
    return (n * 3, text, number, n / 4 - 5, bytes([n & 255]) * (n * 37 % 2900))


def path(name):
    return os.path.join(WORK, name)


def keep(name, content=None):
    """Compresses a file of the working folder."""
    if content is None:
        with open(path(name), "rb") as file:
            content = file.read()
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    with open(os.path.join(FOLDER, name + ".deflate"), "wb") as file:
        file.write(deflater.compress(content) + deflater.flush())


def fill(connection, count, first=1):
    connection.execute("CREATE TABLE IF NOT EXISTS sample (id INTEGER PRIMARY KEY, words TEXT, number, part REAL, data BLOB)")
    connection.execute("CREATE INDEX IF NOT EXISTS by_words ON sample (words, number)")
    connection.executemany("INSERT INTO sample VALUES (?, ?, ?, ?, ?)", [row(n) for n in range(first, first + count)])
    connection.commit()


def make(name, count, *pragmas):
    connection = sqlite3.connect(path(name))
    for pragma in pragmas:
        connection.execute("PRAGMA " + pragma)
    fill(connection, count)
    return connection


for size in [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]:
    make(f"page-{size}.sqlite", 120, f"page_size={size}").close()
    keep(f"page-{size}.sqlite")
for encoding in ["UTF-16le", "UTF-16be"]:
    make(f"{encoding.lower()}.sqlite", 120, f"encoding='{encoding}'", "page_size=1024").close()
    keep(f"{encoding.lower()}.sqlite")

# Pages for rows that were deleted, and pointer maps.
connection = make("vacuum.sqlite", 400, "page_size=512", "auto_vacuum=2")
connection.execute("DELETE FROM sample WHERE id > 360")
connection.commit()
connection.close()
keep("vacuum.sqlite")

# 32 reserved bytes at the end of each page.
connection = sqlite3.connect(path("reserved.sqlite"))
connection.execute("PRAGMA page_size=1024")
connection.execute("PRAGMA user_version=1")
connection.close()
with open(path("reserved.sqlite"), "r+b") as file:
    file.seek(20)
    file.write(bytes([32]))
    file.seek(105)
    file.write(struct.pack(">H", 1024 - 32))
connection = sqlite3.connect(path("reserved.sqlite"))
fill(connection, 120)
connection.close()
keep("reserved.sqlite")

# Definitions that are not plain.
connection = sqlite3.connect(path("definitions.sqlite"))
connection.executescript('''
    PRAGMA page_size=512;
    CREATE TABLE "a ""b""" ([one, two] INT, `three` /* , x */ DECIMAL(10, 2) DEFAULT (1 + 2), -- , y
        four TEXT NOT NULL CHECK (four <> ',)'), "primary" INTEGER, CONSTRAINT k PRIMARY KEY ("primary" ASC),
        UNIQUE (four, [one, two]));
    INSERT INTO "a ""b""" VALUES (1, 2.5, 'x', 7);
    CREATE TABLE descending (id INTEGER PRIMARY KEY DESC, other INT);
    INSERT INTO descending VALUES (5, 6);
    CREATE TABLE grown (id INTEGER PRIMARY KEY, a);
    INSERT INTO grown VALUES (1, 'old');
    ALTER TABLE grown ADD COLUMN b VARCHAR;
    INSERT INTO grown VALUES (2, 'new', 'value');
    CREATE TABLE filled (id INTEGER PRIMARY KEY);
    INSERT INTO filled VALUES (1);
    ALTER TABLE filled ADD COLUMN b VARCHAR DEFAULT 'text';
    CREATE TABLE keyed (name TEXT PRIMARY KEY, other INT) WITHOUT ROWID;
    INSERT INTO keyed VALUES ('a', 1);
    CREATE TABLE computed (a INT, b INT GENERATED ALWAYS AS (a + 1) STORED);
    CREATE VIEW looked AS SELECT * FROM grown;
''')
connection.commit()
connection.close()
keep("definitions.sqlite")


# A log: two commits that are not in the file, then frames without a commit.
def sums(content, words, first=0, second=0):
    for (left, right) in struct.iter_unpack(words + "II", content):
        first = (first + left + second) & 0xFFFFFFFF
        second = (second + right + first) & 0xFFFFFFFF
    return first, second


def summed(log, size, words):
    """The log with checksums over words in another order."""
    magic = 0x377F0682 if words == "<" else 0x377F0683
    head = struct.pack(">I", magic) + log[4:24]
    first, second = sums(head, words)
    out = head + struct.pack(">II", first, second)
    for start in range(32, len(log) - 23 - size, 24 + size):
        frame = log[start:start + 24 + size]
        if frame[8:16] != log[16:24]:
            out += frame
            continue
        first, second = sums(frame[:8] + frame[24:], words, first, second)
        out += frame[:16] + struct.pack(">II", first, second) + frame[24:]
    return out


connection = sqlite3.connect(path("log.sqlite"), isolation_level=None)
connection.execute("PRAGMA page_size=512")
connection.execute("PRAGMA journal_mode=WAL")
connection.execute("PRAGMA wal_autocheckpoint=0")
connection.execute("PRAGMA cache_size=2")
connection.execute("BEGIN")
fill(connection, 60)
connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
connection.execute("BEGIN")
fill(connection, 30, 61)
connection.execute("BEGIN")
fill(connection, 30, 91)
connection.execute("BEGIN")
connection.executemany("INSERT INTO sample VALUES (?, ?, ?, ?, ?)", [row(n) for n in range(121, 150)])
connection.execute("UPDATE sample SET words = 'never committed' WHERE id < 90")
with open(path("log.sqlite"), "rb") as file:
    content = file.read()
with open(path("log.sqlite-wal"), "rb") as file:
    log = file.read()
keep("log.sqlite", content)
keep("log.sqlite-wal", log)
keep("log-big.sqlite-wal", summed(log, 512, ">"))
assert summed(log, 512, "<")[:32] == log[:32]
connection.execute("ROLLBACK")
connection.close()

# The journal of a transaction that was not ended.
connection = make("journal.sqlite", 40, "page_size=512", "cache_size=2")
connection.execute("BEGIN")
connection.execute("UPDATE sample SET words = 'never committed'")
with open(path("journal.sqlite"), "rb") as file:
    content = file.read()
with open(path("journal.sqlite-journal"), "rb") as file:
    journal = file.read()
keep("journal.sqlite", content)
keep("journal.sqlite-journal", journal[:512])
connection.rollback()
connection.close()
shutil.rmtree(WORK)
