// Stores with random content for tests of copies, and images of such content.

import EspalierEngine
import Foundation
import TestSupport

/// Everything in a store: name of the tree -> key -> value, and each tree's number.
struct StoreImage: Equatable {
    var entries: [String: [[UInt8]: [UInt8]]] = [:]
    var treeIDs: [String: UInt32] = [:]
    var transactionID: UInt64 = 0

    /// Reads the newest commit.
    init(of database: Database) throws(StorageError) {
        let read = try database.beginRead()
        transactionID = read.transactionID
        for summary in try read.trees() {
            var entries: [[UInt8]: [UInt8]] = [:]
            var cursor = try read.cursor(over: summary.tree)
            var isOnEntry = try cursor.first()
            while isOnEntry {
                let key = try cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) }
                entries[key] = try cursor.value()
                isOnEntry = try cursor.next()
            }
            self.entries[summary.tree.name] = entries
            treeIDs[summary.tree.name] = summary.tree.id
        }
    }

    /// Reads the store at `path`, and checks it.
    static func checked(at path: String) throws -> (image: StoreImage, check: CheckReport) {
        var options = DatabaseOptions()
        options.access = .immutable
        let database = try Database.open(path, options: options)
        defer { try? database.close() }
        return (try StoreImage(of: database), try database.check())
    }

    /// The bytes of every page of a store but page 0; `nil` for pages that are free.
    static func usedPages(at path: String) throws -> [Data?] {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let geometry = StoreGeometry(pageSize: 4096)
        return (1..<bytes.count / 4096).map { number in
            let bitmap = Int(geometry.bitmapPage(of: PageNumber(number))) * 4096
            let bit = geometry.bitmapBit(of: PageNumber(number))
            let isFree = bytes[bitmap + BitmapLayout.bits + bit / 8] & (1 << UInt8(bit % 8)) != 0
            return isFree ? nil : bytes[number * 4096..<(number + 1) * 4096]
        }
    }
}

/// Random changes of a store: entries of all sizes, removals, trees that are created and dropped.
struct RandomChanges {
    var chance: SeededGenerator

    init(seed: UInt64) { chance = SeededGenerator(seed: seed) }

    /// Small segments and a small cache, so that segments are recycled and pages evicted.
    static var options: DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = 64 * options.pageSize
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 1 << 20
        options.checkpointThreshold = 200 << 10
        return options
    }

    /// One write transaction of up to `count` changes.
    mutating func commit(to database: Database, upTo count: Int = 60) throws(StorageError) {
        var write = try database.beginWrite()
        for _ in 0..<Int.random(in: 1...count, using: &chance) { try change(&write) }
        try write.commit()
    }

    private mutating func change(_ write: inout WriteTransaction) throws(StorageError) {
        let name = ["numbers", "words", "guests"].randomElement(using: &chance) ?? "words"
        let tree = try write.tree(named: name, orCreate: name == "numbers" ? .integer : .bytes)
        let number = UInt64.random(in: 0..<600, using: &chance)
        let key =
            name == "numbers"
            ? (0..<8).map { UInt8(number >> (56 - 8 * $0) & 255) } : Array("word \(number)".utf8)
        let dice = Int.random(in: 0..<40, using: &chance)
        if dice == 0, name == "guests" { return try write.dropTree(tree) }
        if dice < 12 {
            try write.remove(key, from: tree)
            return
        }
        let size = [0, 10, 10, 40, 300, 900, 3000, 20_000].randomElement(using: &chance) ?? 0
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
        try write.put(value, for: key, in: tree)
    }
}
