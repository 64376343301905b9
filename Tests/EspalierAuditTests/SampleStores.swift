// Stores for the audit: the engine makes them on a simulated machine, so they are the same on every machine.

import EspalierEngine
import TestSupport

@testable import EspalierAudit

/// Small stores of every kind.
enum SampleStores {
    static var options: DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = 64 * options.pageSize
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 256 << 10
        options.logByteCountMax = 1 << 20
        return options
    }

    /// A store that `body` has filled.
    static func make(
        closes: Bool = true, options: DatabaseOptions = options,
        _ body: (Database) throws(StorageError) -> Void
    ) throws(StorageError) -> ForgedFiles {
        let system = SimulatedFileSystem(seed: 5)
        let database = try Database.open("store", in: system, options: options)
        try body(database)
        if closes { try database.close() }
        var files = ForgedFiles(system)
        files.trimLog()
        return files
    }

    /// A store of 30 pages: both kinds of keys, prefixes, values on several overflow pages, two levels, free pages.
    static func closed() throws -> ForgedFiles { try madeClosed.get() }

    private static let madeClosed = Result {
        try make { database throws(StorageError) in
            try fill(database, round: 0)
            try thin(database)
        }
    }

    /// The same with half of it in the log, after a checkpoint within a segment.
    static func open() throws -> ForgedFiles { try madeOpen.get() }

    private static let madeOpen = Result {
        try make(closes: false) { database throws(StorageError) in
            try fill(database, round: 0)
            try database.checkpoint(.passive)
            try fill(database, round: 1)
            try thin(database)
        }
    }

    static func fill(_ database: Database, round: Int) throws(StorageError) {
        var write = try database.beginWrite()
        let numbers = try write.tree(named: "numbers", orCreate: UInt64.self)
        for number in 0..<120 {
            let value = [UInt8](repeating: UInt8(number), count: 90 + number % 7)
            try write.put(value, for: UInt64(number * 3 + round), in: numbers)
        }
        let words = try write.tree(named: "words", orCreate: [UInt8].self)
        for number in 0..<110 {
            let key = [UInt8]("prefix/\(number % 4)/\(number)/\(round)".utf8) + [UInt8](repeating: 7, count: number * 3)
            try write.put([UInt8](repeating: UInt8(number), count: number % 5), for: key, in: words)
        }
        try write.put([UInt8](repeating: 5, count: 9000), for: [UInt8]("long \(round)".utf8), in: words)
        try write.put([UInt8](repeating: 6, count: 1500), for: 1000, in: numbers)
        try write.commit()
    }

    /// Removes some entries and drops a tree, which leaves free pages.
    static func thin(_ database: Database) throws(StorageError) {
        var write = try database.beginWrite()
        let gone = try write.createTree(named: "gone", keys: UInt64.self)
        for key in 0..<20 as Range<UInt64> { try write.put([UInt8](repeating: 1, count: 400), for: key, in: gone) }
        try write.commit()
        write = try database.beginWrite()
        if let numbers = try write.tree(named: "numbers", keys: UInt64.self) {
            for number in 20..<50 { try write.remove(UInt64(number * 3), from: numbers) }
        }
        try write.dropTree(gone)
        try write.commit()
    }
}
