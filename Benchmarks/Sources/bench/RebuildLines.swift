// Rebuilding most of a store: all entries of indexes and of the constraint, all links and all counters are removed, and
// one transaction rebuilds them from rows. The peer is SQLite's `REINDEX`, which rebuilds its indexes.
//
// Invariants
//   1. The stores are those of `CheckLines`; making one, removing the entries and the rebuild have a process each. The
//      time covers opening, rebuilding and closing.
//   2. The store is intact afterwards: Espalier's rebuild ends with a check of all objects, which is part of its time.

import BenchKit
import Espalier
import EspalierEngine
import Foundation
import Peers

struct RebuildLines {
    /// The number of rows of the largest table.
    let count: Int
    let folder: URL

    func all() -> [() -> Line] {
        let runs = RebuildRuns(count: count, folder: folder)
        var names = [EspalierSongs.name]
        if SQLite.shared != nil { names.append(SQLiteSongs.name) }
        let lines: [(String, String, Line.Unit)] = [
            ("rebuild", "all indexes, links both ways, counters, and a check after it; sqlite: REINDEX", .time),
            ("rebuild memory", "peak resident bytes of that process, cache 32 MiB", .bytes),
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

/// The stores, and the figures of their rebuilds.
private final class RebuildRuns {
    private let count: Int
    private let folder: URL
    private var figures: [String: [String: Double]] = [:]

    init(count: Int, folder: URL) { (self.count, self.folder) = (count, folder) }

    /// A figure of the latest rebuild, or the time of a new one.
    func figure(_ name: String, _ contender: String) throws -> Double {
        if name == "rebuild" || figures[contender] == nil {
            let place = folder.appendingPathComponent("rebuild-\(contender)")
            try? FileManager.default.removeItem(at: place)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            _ = try ChildRun.start(["lay", contender, "\(count)", place.path])
            if contender == EspalierSongs.name { _ = try ChildRun.start(["spoil", contender, place.path]) }
            figures[contender] = try ChildRun.start(["rebuild", contender, place.path])
        }
        guard let value = figures[contender]?[name] else { throw ChildFailure(arguments: ["rebuild", contender]) }
        return value
    }
}

extension EspalierSongs {
    /// Removes everything that a rebuild restores.
    static func spoil(_ folder: String) throws {
        let database = try Database.open(path(folder))
        var write = try database.beginWrite()
        for tree in try database.beginRead().trees().map(\.tree)
        where ["index:", "unique:", "links:", "owners:", "counters"].contains(where: tree.name.hasPrefix) {
            try write.removeAll(from: tree)
        }
        try write.commit()
        try database.close()
    }

    /// The work of `dbtool rebuild`.
    static func rebuild(_ folder: String) throws {
        let report = try BTreeStore.rebuildDerivedTrees(at: path(folder))
        guard report.hasChanges, report.after?.isOK == true else { throw ChildFailure(arguments: ["rebuild", folder]) }
    }
}

extension SQLiteSongs {
    func rebuild() throws {
        try connection.execute("REINDEX")
        try close()
    }
}
