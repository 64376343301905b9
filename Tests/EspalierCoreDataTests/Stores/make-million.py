"""Makes a store with the tables of Core Data and 1,000,000 rows, and its model file, to measure the import.

    python3 make-million.py FOLDER [ROWS]
    dbtool import-coredata FOLDER/million.sqlite -o FOLDER/million.espalier --model FOLDER/Million.xcdatamodel
"""
import os
import plistlib
import sqlite3
import sys

MODEL = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
    <entity name="Author" representedClassName="Author">
        <attribute name="name" optional="YES" attributeType="String"/>
        <relationship name="events" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Event" inverseName="author" inverseEntity="Event"/>
    </entity>
    <entity name="Event" representedClassName="Event">
        <attribute name="count" optional="YES" attributeType="Integer 64"/>
        <attribute name="isDone" optional="YES" attributeType="Boolean"/>
        <attribute name="rating" optional="YES" attributeType="Double"/>
        <attribute name="timestamp" optional="YES" attributeType="Date"/>
        <attribute name="title" optional="YES" attributeType="String"/>
        <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Author" inverseName="events" inverseEntity="Author"/>
    </entity>
</model>
"""
SCHEMA = """
CREATE TABLE ZAUTHOR ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR );
CREATE TABLE ZEVENT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCOUNT INTEGER, ZISDONE INTEGER,
    ZAUTHOR INTEGER, ZRATING FLOAT, ZTIMESTAMP TIMESTAMP, ZTITLE VARCHAR );
CREATE INDEX ZEVENT_ZAUTHOR_INDEX ON ZEVENT (ZAUTHOR);
CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
"""

folder = sys.argv[1]
count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
os.makedirs(os.path.join(folder, "Million.xcdatamodel"), exist_ok=True)
with open(os.path.join(folder, "Million.xcdatamodel", "contents"), "w") as file:
    file.write(MODEL)
connection = sqlite3.connect(os.path.join(folder, "million.sqlite"))
connection.executescript(SCHEMA)
plist = plistlib.dumps({"NSStoreType": "SQLite"}, fmt=plistlib.FMT_BINARY)
connection.execute("INSERT INTO Z_METADATA VALUES (1, '8E430534-5F59-49DB-9479-C3290AE2713E', ?)", (plist,))
connection.execute("INSERT INTO Z_PRIMARYKEY VALUES (1, 'Author', 0, 1000), (2, 'Event', 0, ?)", (count,))
connection.executemany("INSERT INTO ZAUTHOR VALUES (?, 1, 1, ?)", ((n, f"Author {n}") for n in range(1, 1001)))
connection.executemany(
    "INSERT INTO ZEVENT VALUES (?, 2, 1, ?, ?, ?, ?, ?, ?)",
    ((n, n * 7, n & 1, n * 7919 % 1000 + 1, n / 3, 7e8 + n, f"The title of event number {n}")
     for n in range(1, count + 1)))
connection.commit()
