// Random write transactions with savepoints, compared with dictionaries: each savepoint keeps the expected content.
//
// Invariants
//   1. A run is one seed.
//   2. The run compares everything after each rollback, and sometimes after other steps.

import EspalierEngine
import TestSupport
import Testing

/// The content of a store: name of the tree -> key (integer keys: 8 big-endian bytes) -> value.
typealias ModelTrees = [String: [[UInt8]: [UInt8]]]

/// A run of random transactions over one store.
struct SavepointRun {
    struct Refusal: Error {}

    static let path = "store"
    static let names: [(name: String, kind: KeyKind)] = [("numbers", .integer), ("words", .bytes), ("more", .integer)]

    let options: DatabaseOptions
    /// Whether some of the values have 1 to 64 MiB.
    let hasLargeValues: Bool
    let system: SimulatedFileSystem
    var chance: SeededGenerator
    var content: ModelTrees = [:]
    var stack: [(savepoint: Savepoint, content: ModelTrees)] = []
    var closed: [Savepoint] = []

    init(seed: UInt64, options: DatabaseOptions, hasLargeValues: Bool = false) {
        self.options = options
        self.hasLargeValues = hasLargeValues
        system = SimulatedFileSystem(seed: seed)
        chance = SeededGenerator(seed: seed)
    }

    /// Small sizes throughout: 16 cache frames, so that most transactions spill.
    static func options(_ seed: UInt64) -> DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = (seed % 3 == 0 ? 64 : 16) * options.pageSize
        options.logSegmentByteCount = 64 << 10
        options.checkpointThreshold = 128 << 10
        return options
    }

    mutating func run(_ transactionCount: Int) throws {
        var database = try Database.open(Self.path, in: system, options: options)
        for _ in 0..<transactionCount {
            try transaction(database)
            let read = try database.beginRead()
            try Self.expect(content, read.trees().map(\.tree)) { (tree) throws(StorageError) in
                try read.cursor(over: tree)
            }
            #expect(try database.check().findings == [])
            _ = consume read
            if number(5) == 0 {
                try database.close()
                database = try Database.open(Self.path, in: system, options: options)
            }
        }
        try database.close()
        #expect(system.violations == [])
    }

    mutating func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &chance) }

    // MARK: A transaction

    private mutating func transaction(_ database: Database) throws {
        let before = content
        stack = []
        var write = try database.beginWrite()
        for _ in 0..<number(60) { try step(&write) }
        closed = stack.map(\.savepoint)
        stack = []
        if number(4) == 0 {
            write.rollback()
            content = before
        } else {
            try write.commit(.ordered)
        }
    }

    mutating func step(_ write: inout WriteTransaction) throws {
        switch number(24) {
        case 0...2: stack.append((try write.savepoint(), content))
        case 3, 4: try goBack(&write)
        case 5: try release(&write)
        case 6: try nest(&write)
        case 7: expectClosed(&write)
        case 8: try expectSame(write)
        case 9: try write.shrink(movingAtMost: 1 + number(hasLargeValues ? 2000 : 60))
        case 10, 11: if hasLargeValues { try moveLarge(&write) } else { try change(&write) }
        default: try change(&write)
        }
    }

    private mutating func goBack(_ write: inout WriteTransaction) throws {
        guard !stack.isEmpty else { return }
        let place = number(stack.count)
        closed += stack[(place + 1)...].map(\.savepoint)
        stack.removeSubrange((place + 1)...)
        content = stack[place].content
        try write.rollback(to: stack[place].savepoint)
        try expectSame(write)
    }

    private mutating func release(_ write: inout WriteTransaction) throws {
        guard !stack.isEmpty else { return }
        let place = number(stack.count)
        try write.release(stack[place].savepoint)
        closed += stack[place...].map(\.savepoint)
        stack.removeSubrange(place...)
    }

    private mutating func nest(_ write: inout WriteTransaction) throws {
        let (before, depth, fails) = (content, stack.count, number(2) == 0)
        do {
            try write.nested { write in
                for _ in 0..<number(12) {
                    // Leave the outer savepoints alone: this run does not test rollbacks past a nested part.
                    if number(6) == 0 { stack.append((try write.savepoint(), content)) } else { try change(&write) }
                }
                if fails { throw Refusal() }
            }
        } catch is Refusal {
            content = before
        }
        closed += stack[depth...].map(\.savepoint)
        stack.removeSubrange(depth...)
        if fails { try expectSame(write) }
    }

    /// Expects that a closed savepoint is refused.
    private mutating func expectClosed(_ write: inout WriteTransaction) {
        guard let savepoint = closed.randomElement(using: &chance) else { return }
        #expect(throws: StorageError.transaction(.noSuchSavepoint)) { try write.rollback(to: savepoint) }
        #expect(throws: StorageError.transaction(.noSuchSavepoint)) { try write.release(savepoint) }
    }

    // MARK: Comparison

    func expectSame(_ write: borrowing WriteTransaction) throws {
        try Self.expect(content, write.trees().map(\.tree)) { (tree) throws(StorageError) in
            let count = try write.count(of: tree)
            #expect(count == UInt64(content[tree.name]?.count ?? 0))
            return try write.cursor(over: tree)
        }
    }

    private static func expect(
        _ content: ModelTrees, _ trees: [AnyTree], _ cursor: (AnyTree) throws(StorageError) -> Cursor<AnyKey>
    ) throws {
        #expect(trees.map(\.name) == content.keys.sorted())
        for tree in trees {
            let entries = (content[tree.name] ?? [:]).sorted { $0.key.lexicographicallyPrecedes($1.key) }
            var cursor = try cursor(tree)
            // One expectation for all entries, because each costs more than a step of the cursor.
            var same = 0
            for entry in entries {
                guard try cursor.next(), try cursor.withKey({ $0.loadBytes(at: 0, count: $0.byteCount) }) == entry.key,
                    try cursor.value() == entry.value
                else { break }
                same += 1
            }
            #expect(same == entries.count, "\(tree.name) differs at entry \(same)")
            #expect(try !cursor.next())
        }
    }
}
