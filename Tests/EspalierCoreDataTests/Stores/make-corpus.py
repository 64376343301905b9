"""Makes small inputs for fuzzing: of the body `sqlite`, and one of `compiled-model`.

Run it in this folder: python3 make-corpus.py. It writes ../../../Fuzz/Corpus. An input of `sqlite` begins with the
number of bytes of the log at its end, as two bytes, least significant first; then follow the file and the log. Each
input is smaller than 40 kB. Salts of logs are random, so a second run makes other bytes.
"""
import glob
import os
import shutil
import sqlite3
import struct
import tempfile
import zlib

from modelarchive import compiled

FOLDER = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(FOLDER, "..", "..", "..", "Fuzz", "Corpus")
WORK = tempfile.mkdtemp()


def path(name):
    return os.path.join(WORK, name)


def read(name):
    with open(path(name), "rb") as file:
        return file.read()


def keep(name, content, log=b""):
    data = struct.pack("<H", len(log)) + content + log
    assert len(data) < 40_000, (name, len(data))
    with open(os.path.join(CORPUS, "sqlite", name), "wb") as file:
        file.write(data)


def new(name, *pragmas):
    connection = sqlite3.connect(path(name), isolation_level=None)
    for pragma in pragmas:
        connection.execute("PRAGMA " + pragma)
    return connection


def inflated(name):
    """A file of this folder, in the working folder."""
    with open(os.path.join(FOLDER, name + ".deflate"), "rb") as file:
        content = zlib.decompress(file.read(), -15)
    with open(path(name), "wb") as file:
        file.write(content)
    return name


def with_small_pages(name, size):
    connection = new(name, "journal_mode=DELETE", f"page_size={size}")
    connection.execute("VACUUM")
    connection.close()
    return read(name)


def copied(source, target, *pragmas):
    """The tables of a file in a new one with other pragmas."""
    connection, other = new(source), new(target, *pragmas)
    other.executescript("\n".join(connection.iterdump()))
    other.close()
    connection.close()
    return read(target)


def zoo(name):
    """A store of this folder, with pages of 512 bytes and with its model in it."""
    connection = new(inflated(name + ".sqlite"))
    connection.execute("INSERT INTO Z_MODELCACHE VALUES (?)", (compiled("Zoo.xcdatamodel"),))
    connection.close()
    return with_small_pages(name + ".sqlite", 512)


def fill(connection, count):
    connection.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, words TEXT, number, data BLOB)")
    connection.execute("CREATE INDEX IF NOT EXISTS by_words ON t (words, number)")
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO t (words, number, data) VALUES (?, ?, ?)",
        ((f"é𝄞 {n} " * (n % 4) if n % 5 else None, (n - 9) ** 3 * 7 ** (n % 13), bytes([n & 255]) * (n * 20 % 300))
         for n in range(count)))
    connection.execute("COMMIT")


# Stores of Core Data: every kind of column, join tables, external values, history, and values that are wrong.
for name in ["zoo", "zoo-broken", "zoo-empty"]:
    keep(name, zoo(name))
keep("zoo-page-1024", with_small_pages("zoo.sqlite", 1024))
for encoding in ["UTF-16le", "UTF-16be"]:
    keep(f"zoo-{encoding.lower()}", copied("zoo.sqlite", f"zoo-{encoding}", "page_size=512", f"encoding='{encoding}'"))
for file in sorted(glob.glob(os.path.join(FOLDER, "*", "*.sqlite"))):
    stem = os.path.basename(file).removesuffix(".sqlite")
    if stem in ["Bookmarks_V1", "Bookmarks_V5"]:
        continue
    shutil.copy(file, path(stem))
    if os.path.exists(file + "-wal"):
        shutil.copy(file + "-wal", path(stem + "-wal"))
    keep(stem.lower(), with_small_pages(stem, 512))

# A store of Core Data whose last changes are in the log only.
zoo("zoo")
connection = new("zoo.sqlite", "journal_mode=WAL", "wal_autocheckpoint=0")
connection.execute("UPDATE ZPERSON SET ZNAME = 'in the log' WHERE Z_PK = 2")
connection.execute("INSERT INTO Z_4MEMBERS VALUES (2, 5, 1)")
connection.execute("DELETE FROM ZLABEL WHERE Z_PK = 3")
keep("zoo-log", read("zoo.sqlite"), read("zoo.sqlite-wal"))
connection.close()

# Sizes of pages, encodings, reserved bytes, free pages and pointer maps.
for size in [1024, 2048, 4096, 8192]:
    connection = new(f"page-{size}", f"page_size={size}")
    fill(connection, 25)
    connection.close()
    keep(f"page-{size}", read(f"page-{size}"))
connection = new("page-16384", "page_size=16384")
connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
connection.execute("INSERT INTO t VALUES (-9223372036854775808, 1), (0, x'00'), (9223372036854775807, 'é')")
connection.close()
keep("page-16384", read("page-16384"))
for encoding in ["UTF-16le", "UTF-16be"]:
    connection = new(encoding, "page_size=512", f"encoding='{encoding}'")
    fill(connection, 30)
    connection.close()
    keep(f"index-{encoding.lower()}", read(encoding))
connection = new("vacuum", "page_size=512", "auto_vacuum=2")
fill(connection, 120)
connection.execute("DELETE FROM t WHERE id % 3 > 0")
connection.close()
keep("free-pages", read("vacuum"))
connection = new("reserved", "page_size=512", "user_version=1")
connection.close()
with open(path("reserved"), "r+b") as file:
    file.seek(20)
    file.write(bytes([20]))
    file.seek(105)
    file.write(struct.pack(">H", 512 - 20))
connection = new("reserved")
fill(connection, 30)
connection.close()
keep("reserved", read("reserved"))

# Values and keys that continue in overflow pages; rows of three levels; many tables.
connection = new("overflow", "page_size=512")
connection.executescript("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b); CREATE INDEX i ON t (a)")
for length in [0, 400, 476, 477, 478, 500, 1000, 1020, 5000]:
    connection.execute("INSERT INTO t (a, b) VALUES (?, ?)", ("k" * length, bytes(length)))
connection.close()
keep("overflow", read("overflow"))
connection = new("levels", "page_size=512")
connection.executescript("CREATE TABLE t (id INTEGER PRIMARY KEY, words TEXT); CREATE INDEX i ON t (words)")
connection.executemany("INSERT INTO t (words) VALUES (?)", ((f"{n * 37 % 100:03}" * 30,) for n in range(100)))
connection.close()
keep("levels", read("levels"))
connection = new("tables", "page_size=512")
connection.executescript("".join(f"CREATE TABLE table{n} (a{n} INTEGER PRIMARY KEY, b TEXT);" for n in range(30)))
connection.close()
keep("tables", read("tables"))

# Definitions that are not plain, among them tables without row IDs, computed columns and indexes on expressions.
keep("definitions", read(inflated("definitions.sqlite")))
connection = new("keyed", "page_size=512")
connection.executescript("""
    CREATE TABLE keyed (name TEXT, part INT, other BLOB, PRIMARY KEY (name, part DESC)) WITHOUT ROWID;
    INSERT INTO keyed SELECT 'name ' || value, value % 3, zeroblob(value) FROM (
        WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 60) SELECT value FROM n);
    CREATE TABLE plain (a, b AS (a + 1) VIRTUAL, c AS (a * 2) STORED);
    INSERT INTO plain (a) VALUES (1), (NULL), ('x');
    CREATE INDEX partial ON plain (a) WHERE a IS NOT NULL;
    CREATE INDEX computed ON plain (lower(a) COLLATE NOCASE DESC);
    CREATE TRIGGER t AFTER INSERT ON plain BEGIN DELETE FROM keyed WHERE part = 9; END;
""")
connection.close()
keep("keyed", read("keyed"))

# Logs: committed and uncommitted frames; frames of an earlier round behind the newest; a file without pages.
connection = new("rounds", "page_size=512", "journal_mode=WAL", "wal_autocheckpoint=0", "cache_size=2")
fill(connection, 20)
connection.execute("PRAGMA wal_checkpoint(RESTART)")
connection.execute("UPDATE t SET number = -1 WHERE id = 3")
keep("log-rounds", read("rounds"), read("rounds-wal"))
connection.execute("BEGIN")
connection.execute("UPDATE t SET words = 'never committed'")
keep("log-uncommitted", read("rounds"), read("rounds-wal"))
connection.execute("ROLLBACK")
connection.close()
connection = new("young", "page_size=512", "journal_mode=WAL", "wal_autocheckpoint=0")
fill(connection, 8)
keep("log-grows-file", read("young"), read("young-wal"))
keep("log-cut", read("young"), read("young-wal")[:-300])
connection.close()
with open(os.path.join(CORPUS, "compiled-model", "zoo-rules.mom"), "wb") as file:
    file.write(compiled("Zoo.xcdatamodel", rules=True))
shutil.rmtree(WORK)
