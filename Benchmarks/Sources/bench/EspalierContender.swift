// Espalier's engine as a contender: the public API, as an application calls it.

import EspalierEngine

final class EspalierContender: KeyValueContender {
    static let name = "espalier"
    private let path: String
    private let database: Database
    private let tree: AnyTree
    private let durability: Durability

    convenience init(folder: String, shape: KeyShape, sync: Sync, cacheByteCount: Int) throws {
        try self.init(folder: folder, shape: shape, sync: sync, cacheByteCount: cacheByteCount, pageSize: nil)
    }

    /// - Parameter pageSize: bytes per page of a new store, `nil` for the default.
    init(folder: String, shape: KeyShape, sync: Sync, cacheByteCount: Int, pageSize: Int?) throws {
        var options = DatabaseOptions()
        if let pageSize { options.pageSize = pageSize }
        options.cacheByteCount = cacheByteCount
        durability = sync == .everyCommit ? .durable : .ordered
        options.durability = durability
        path = folder + "/bench.espalier"
        database = try Database.open(path, options: options)
        tree = try Self.tree(of: database, shape)
    }

    /// The tree, which is created if it does not exist; a contender that only reads must not begin a write.
    private static func tree(of database: Database, _ shape: KeyShape) throws -> AnyTree {
        if let tree = try database.beginRead().tree(named: "bench") { return tree }
        var transaction = try database.beginWrite()
        let tree = try transaction.createTree(named: "bench", kind: shape == .integer ? .integer : .bytes)
        try transaction.commit()
        return tree
    }

    func put(_ keys: [UInt64], value: [UInt8], batch: Int) throws {
        let bytes = value.span.bytes
        var index = 0
        while index < keys.count {
            var transaction = try database.beginWrite()
            let end = min(index + batch, keys.count)
            switch tree {
            case .integers(let tree):
                while index < end {
                    try transaction.put(bytes, for: keys[index], in: tree)
                    index += 1
                }
            case .bytes(let tree):
                while index < end {
                    let key: InlineArray<2, UInt64> = [keyBytes(keys[index]).0, keyBytes(keys[index]).1]
                    try transaction.put(bytes, for: key.span.bytes, in: tree)
                    index += 1
                }
            }
            try transaction.commit()
        }
    }

    func remove(_ keys: [UInt64], batch: Int) throws {
        var index = 0
        while index < keys.count {
            var transaction = try database.beginWrite()
            let end = min(index + batch, keys.count)
            while index < end {
                switch tree {
                case .integers(let tree): try transaction.remove(keys[index], from: tree)
                case .bytes(let tree):
                    let key: InlineArray<2, UInt64> = [keyBytes(keys[index]).0, keyBytes(keys[index]).1]
                    try transaction.remove(key.span.bytes, from: tree)
                }
                index += 1
            }
            try transaction.commit()
        }
    }

    func get(_ keys: [UInt64], transactionPerRead: Bool) throws -> UInt64 {
        guard transactionPerRead else { return try get(keys[...], in: try database.beginRead()) }
        var sum: UInt64 = 0
        for index in keys.indices { sum &+= try get(keys[index...index], in: try database.beginRead()) }
        return sum
    }

    private func get(_ keys: ArraySlice<UInt64>, in transaction: borrowing ReadTransaction) throws -> UInt64 {
        var sum: UInt64 = 0
        switch tree {
        case .integers(let tree):
            for key in keys { sum &+= try transaction.withValue(of: key, in: tree) { first($0) } ?? 0 }
        case .bytes(let tree):
            for key in keys {
                let bytes: InlineArray<2, UInt64> = [keyBytes(key).0, keyBytes(key).1]
                sum &+= try transaction.withValue(of: bytes.span.bytes, in: tree) { first($0) } ?? 0
            }
        }
        return sum
    }

    func getLarge(_ keys: [UInt64]) throws -> UInt64 {
        guard case .integers(let tree) = tree else { return 0 }
        let transaction = try database.beginRead()
        var sum: UInt64 = 0
        for key in keys {
            _ = try transaction.forEachPart(ofValueOf: key, in: tree) { part in
                sum &+= part.withUnsafeBytes { sumOfLines($0.baseAddress, $0.count) }
            }
        }
        return sum
    }

    func scan(backward: Bool) throws -> (count: Int, sum: UInt64) {
        let transaction = try database.beginRead()
        var cursor = try transaction.cursor(over: tree)
        var (count, sum): (Int, UInt64) = (0, 0)
        var isOnEntry = backward ? try cursor.last() : try cursor.first()
        while isOnEntry {
            sum &+= try cursor.withValue { first($0) }
            count += 1
            isOnEntry = backward ? try cursor.previous() : try cursor.next()
        }
        return (count, sum)
    }

    func seek(_ keys: [UInt64], length: Int) throws -> UInt64 {
        let transaction = try database.beginRead()
        var sum: UInt64 = 0
        switch tree {
        case .integers(let tree):
            var cursor = try transaction.cursor(over: tree)
            for key in keys { sum &+= try walk(&cursor, length, isOnEntry: try cursor.seek(key)) }
        case .bytes(let tree):
            var cursor = try transaction.cursor(over: tree)
            for key in keys {
                let bytes: InlineArray<2, UInt64> = [keyBytes(key).0, keyBytes(key).1]
                sum &+= try walk(&cursor, length, isOnEntry: try cursor.seek(bytes.span.bytes))
            }
        }
        return sum
    }

    /// Reads `length` entries, from that of `cursor` on.
    @inline(__always)
    private func walk<Key>(_ cursor: inout Cursor<Key>, _ length: Int, isOnEntry: Bool) throws -> UInt64 {
        var (sum, left, isOnEntry): (UInt64, Int, Bool) = (0, length, isOnEntry)
        while isOnEntry && left > 0 {
            sum &+= try cursor.withValue { first($0) }
            left -= 1
            if left > 0 { isOnEntry = try cursor.next() }
        }
        return sum
    }

    func reader() throws -> any KeyValueContender { self }

    func checkpoint() throws { _ = try database.checkpoint(.full) }

    func compactAndClose() throws {
        try database.close()
        try Database.compact(at: path)
    }

    func close() throws { try database.close() }
}

@inline(__always)
private func first(_ value: RawSpan) -> UInt64 {
    value.withUnsafeBytes { firstBytes($0.baseAddress, $0.count) }
}
