// Checks of a whole store: every page, and every index entry and link against the rows. The peer is SQLite's
// `PRAGMA integrity_check` of the same rows with the same indexes, that of the foreign key included.
//
// Invariants
//   1. One process makes each store, and each check has a process of its own, so that its peak memory is its own. The
//      time covers opening, checking and closing.
//   2. The stores are intact: a check with a finding ends the run.

import BenchKit
import Espalier
import EspalierEngine
import Foundation
import Peers

struct CheckLines {
    /// The number of rows of the largest table.
    let count: Int
    let folder: URL

    func all() -> [() -> Line] {
        let runs = CheckRuns(count: count, folder: folder)
        var names = [EspalierSongs.name]
        if SQLite.shared != nil { names.append(SQLiteSongs.name) }
        let lines: [(String, String, Line.Unit)] = [
            ("check", "pages, indexes, links both ways; sqlite: integrity_check; one run in all", .time),
            ("check memory", "peak resident bytes of that process", .bytes),
            ("check file", "bytes of the store", .bytes),
        ]
        return lines.map { name, note, unit in
            {
                Line(
                    "\(name), \(count) rows", note: note, unit: unit,
                    contenders: names.map { contender in
                        Line.Contender(contender) { try runs.figure(name, contender) }
                    })
            }
        }
    }
}

/// The stores, and the processes that check them.
private final class CheckRuns {
    private let count: Int
    private let folder: URL
    private var places: [String: String] = [:]

    init(count: Int, folder: URL) { (self.count, self.folder) = (count, folder) }

    func figure(_ name: String, _ contender: String) throws -> Double {
        if places[contender] == nil {
            let place = folder.appendingPathComponent("songs-\(contender)")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            _ = try ChildRun.start(["lay", contender, "\(count)", place.path])
            places[contender] = place.path
        }
        guard let place = places[contender],
            let value = try ChildRun.start(["check", contender, place])[name]
        else { throw ChildFailure(arguments: ["check", contender]) }
        return value
    }
}

/// The same songs in every store: titles, codes, albums, and one tag for each.
private struct Songs {
    static let albumShare = 20
    static let tagCount = 1000

    static func title(_ number: Int) -> String { "Song \(number &* 7919 % 1_000_003) of the evening" }
    static func code(_ number: Int) -> String { "QZ-\(1_000_000 + number)" }
    static func year(_ number: Int) -> Int64 { Int64(1950 + number % 75) }
    static func length(_ number: Int) -> Double { 120 + Double(number % 1000) / 4 }
    static func note(_ number: Int) -> String { "Take \(number % 9), mixed and mastered for release \(number % 131)" }
    static func album(_ number: Int, of count: Int) -> Int { number &* 31 % max(count / albumShare, 1) }
    static func tag(_ number: Int) -> Int { number % tagCount }
}

/// Songs in a store of Espalier.
enum EspalierSongs {
    static let name = "espalier"

    static func path(_ folder: String) -> String { folder + "/songs.espalier" }

    static func lay(_ count: Int, _ folder: String) throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Song",
                attributes: [
                    AttributeDescription("title", .string, isOptional: false, isIndexed: true),
                    AttributeDescription("code", .string, isOptional: false),
                    AttributeDescription("year", .integer32, isIndexed: true),
                    AttributeDescription("length", .double), AttributeDescription("note", .string),
                ],
                relationships: [
                    RelationshipDescription("album", to: "Album", inverse: "songs"),
                    RelationshipDescription("tags", to: "Tag", inverse: "songs", .toMany),
                ], uniquenessConstraints: [["code"]]),
            EntityDescription(
                "Album", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("songs", to: "Song", inverse: "album", .toMany)]),
            EntityDescription(
                "Tag", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("songs", to: "Song", inverse: "tags", .toMany)]),
        ])
        let store = try BTreeStore.open(path: path(folder), model: model)
        func ids(_ entity: String, _ count: Int) throws -> [ObjectID] {
            guard let entity = model.entity(named: entity) else { return [] }
            return try store.reserveIDs(for: entity, count: count)
        }
        let (albums, tags) = (try ids("Album", max(count / Songs.albumShare, 1)), try ids("Tag", Songs.tagCount))
        var request = SaveRequest()
        for (kind, ids) in [("Album", albums), ("Tag", tags)] {
            for (number, id) in ids.enumerated() {
                request.insertions.append(.init(id: id, values: [.string("\(kind) \(number)")], destinations: [nil]))
            }
        }
        _ = try store.save(request)
        for first in stride(from: 0, to: count, by: 20_000) {
            request = SaveRequest()
            let songs = try ids("Song", min(20_000, count - first))
            for (offset, id) in songs.enumerated() {
                let number = first + offset
                request.insertions.append(
                    .init(
                        id: id,
                        values: [
                            .string(Songs.title(number)), .string(Songs.code(number)), .integer(Songs.year(number)),
                            .double(Songs.length(number)), .string(Songs.note(number)),
                        ], destinations: [albums[Songs.album(number, of: count)], nil]))
                request.links.append(.init(owner: id, slot: 1, added: [tags[Songs.tag(number)]]))
            }
            _ = try store.save(request)
        }
        try store.close()
    }

    /// The work of `dbtool check`: all pages, then all objects.
    static func check(_ folder: String) throws {
        var options = DatabaseOptions()
        options.access = .readOnly
        // As in the tool: a check reads each tree once, from end to end, so a larger cache gains nothing.
        options.cacheByteCount = 4 << 20
        let database = try Database.open(path(folder), options: options)
        guard try database.check().isOK else { throw ChildFailure(arguments: ["pages of", folder]) }
        try database.close()
        let store = try BTreeStore.openWithStoredModel(path: path(folder), options: options)
        guard try store.check().isOK else { throw ChildFailure(arguments: ["objects of", folder]) }
        try store.close()
    }
}

/// The same songs in tables of SQLite.
final class SQLiteSongs: SQLiteTables {
    static let name = "sqlite"

    convenience init(folder: String) throws {
        try self.init(path: folder + "/songs.sqlite")
        for text in [
            "CREATE TABLE IF NOT EXISTS album(pk INTEGER PRIMARY KEY, version INTEGER, name TEXT)",
            "CREATE TABLE IF NOT EXISTS tag(pk INTEGER PRIMARY KEY, version INTEGER, name TEXT)",
            """
            CREATE TABLE IF NOT EXISTS song(pk INTEGER PRIMARY KEY, version INTEGER, title TEXT NOT NULL,
                code TEXT NOT NULL UNIQUE, year INTEGER, length REAL, note TEXT, album INTEGER REFERENCES album(pk))
            """,
            "CREATE INDEX IF NOT EXISTS song_title ON song(title)",
            "CREATE INDEX IF NOT EXISTS song_year ON song(year)",
            "CREATE INDEX IF NOT EXISTS song_album ON song(album)",
            """
            CREATE TABLE IF NOT EXISTS song_tag(song INTEGER REFERENCES song(pk), tag INTEGER REFERENCES tag(pk),
                PRIMARY KEY(song, tag)) WITHOUT ROWID
            """,
            "CREATE INDEX IF NOT EXISTS tag_song ON song_tag(tag, song)",
        ] { try connection.execute(text) }
    }

    func lay(_ count: Int) throws {
        for (kind, rows) in [("album", max(count / Songs.albumShare, 1)), ("tag", Songs.tagCount)] {
            try connection.execute("BEGIN IMMEDIATE")
            let insert = try statement("INSERT INTO \(kind)(pk, version, name) VALUES(?, 1, ?)")
            for number in 0..<rows {
                _ = library.bindInt64(insert, 1, Int64(number + 1))
                bind("\(kind) \(number)", insert, 2)
                try connection.run(insert)
            }
            try connection.execute("COMMIT")
        }
        let song = try statement(
            "INSERT INTO song(pk, version, title, code, year, length, note, album) VALUES(?, 1, ?, ?, ?, ?, ?, ?)")
        let link = try statement("INSERT INTO song_tag(song, tag) VALUES(?, ?)")
        for first in stride(from: 0, to: count, by: 20_000) {
            try connection.execute("BEGIN IMMEDIATE")
            for number in first..<min(first + 20_000, count) {
                _ = library.bindInt64(song, 1, Int64(number + 1))
                bind(Songs.title(number), song, 2)
                bind(Songs.code(number), song, 3)
                _ = library.bindInt64(song, 4, Songs.year(number))
                _ = library.bindDouble(song, 5, Songs.length(number))
                bind(Songs.note(number), song, 6)
                _ = library.bindInt64(song, 7, Int64(Songs.album(number, of: count) + 1))
                try connection.run(song)
                _ = library.bindInt64(link, 1, Int64(number + 1))
                _ = library.bindInt64(link, 2, Int64(Songs.tag(number) + 1))
                try connection.run(link)
            }
            try connection.execute("COMMIT")
        }
        try close()
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    func check() throws {
        let check = try statement("PRAGMA integrity_check")
        guard library.step(check) == SQLite.row, text(check, 0) == "ok" else {
            throw ChildFailure(arguments: ["integrity_check"])
        }
        try close()
    }
}
