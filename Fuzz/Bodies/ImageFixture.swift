// Store and log files for the image bodies: the engine makes them on a simulated machine, so that they are the same on
// every machine and follow the format.

import EspalierEngine
import TestSupport

/// The initial files of image fuzzing.
enum ImageFixture {
    static let path = "store"
    static let logPath = "store-wal"

    /// A store that was closed cleanly, and a store whose process was killed, with its log.
    struct Files: Sendable {
        var empty: [UInt8] = []
        var closed: [UInt8] = []
        var store: [UInt8] = []
        var log: [UInt8] = []
    }

    static let files: Files = {
        var files = Files()
        do throws(StorageError) {
            files.empty = try make { _ throws(StorageError) in }.store
            files.closed = try make { database throws(StorageError) in
                try fill(database, round: 0)
                try empty(database)
            }.store
            let open = try make(closes: false) { database throws(StorageError) in
                try fill(database, round: 0)
                try database.checkpoint(.full)
                try fill(database, round: 1)
                try empty(database)
            }
            (files.store, files.log) = (open.store, open.log)
        } catch {
            preconditionFailure("the fixture cannot be made: \(error)")
        }
        return files
    }()

    private static func make(
        closes: Bool = true, _ body: (Database) throws(StorageError) -> Void
    ) throws(StorageError) -> (store: [UInt8], log: [UInt8]) {
        let system = SimulatedFileSystem(seed: 11)
        let database = try Database.open(path, in: system, options: .small)
        try body(database)
        if closes { try database.close() }
        var log = system.contents(of: logPath) ?? []
        // Zeros at the end carry no information.
        while log.count > LogHeaderLayout.byteCount + 64, log.last == 0 { log.removeLast() }
        return (system.contents(of: path) ?? [], log)
    }

    /// Entries of all kinds: integer and bytes keys, long keys with common prefixes, a value on overflow pages.
    private static func fill(_ database: Database, round: Int) throws(StorageError) {
        var write = try database.beginWrite()
        let numbers = try write.tree(named: "numbers", orCreate: UInt64.self)
        for number in 0..<90 {
            let value = [UInt8](repeating: UInt8(number), count: 60 + number % 7)
            try write.put(value, for: UInt64(number * 3 + round), in: numbers)
        }
        let words = try write.tree(named: "words", orCreate: [UInt8].self)
        for number in 0..<40 {
            let key = [UInt8]("prefix/\(number % 4)/\(number)/\(round)".utf8) + [UInt8](repeating: 7, count: number * 4)
            try write.put([UInt8(number)], for: key, in: words)
        }
        try write.put([UInt8](repeating: 5, count: 9000), for: [UInt8]("long".utf8), in: words)
        try write.commit()
    }

    /// Removes entries, so that the store has free pages.
    private static func empty(_ database: Database) throws(StorageError) {
        var write = try database.beginWrite()
        guard let numbers = try write.tree(named: "numbers", keys: UInt64.self),
            let words = try write.tree(named: "words", keys: [UInt8].self)
        else { return }
        for number in 20..<70 { try write.remove(UInt64(number * 3), from: numbers) }
        try write.remove([UInt8]("long".utf8), from: words)
        try write.commit()
    }
}
