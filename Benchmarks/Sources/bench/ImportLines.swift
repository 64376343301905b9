// The import of a SQLite store of Core Data into a new store. The peer is SQLite itself: it copies all rows of the same
// file into a new one with the same indexes.
//
// Invariants
//   1. The store that is imported has the tables and columns of Core Data, and is made once; making it is not timed.
//   2. Each run writes a new file. The time covers opening, reading every row, writing and closing; that of Espalier
//      covers a check of the new store too, which an import always ends with.

import BenchKit
import EspalierCoreData
import EspalierModelFile
import Foundation
import Peers

struct ImportLines {
    /// The number of rows of the large table; a thousandth as many are in the other one.
    let count: Int
    let folder: URL

    func all() -> [() -> Line] {
        // SQLite makes the store that is imported.
        guard SQLite.shared != nil else { return [] }
        let source = ImportedSource(count: count, folder: folder)
        return [
            {
                Line(
                    "import a Core Data store, \(count) rows",
                    note: "a row's share, relationship and its index included; sqlite: INSERT SELECT, CREATE INDEX",
                    operationCount: count,
                    contenders: [
                        Line.Contender("espalier") { try source.importIntoEspalier() },
                        Line.Contender("sqlite") { try source.copyIntoSQLite() },
                    ])
            }
        ]
    }
}

/// The store that is imported, made at the first run.
private final class ImportedSource {
    private static let model = """
        <model><entity name="Author"><attribute name="name" optional="YES" attributeType="String"/>
        <relationship name="events" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Event" \
        inverseName="author" inverseEntity="Event"/></entity>
        <entity name="Event"><attribute name="count" optional="YES" attributeType="Integer 64"/>
        <attribute name="isDone" optional="YES" attributeType="Boolean"/>
        <attribute name="rating" optional="YES" attributeType="Double"/>
        <attribute name="timestamp" optional="YES" attributeType="Date"/>
        <attribute name="title" optional="YES" attributeType="String"/>
        <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Author" \
        inverseName="events" inverseEntity="Author"/></entity></model>
        """

    private let count: Int
    private let folder: URL
    private var path: String?

    init(count: Int, folder: URL) { (self.count, self.folder) = (count, folder) }

    func importIntoEspalier() throws -> Double {
        let (source, target) = (try made(), try newPath("import-espalier"))
        let model = try ModelDocument(xml: Data(Self.model.utf8))
        return try nanoseconds {
            let report = try CoreDataImport.importStore(at: source, to: target, model: model)
            guard report.isComplete, report.objectCounts["Event"] == count else {
                throw ChildFailure(arguments: ["import", source])
            }
        }
    }

    func copyIntoSQLite() throws -> Double {
        let (source, target) = (try made(), try newPath("import-sqlite"))
        return try nanoseconds { try CoreDataTables(path: target).copy(from: source) }
    }

    private func made() throws -> String {
        if let path { return path }
        let made = try newPath("import-source")
        try CoreDataTables(path: made).fill(count)
        path = made
        return made
    }

    /// The path of a file in a new folder, in place of the folder of an earlier run.
    private func newPath(_ name: String) throws -> String {
        let place = folder.appendingPathComponent(name)
        try? FileManager.default.removeItem(at: place)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        return place.appendingPathComponent("store").path
    }
}

/// Tables with the columns of Core Data.
private final class CoreDataTables: SQLiteTables {
    private static let tables = [
        "ZAUTHOR(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR)",
        "ZEVENT(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCOUNT INTEGER, ZISDONE INTEGER, "
            + "ZAUTHOR INTEGER, ZRATING FLOAT, ZTIMESTAMP TIMESTAMP, ZTITLE VARCHAR)",
        "Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
        "Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
        "Z_MODELCACHE(Z_CONTENT BLOB)",
    ]
    private static let index = "CREATE INDEX ZEVENT_ZAUTHOR_INDEX ON ZEVENT (ZAUTHOR)"

    func fill(_ count: Int) throws {
        try connection.execute("BEGIN IMMEDIATE")
        for table in Self.tables { try connection.execute("CREATE TABLE \(table)") }
        let authorCount = max(1, count / 1000)
        let author = try statement("INSERT INTO ZAUTHOR VALUES (?, 1, 1, ?)")
        for number in 1...authorCount {
            _ = library.bindInt64(author, 1, Int64(number))
            bind("Author \(number)", author, 2)
            try connection.run(author)
        }
        let event = try statement("INSERT INTO ZEVENT VALUES (?, 2, 1, ?, ?, ?, ?, ?, ?)")
        for number in 1...count {
            _ = library.bindInt64(event, 1, Int64(number))
            _ = library.bindInt64(event, 2, Int64(number * 7))
            _ = library.bindInt64(event, 3, Int64(number & 1))
            _ = library.bindInt64(event, 4, Int64(number * 7919 % authorCount + 1))
            _ = library.bindDouble(event, 5, Double(number) / 3)
            _ = library.bindDouble(event, 6, 7e8 + Double(number))
            bind("The title of event number \(number)", event, 7)
            try connection.run(event)
        }
        try connection.execute(Self.index)
        try connection.execute(
            "INSERT INTO Z_PRIMARYKEY VALUES (1, 'Author', 0, \(authorCount)), (2, 'Event', 0, \(count))")
        let facts = try PropertyListSerialization.data(
            fromPropertyList: ["NSStoreType": "SQLite"], format: .binary, options: 0)
        let bytes = facts.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let identifier = "8E430534-5F59-49DB-9479-C3290AE2713E"
        try connection.execute("INSERT INTO Z_METADATA VALUES (1, '\(identifier)', x'\(bytes)')")
        try connection.execute("COMMIT")
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try close()
    }

    /// Copies all tables of the store at `source` in one transaction, and closes the database.
    func copy(from source: String) throws {
        try connection.execute("ATTACH '\(source)' AS source")
        try connection.execute("BEGIN IMMEDIATE")
        for table in Self.tables {
            let name = table.prefix { $0 != "(" }
            try connection.execute("CREATE TABLE main.\(table)")
            try connection.execute("INSERT INTO main.\(name) SELECT * FROM source.\(name)")
        }
        try connection.execute(Self.index)
        try connection.execute("COMMIT")
        try close()
    }
}
