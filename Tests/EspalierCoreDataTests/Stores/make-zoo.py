"""Makes zoo.sqlite, zoo-broken.sqlite, zoo-edges.sqlite, zoo-empty.sqlite and zoo-many.sqlite: stores with the tables and columns that Core Data makes for Zoo.xcdatamodel. And places.sqlite, whose model is Places.xcdatamodel, with an archive of it; names.sqlite and names-unclear.sqlite of Names.xcdatamodel, in which names differ by digits at the end only; and shared.sqlite of Shared.xcdatamodel, with texts that are equal in other bytes.

Run it in this folder: python3 make-zoo.py. The tests need neither Python nor SQLite.
"""
import os
import plistlib
import sqlite3
import tempfile
import uuid
import zlib

from modelarchive import compiled

FOLDER = os.path.dirname(os.path.abspath(__file__))
SCHEMA = """
CREATE TABLE ZANIMAL ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZOWNER INTEGER, Z_FOK_OWNER INTEGER,
    ZPREY INTEGER, Z1_PREY INTEGER, ZWINGSPAN FLOAT, ZNAME VARCHAR, ZTITLE VARCHAR, ZTITLE1 VARCHAR );
CREATE TABLE ZCLUB ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR );
CREATE TABLE ZLABEL ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, Z7LABELS INTEGER, ZTEXT VARCHAR );
CREATE TABLE ZPASSPORT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZHOLDER INTEGER, ZNUMBER VARCHAR );
CREATE TABLE ZPERSON ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFLAG INTEGER, ZLARGE INTEGER,
    ZMIDDLE INTEGER, ZSMALL INTEGER, ZBOSS INTEGER, ZPASSPORT INTEGER, ZBIRTH TIMESTAMP, ZHEIGHT FLOAT, ZWEIGHT FLOAT,
    ZAMOUNT DECIMAL, ZNAME VARCHAR, ZHOMEPAGE VARCHAR, ZCODE BLOB, ZCOLOR BLOB, ZPHOTO BLOB, ZRAW BLOB );
CREATE TABLE Z_4MEMBERS ( Z_4CLUBS INTEGER, Z_7MEMBERS INTEGER, Z_FOK_7MEMBERS INTEGER,
    PRIMARY KEY (Z_4CLUBS, Z_7MEMBERS) );
CREATE TABLE Z_7FRIENDS ( Z_7FRIENDS INTEGER, REFLEXIVE INTEGER, PRIMARY KEY (Z_7FRIENDS, REFLEXIVE) );
CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER );
CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER );
CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
"""
ENTITIES = ["Animal", "Bird", "Cat", "Club", "Label", "Passport", "Person"]
SUPER = {"Bird": 1, "Cat": 1}
LAST = {"Animal": 40, "Club": 2, "Label": 4, "Passport": 2, "Person": 5}
PERSON = ["Z_PK", "ZFLAG", "ZLARGE", "ZMIDDLE", "ZSMALL", "ZBOSS", "ZPASSPORT", "ZBIRTH", "ZHEIGHT", "ZWEIGHT", "ZAMOUNT",
          "ZNAME", "ZHOMEPAGE", "ZCODE", "ZCOLOR", "ZPHOTO", "ZRAW"]
CODE = uuid.UUID("8E430534-5F59-49DB-9479-C3290AE2713E")
FILE = b"\x02" + b"596ECDCA-987E-454C-A269-04E0817C5E33" + b"\x00"


def insert(connection, table, columns, rows):
    marks = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)


def fill(connection):
    connection.executescript(SCHEMA)
    insert(connection, "Z_PRIMARYKEY", ["Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX"],
           [(n + 1, name, SUPER.get(name, 0), LAST.get(name, 0)) for n, name in enumerate(ENTITIES)]
           + [(16001, "CHANGE", 0, 1), (16002, "TRANSACTION", 0, 1)])
    metadata = {"NSStoreType": "SQLite", "theme": "dark", "opened": 12, "list": [1],
                "NSStoreModelVersionHashes": {name: b"\x00" * 32 for name in ENTITIES}}
    insert(connection, "Z_METADATA", ["Z_VERSION", "Z_UUID", "Z_PLIST"],
           [(1, "68EFC1D5-E5CE-4B04-BC3C-9C3FD734558A", plistlib.dumps(metadata, fmt=plistlib.FMT_BINARY))])
    insert(connection, "ATRANSACTION", ["Z_PK", "Z_ENT", "Z_OPT"], [(1, 16002, 1)])
    insert(connection, "ACHANGE", ["Z_PK", "Z_ENT", "Z_OPT"], [(1, 16001, 1)])
    insert(connection, "ZPERSON", PERSON, [
        (1, 1, 1 << 40, -70000, -32768, 3, 2, 731947175.405035, 1.5, 70.25, 12.5, "Ada", "https://a.example/x?y=1",
         CODE.bytes, b"\x00\x01", b"\x01" + b"inline", b"\x01raw"),
        (2, 0, None, None, None, 1, None, 0, 2, 80, 7, "Bob é𝄞", None, None, None, FILE, b""),
        (3, None, None, None, None, None, 1, -1.5, None, None, "0.1", None, None, None, None, b"\x01", None),
        (5, None, None, None, None, 5, None, None, None, None, None, "Eve", None, None, None, None, None),
    ])
    connection.execute("UPDATE ZPERSON SET Z_ENT = 7, Z_OPT = 1")
    insert(connection, "ZPASSPORT", ["Z_PK", "Z_ENT", "Z_OPT", "ZHOLDER", "ZNUMBER"], [(1, 6, 1, 3, "P3"), (2, 6, 2, 1, "P1")])
    animal = ["Z_PK", "Z_ENT", "Z_OPT", "ZOWNER", "Z_FOK_OWNER", "ZPREY", "Z1_PREY", "ZWINGSPAN", "ZNAME", "ZTITLE", "ZTITLE1"]
    insert(connection, "ZANIMAL", animal, [
        (2, 3, 1, 1, 4096, 30, 2, None, "Tom", None, "Sir"),
        (7, 3, 1, 1, 2048, 2, 3, None, "Kit", None, None),
        (30, 2, 1, 1, 3072, None, None, 0.25, "Tweety", "Lady", None),
        (31, 2, 1, None, None, None, None, None, "Free", None, None),
    ])
    insert(connection, "ZCLUB", ["Z_PK", "Z_ENT", "Z_OPT", "ZTITLE"], [(1, 4, 1, "Chess"), (2, 4, 1, "Empty")])
    insert(connection, "Z_4MEMBERS", ["Z_4CLUBS", "Z_7MEMBERS", "Z_FOK_7MEMBERS"],
           [(1, 1, 3072), (1, 2, 1024), (1, 5, 2048)])
    insert(connection, "Z_7FRIENDS", ["Z_7FRIENDS", "REFLEXIVE"], [(1, 2), (2, 1), (3, 5), (5, 3)])
    insert(connection, "ZLABEL", ["Z_PK", "Z_ENT", "Z_OPT", "Z7LABELS", "ZTEXT"],
           [(1, 5, 1, 1, "red"), (2, 5, 1, None, "none"), (3, 5, 1, 1, "blue"), (4, 5, 1, 5, "green")])


def fill_places(connection):
    """A store with a composite and a derived attribute, and with its model. No real store shows the names of the columns of a composite, nor the field of an archive that lists its parts: these names are free, and the archive has none."""
    connection.executescript("""
        CREATE TABLE ZCLUB ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZSIZE INTEGER, ZTITLE VARCHAR,
            ZPLACE_CITY VARCHAR, ZPLACE_CODE VARCHAR );
        CREATE TABLE ZMEMBER ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCLUB INTEGER, ZNAME VARCHAR );
    """ + SCHEMA[SCHEMA.index("CREATE TABLE Z_PRIMARYKEY"):])
    insert(connection, "Z_PRIMARYKEY", ["Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX"], [(1, "Club", 0, 2), (2, "Member", 0, 3)])
    metadata = {"NSStoreModelVersionHashes": {"Club": b"\x00" * 32, "Member": b"\x00" * 32}}
    insert(connection, "Z_METADATA", ["Z_VERSION", "Z_UUID", "Z_PLIST"],
           [(1, "0B0A1C2E-5F0C-4E0B-9D3A-6A2F4C1D7E88", plistlib.dumps(metadata, fmt=plistlib.FMT_BINARY))])
    insert(connection, "Z_MODELCACHE", ["Z_CONTENT"], [(compiled("Places.xcdatamodel"),)])
    insert(connection, "ZCLUB", ["Z_PK", "Z_ENT", "Z_OPT", "ZSIZE", "ZTITLE", "ZPLACE_CITY"],
           [(1, 1, 1, 2, "Chess", "Oslo"), (2, 1, 1, 0, "Empty", None)])
    insert(connection, "ZMEMBER", ["Z_PK", "Z_ENT", "Z_OPT", "ZCLUB", "ZNAME"],
           [(1, 2, 1, 1, "Ada"), (2, 2, 1, None, "Bob"), (3, 2, 1, 1, "Eve")])


def fill_names(connection):
    """A store whose tables and columns have names that could be those of several relationships. Columns are in an order that tells nothing; the last digits in Z_7PARENTS1, Z_1NEAR1 and Z_1NEAR11 are ones that Core Data adds, those in the other names are the model's."""
    row = "Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER"
    connection.executescript(f"""
        CREATE TABLE ZALBUM ( {row} );
        CREATE TABLE ZITEM ( {row}, ZNAME VARCHAR, ZTITLE VARCHAR, ZTITLE1 VARCHAR, ZTITLE2 VARCHAR );
        CREATE TABLE ZLABEL ( {row}, Z5MAPS INTEGER );
        CREATE TABLE ZTAG ( {row} );
        CREATE TABLE Z_1LABELS2 ( Z_6LABELS2 INTEGER, Z_1ALBUMS1 INTEGER );
        CREATE TABLE Z_1LABELS ( Z_1ALBUMS INTEGER, Z_6LABELS INTEGER );
        CREATE TABLE Z_1LINK ( Z_1LINK1 INTEGER, Z_1LINK INTEGER );
        CREATE TABLE Z_1NEAR ( Z_1NEAR11 INTEGER, Z_1NEAR1 INTEGER );
        CREATE TABLE Z_1TAGS ( Z_1ALBUMS INTEGER, Z_7TAGS INTEGER );
        CREATE TABLE Z_1TAGS1 ( Z_7TAGS1 INTEGER, Z_1ALBUMS1 INTEGER );
        CREATE TABLE Z_3NOTES1 ( Z_3BOOKS INTEGER, Z_6NOTES1 INTEGER );
        CREATE TABLE Z_5MAPS2 ( Z_5GAMES INTEGER, Z_6MAPS2 INTEGER );
        CREATE TABLE Z_7CHILDREN ( Z_7PARENTS INTEGER, Z_7CHILDREN INTEGER );
        CREATE TABLE Z_7MARKS ( Z_7PARENTS1 INTEGER, Z_6MARKS INTEGER );
        INSERT INTO ZALBUM VALUES (1, 1, 1), (2, 1, 1), (3, 1, 1);
        INSERT INTO ZITEM VALUES (1, 3, 1, 'a book', 'Emma', NULL, NULL), (2, 4, 1, 'a disc', NULL, NULL, 'Blue'),
            (3, 5, 1, 'a game', NULL, 'Go', NULL);
        INSERT INTO ZLABEL VALUES (1, 6, 1, NULL), (2, 6, 1, 3), (3, 6, 1, NULL), (4, 6, 1, NULL);
        INSERT INTO ZTAG VALUES (1, 7, 1), (2, 7, 1), (3, 7, 1);
        INSERT INTO Z_1LABELS VALUES (1, 2), (1, 4); INSERT INTO Z_1LABELS2 VALUES (3, 1), (4, 2);
        INSERT INTO Z_1LINK VALUES (1, 2), (1, 3);
        INSERT INTO Z_1NEAR VALUES (1, 2);
        INSERT INTO Z_1TAGS VALUES (1, 2), (3, 2); INSERT INTO Z_1TAGS1 VALUES (3, 1), (1, 2);
        INSERT INTO Z_3NOTES1 VALUES (1, 4); INSERT INTO Z_5MAPS2 VALUES (3, 1);
        INSERT INTO Z_7CHILDREN VALUES (1, 2), (1, 3); INSERT INTO Z_7MARKS VALUES (2, 4), (3, 4);
    """ + SCHEMA[SCHEMA.index("CREATE TABLE Z_PRIMARYKEY"):])
    names = ["Album", "Item", "Book", "Disc", "Game", "Label", "Tag"]
    insert(connection, "Z_PRIMARYKEY", ["Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX"],
           [(n + 1, name, 2 if name in ["Book", "Disc", "Game"] else 0, 4) for n, name in enumerate(names)])
    metadata = {"NSStoreModelVersionHashes": {name: b"\x00" * 32 for name in names}}
    insert(connection, "Z_METADATA", ["Z_VERSION", "Z_UUID", "Z_PLIST"],
           [(1, "5B1D9C0E-7B8F-4C57-8F0E-3A7D2C6E9F10", plistlib.dumps(metadata, fmt=plistlib.FMT_BINARY))])


def fill_shared(connection):
    """A store whose unique texts differ in bytes, and are canonically equivalent; some other values that must be unique in the model are not."""
    connection.executescript("""
        CREATE TABLE ZPERSON ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZBOSS INTEGER, ZTAG INTEGER,
            ZROLE VARCHAR );
        CREATE TABLE ZTAG ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCODE VARCHAR, ZKEY VARCHAR,
            ZMARK VARCHAR, ZNAME VARCHAR, ZTITLE VARCHAR );
        CREATE UNIQUE INDEX Z_Tag_UNIQUE_name ON ZTAG (ZNAME COLLATE BINARY ASC);
        CREATE UNIQUE INDEX Z_Tag_UNIQUE_code_mark ON ZTAG (ZCODE COLLATE BINARY ASC, ZMARK COLLATE BINARY ASC);
        CREATE UNIQUE INDEX Z_Person_UNIQUE_role_tag ON ZPERSON (ZROLE COLLATE BINARY ASC, ZTAG COLLATE BINARY ASC);
    """ + SCHEMA[SCHEMA.index("CREATE TABLE Z_PRIMARYKEY"):])
    insert(connection, "Z_PRIMARYKEY", ["Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX"], [(1, "Person", 0, 3), (2, "Tag", 0, 5)])
    metadata = {"NSStoreModelVersionHashes": {"Person": b"\x00" * 32, "Tag": b"\x00" * 32}}
    insert(connection, "Z_METADATA", ["Z_VERSION", "Z_UUID", "Z_PLIST"],
           [(1, "C0A1D7B2-0F6E-4B8B-9C55-7E1A2B3C4D5E", plistlib.dumps(metadata, fmt=plistlib.FMT_BINARY))])
    insert(connection, "ZTAG", ["Z_PK", "Z_ENT", "Z_OPT", "ZCODE", "ZKEY", "ZMARK", "ZNAME", "ZTITLE"], [
        (1, 2, 1, "a", "ada", None, "\u1ebf", "Ada"), (2, 2, 1, "b", None, None, "\u00ea\u0301", None),
        (3, 2, 1, "\u00e9", "ADA", "m", "x", "ADA"), (4, 2, 1, "e\u0301", None, "m", None, None),
        (5, 2, 1, "c", None, None, "e\u0302\u0301", "Eve")])
    insert(connection, "ZPERSON", ["Z_PK", "Z_ENT", "Z_OPT", "ZBOSS", "ZTAG", "ZROLE"], [
        (1, 1, 1, 3, 1, "\u00e9"), (2, 1, 1, 3, 1, "e\u0301"), (3, 1, 1, None, 2, "\u00e9")])


def keep(name, change=None, fill=fill):
    path = os.path.join(tempfile.mkdtemp(), name)
    connection = sqlite3.connect(path)
    fill(connection)
    if change:
        connection.executescript(change)
    connection.commit()
    connection.close()
    with open(path, "rb") as file:
        content = file.read()
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    with open(os.path.join(FOLDER, name + ".deflate"), "wb") as file:
        file.write(deflater.compress(content) + deflater.flush())


keep("zoo.sqlite")
keep("zoo-broken.sqlite", """
    UPDATE ZPERSON SET ZSMALL = 70000, ZFLAG = 5, ZBOSS = 99 WHERE Z_PK = 1;
    UPDATE ZPERSON SET ZNAME = CAST(X'FF41' AS TEXT), ZPHOTO = X'0378' WHERE Z_PK = 2;
    UPDATE ZPERSON SET ZAMOUNT = '1-2' WHERE Z_PK = 3;
    UPDATE ZPASSPORT SET ZHOLDER = 2 WHERE Z_PK = 1;
    UPDATE ZANIMAL SET ZTITLE1 = 'not a bird''s' WHERE Z_PK = 31;
    INSERT INTO ZANIMAL (Z_PK, Z_ENT) VALUES (35, 77), (36, 1);
    INSERT INTO Z_4MEMBERS VALUES (1, 88, 1), (9, 1, 2);
    INSERT INTO ZCLUB (Z_PK, Z_ENT) VALUES (-4, 4);
""")
# The greatest keys of each width, numbers that are none, and a value of 30 MB.
keep("zoo-edges.sqlite", """
    INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZBOSS, ZNAME) VALUES (255, 7, 1, 9223372036854775807, 'a byte'),
        (256, 7, 1, 255, 'two bytes'), (4294967295, 7, 1, 256, 'four bytes'), (4294967296, 7, 1, 4294967295, 'five bytes'),
        (4611686018427387904, 7, 1, 4294967296, 'a bit less than all'),
        (9223372036854775807, 7, 1, 4611686018427387904, 'all');
    UPDATE ZPERSON SET ZBIRTH = 9e999, ZHEIGHT = -9e999, ZWEIGHT = 9e999 WHERE Z_PK = 255;
    UPDATE ZPERSON SET ZBIRTH = 9e300, ZHEIGHT = 9e300, ZAMOUNT = 9e300 WHERE Z_PK = 256;
    UPDATE ZPERSON SET ZRAW = zeroblob(30000000) WHERE Z_PK = 4294967295;
    INSERT INTO Z_4MEMBERS VALUES (1, 9223372036854775807, 4096), (2, 4294967296, 9223372036854775807);
    UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807 WHERE Z_NAME = 'Person';
""")
keep("zoo-empty.sqlite", """
    DELETE FROM ZANIMAL; DELETE FROM ZCLUB; DELETE FROM ZLABEL; DELETE FROM ZPASSPORT; DELETE FROM ZPERSON;
    DELETE FROM Z_4MEMBERS; DELETE FROM Z_7FRIENDS; UPDATE Z_PRIMARYKEY SET Z_MAX = 0;
""")
keep("zoo-many.sqlite", """
    INSERT INTO ZLABEL (Z_PK, Z_ENT, Z_OPT, ZTEXT) SELECT value, 5, 1, 'label' FROM (
        WITH RECURSIVE n(value) AS (SELECT 5 UNION ALL SELECT value + 1 FROM n LIMIT 400) SELECT value FROM n);
    UPDATE Z_PRIMARYKEY SET Z_MAX = 404 WHERE Z_NAME = 'Label';
""")
keep("places.sqlite", fill=fill_places)
keep("names.sqlite", fill=fill_names)
# Two tables that could be that of Album.tags and Tag.albums, and none with its very name.
keep("names-unclear.sqlite", """
    ALTER TABLE Z_1TAGS RENAME TO Z_1TAGS8;
    CREATE TABLE Z_1TAGS9 ( Z_1ALBUMS INTEGER, Z_7TAGS INTEGER );
""", fill=fill_names)
keep("shared.sqlite", fill=fill_shared)
