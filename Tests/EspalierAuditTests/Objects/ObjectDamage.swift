// Damage above the pages: the engine writes it for the test, each time one contradiction that no save would leave.

import EspalierEngine
import EspalierStore
import TestSupport

@testable import EspalierAudit

/// One way to damage an object store, and the rules of which the audit must name one.
struct ObjectDamage: Sendable, CustomStringConvertible {
    let description: String
    let rules: Set<Int>
    /// Makes the damage; returns `false` if the store has nothing of the kind.
    let apply: @Sendable (inout DamageTransaction) throws(StorageError) -> Bool

    init(
        _ description: String, _ rules: Set<Int>,
        _ apply: @escaping @Sendable (inout DamageTransaction) throws(StorageError) -> Bool
    ) {
        (self.description, self.rules, self.apply) = (description, rules, apply)
    }

    /// The files after the damage; `nil` if there was nothing to damage.
    func applied(to files: ForgedFiles, seed: UInt64) throws(StorageError) -> ForgedFiles? {
        let system = SimulatedFileSystem(seed: 3)
        system.replaceContents(of: "store", with: files.store)
        if let log = files.log { system.replaceContents(of: "store-wal", with: log) }
        var options = SampleStores.options
        options.createIfMissing = false
        let database = try Database.open("store", in: system, options: options)
        var transaction = DamageTransaction(try database.beginWrite(), seed: seed)
        let isApplied = try apply(&transaction)
        try transaction.commit()
        try database.close()
        return isApplied ? ForgedFiles(system) : nil
    }
}

/// A write transaction that finds things to damage.
struct DamageTransaction: ~Copyable {
    typealias Entry = (tree: AnyTree, key: [UInt8], value: [UInt8])

    var write: WriteTransaction
    private var random: SeededGenerator

    init(_ write: consuming WriteTransaction, seed: UInt64) {
        self.write = write
        random = SeededGenerator(seed: seed)
    }

    consuming func commit() throws(StorageError) { try write.commit() }

    /// A random entry that `fits`, in the bytes trees whose names begin with `prefix`; `nil` if there is none.
    mutating func entry(
        _ prefix: String, _ fits: ([UInt8], [UInt8]) -> Bool = { _, _ in true }
    ) throws(StorageError) -> Entry? {
        var found: [Entry] = []
        for summary in try write.trees() where summary.tree.name.hasPrefix(prefix) {
            var cursor = try write.cursor(over: summary.tree)
            var isOnEntry = try cursor.first()
            while isOnEntry {
                let key = try cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) }
                let value = try cursor.value()
                if fits(key, value) { found.append((summary.tree, key, value)) }
                isOnEntry = try cursor.next()
            }
        }
        return found.randomElement(using: &random)
    }

    mutating func remove(_ entry: Entry) throws(StorageError) {
        try write.remove(entry.key, from: entry.tree)
    }

    mutating func put(_ value: [UInt8], for key: [UInt8], in tree: AnyTree) throws(StorageError) {
        try write.put(value, for: key, in: tree)
    }

    /// Adds to a counter of the tree `counters`.
    mutating func count(_ change: Int, _ key: UInt64) throws(StorageError) {
        guard let tree = try write.tree(named: "counters", keys: UInt64.self) else { return }
        let old = try write.get(key, from: tree) ?? [UInt8](repeating: 0, count: 8)
        let new = old.u64(0) &+ UInt64(bitPattern: Int64(change))
        try write.put(new.bigEndianBytes.reversed(), for: key, in: tree)
    }
}

extension UInt64 {
    var bigEndianBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * UInt64($0))) } }
}

extension [UInt8] {
    /// The number in the first eight bytes.
    var bigEndianNumber: UInt64 { prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// The bytes with `number` in the last eight, big-endian.
    func ending(with number: UInt64) -> [UInt8] { dropLast(8) + number.bigEndianBytes }
}

extension ObjectDamage {
    private static func removal(_ prefix: String, _ rules: Set<Int>) -> ObjectDamage {
        ObjectDamage("an entry of \(prefix) is missing", rules) { transaction throws(StorageError) in
            guard let entry = try transaction.entry(prefix) else { return false }
            try transaction.remove(entry)
            return true
        }
    }

    /// Damage that adds an entry from or to a row that does not exist.
    private static func addition(_ prefix: String, _ rules: Set<Int>) -> ObjectDamage {
        ObjectDamage("\(prefix) has an entry more", rules) { transaction throws(StorageError) in
            guard let entry = try transaction.entry(prefix) else { return false }
            try transaction.put(entry.value, for: entry.key.ending(with: 1_000_000), in: entry.tree)
            return true
        }
    }

    /// Damage that moves an entry from one existing row to another.
    private static func exchange(_ prefix: String, _ rules: Set<Int>) -> ObjectDamage {
        ObjectDamage("an entry of \(prefix) is another row's", rules) { transaction throws(StorageError) in
            guard let entry = try transaction.entry(prefix),
                let other = try transaction.entry(
                    prefix,
                    { key, value in
                        value == entry.value && key.count == entry.key.count && key.suffix(8) != entry.key.suffix(8)
                    }),
                other.tree.name == entry.tree.name,
                try transaction.write.get(entry.key.dropLast(8) + other.key.suffix(8), from: entry.tree) == nil
            else { return false }
            try transaction.remove(entry)
            try transaction.put(entry.value, for: entry.key.dropLast(8) + other.key.suffix(8), in: entry.tree)
            return true
        }
    }

    private static func change(
        _ what: String, of prefix: String, _ rules: Set<Int>,
        where fits: @escaping @Sendable ([UInt8], [UInt8]) -> Bool = { _, _ in true },
        _ change: @escaping @Sendable (inout [UInt8]) -> Void
    ) -> ObjectDamage {
        ObjectDamage("\(what) in \(prefix)", rules) { transaction throws(StorageError) in
            guard let entry = try transaction.entry(prefix, fits) else { return false }
            var value = entry.value
            change(&value)
            guard value != entry.value else { return false }
            try transaction.put(value, for: entry.key, in: entry.tree)
            return true
        }
    }

    static let ofEntries = ["index:", "unique:"].flatMap { prefix in
        [
            removal(prefix, [121]), addition(prefix, [121]), exchange(prefix, [121]),
            change("another entity number", of: prefix, [121]) { $0[0] ^= 1 },
            change("another flag", of: prefix, [121]) { $0[2] ^= 1 },
            change("a longer value", of: prefix, [121]) { $0.append(0) },
        ]
    }

    static let ofLinks =
        ["links:Owner.works", "links:Owner.shelved"].flatMap { prefix in
            [
                removal(prefix, [133]), addition(prefix, [133]), exchange(prefix, [133]),
                change("another entity number", of: prefix, [131, 133]) { $0[0] = $0[0] &+ 1 },
            ]
        }
        + [
            "links:Label.works", "links:Work.labels", "links:Owner.friends", "links:Owner.seen", "links:Owner.ranked",
            "owners:",
        ]
        .flatMap { prefix in
            [
                removal(prefix, [134]), addition(prefix, [134, 135]), exchange(prefix, [134, 135]),
                change("another entity number", of: prefix, [131, 135]) { $0[0] = $0[0] &+ 1 },
                change("a longer value", of: prefix, [131]) { $0.append(0) },
            ]
        }

    static let ofCounters =
        [1, 3].map { kind in
            change(
                "a higher counter of kind \(kind)", of: "counters", [kind == 1 ? 108 : 110],
                where: { key, _ in key.bigEndianNumber >> 32 == kind }
            ) { $0[0] = $0[0] &+ 1 }
        } + [
            change(
                "a counter of rows that is none", of: "counters", [108],
                where: { key, value in key.bigEndianNumber >> 32 == 1 && value.u64(0) > 0 }
            ) { value in
                value = [UInt8](repeating: 0, count: 8)
            },
            change(
                "a last key that is none", of: "counters", [109],
                where: { key, value in key.bigEndianNumber >> 32 == 2 && value.u64(0) > 0 }
            ) { value in
                value = [UInt8](repeating: 0, count: 8)
            },
            change("a short counter", of: "counters", [107]) { $0.removeLast() },
            ObjectDamage("a counter of another kind", [107]) { transaction throws(StorageError) in
                try transaction.count(1, 5 << 32 | 1)
                return true
            },
            ObjectDamage("a counter of no entity", [107]) { transaction throws(StorageError) in
                try transaction.count(1, 1 << 32 | 900)
                return true
            },
        ]

    static let ofRows = [
        removal("rows:", [108, 121, 118, 133, 135]), addition("rows:", [108, 121]),
        change("a row with a byte less", of: "rows:", [114]) { $0.removeLast() },
        change("a row with a byte more", of: "rows:", [114]) { $0.append(0) },
        change("widths that cannot be", of: "rows:", [114]) { $0[0] |= 0x30 },
        change("a layout that is none", of: "rows:", [113]) { $0[1] = 250 },
        change("an empty row", of: "rows:", [113]) { $0 = [] },
        change(
            "an indexed value", of: "rows:Work", [121],
            where: { $1.count < 300 && $1.lastIndex(of: UInt8(ascii: "t")) != nil }
        ) {
            row in
            guard let place = row.lastIndex(of: UInt8(ascii: "t")) else { return }
            row[place] = UInt8(ascii: "u")
        },
        ObjectDamage("a row with the key 0", [112]) { transaction throws(StorageError) in
            guard let entry = try transaction.entry("rows:Label") else { return false }
            try transaction.put(entry.value, for: UInt64(0).bigEndianBytes, in: entry.tree)
            return true
        },
    ]

    /// The offset of the null bits in a row whose layout number has one byte: after widths, layout and version.
    private static func nulls(_ row: [UInt8]) -> Int { 2 + 1 << Int(row[0] & 3) }

    /// The offset of the only reference in a row of `Owner`, which has no fixed part and no whole numbers.
    private static func reference(_ row: [UInt8]) -> Int { nulls(row) + 1 }

    static let ofValues = [
        change("a null bit of no field", of: "rows:Label", [115]) { $0[nulls($0)] |= 0x80 },
        change(
            "a value of a field that is null", of: "rows:Label", [115],
            where: { $1[nulls($1)] == 0 && $1.last != 0 && $1.count > nulls($1) + 4 }
        ) { $0[nulls($0)] |= 1 },
        change(
            "text that is no text", of: "rows:Label", [116],
            where: { $1[nulls($1)] == 0 && $1.count > nulls($1) + 4 }
        ) { $0[$0.count - 1] = 0xFF },
        change(
            "a to-one value of no entity", of: "rows:Owner", [117], where: { $1[reference($1)] != 0 }
        ) { $0[reference($0)] = 200 },
        change(
            "a to-one value of another entity", of: "rows:Owner", [117], where: { $1[reference($1)] != 0 }
        ) { $0[reference($0)] = $0[reference($0)] == 1 ? 2 : 1 },
        change(
            "a to-one value without key", of: "rows:Owner", [117],
            where: { $1[reference($1)] != 0 && $1[0] >> 6 == 0 }
        ) { row in
            row[reference(row) + 1] = 0
            row[reference(row) + 2] = 0
        },
        allRemoved("rows:Owner", [118]), allRemoved("rows:Label", [135]),
    ]

    private static func allRemoved(_ tree: String, _ rules: Set<Int>) -> ObjectDamage {
        ObjectDamage("\(tree) is empty, and others lead there", rules) { transaction throws(StorageError) in
            guard let tree = try transaction.write.tree(named: tree) else { return false }
            return try transaction.write.removeAll(from: tree) > 0
        }
    }

    static let ofLists = ["links:Owner.shelved", "links:Work.labels", "links:Owner.ranked"].flatMap {
        prefix in
        [
            ObjectDamage("two members at one position of \(prefix)", [132]) { transaction throws(StorageError) in
                guard let entry = try transaction.entry(prefix),
                    let other = try transaction.entry(prefix, { key, _ in key.suffix(8) != entry.key.suffix(8) })
                else { return false }
                try transaction.put(other.value, for: entry.key.dropLast(8) + other.key.suffix(8), in: entry.tree)
                return true
            },
            ObjectDamage("a member twice in \(prefix)", [132]) { transaction throws(StorageError) in
                guard let entry = try transaction.entry(prefix) else { return false }
                let again = entry.key.prefix(8) + UInt64(1_000_000).bigEndianBytes + entry.key.suffix(8)
                try transaction.put(entry.value, for: Array(again), in: entry.tree)
                return true
            },
        ]
    }

    private static func record(
        _ what: String, _ key: String, _ rule: Int, _ change: @escaping @Sendable (inout [UInt8]) -> Void
    ) -> ObjectDamage {
        self.change(what, of: "schema", [rule], where: { found, _ in found == [UInt8](key.utf8) }, change)
    }

    static let ofSchema = [
        record("another format", "format", 101) { $0[0] = 7 },
        record("a model cut off", "model", 102) { $0.removeLast(3) },
        record("a model with a byte more", "model", 102) { $0.append(0) },
        record("another name of an entity", "entity:2", 103) { $0[0] ^= 1 },
        record("a layout cut off", "layout:1", 104) { $0.removeLast() },
        record("a layout of no entity", "layout:1", 104) { $0[1] = 9 },
        ObjectDamage("a record more", [105]) { transaction throws(StorageError) in
            guard let tree = try transaction.write.tree(named: "schema") else { return false }
            try transaction.put([1], for: [UInt8]("layout:x".utf8), in: tree)
            return true
        },
        ObjectDamage("no model", [102]) { transaction throws(StorageError) in
            guard let tree = try transaction.write.tree(named: "schema", keys: [UInt8].self) else { return false }
            return try transaction.write.remove([UInt8]("model".utf8), from: tree)
        },
        ObjectDamage("a tree is missing", [106]) { transaction throws(StorageError) in
            guard let tree = try transaction.write.tree(named: "index:Work.title") else { return false }
            try transaction.write.dropTree(tree)
            return true
        },
        ObjectDamage("a tree has keys of the other kind", [106]) { transaction throws(StorageError) in
            guard let tree = try transaction.write.tree(named: "index:Work.title") else { return false }
            try transaction.write.dropTree(tree)
            _ = try transaction.write.createTree(named: "index:Work.title", keys: UInt64.self)
            return true
        },
        ObjectDamage("a tree too many", [106]) { transaction throws(StorageError) in
            _ = try transaction.write.createTree(named: "index:Work.year", keys: [UInt8].self)
            return true
        },
        ObjectDamage("metadata that are none", [111]) { transaction throws(StorageError) in
            guard let tree = try transaction.write.tree(named: "metadata") else { return false }
            try transaction.put([1, 2, 3], for: [UInt8]("name".utf8), in: tree)
            return true
        },
    ]
}
