// The changes of a random run: single entries, intervals, loads, trees.

import EspalierEngine
import TestSupport
import Testing

extension SavepointRun {
    mutating func change(_ write: inout WriteTransaction) throws {
        let (name, kind) = Self.names[number(Self.names.count)]
        let existed = content[name] != nil
        let tree = try write.tree(named: name, orCreate: kind)
        if !existed { content[name] = [:] }
        switch number(20) {
        case 0:
            try write.dropTree(tree)
            content[name] = nil
        case 1: try removeRange(tree, &write)
        case 2, 3: try load(tree, &write)
        case 4...8:
            for _ in 0..<number(40) { try remove(key(kind), tree, &write) }
        case 9:
            let keys = (content[name] ?? [:]).keys.sorted { $0.lexicographicallyPrecedes($1) }
            let changed = keys.prefix(number(60))
            if case .integers(let numbers) = tree, changed.count.isMultiple(of: 2) {
                try change(Array(changed), numbers, &write)
            } else {
                for key in changed { try change(key, tree, &write) }
            }
            try change(key(kind), tree, &write)
        case 10, 11: if case .integers(let numbers) = tree { try rewrite(numbers, &write) }
        default:
            for _ in 0..<number(40) { try put(makeValue(), key(kind), tree, &write) }
        }
    }

    /// Inverts every bit of a value in place.
    private mutating func change(_ key: [UInt8], _ tree: AnyTree, _ write: inout WriteTransaction) throws {
        let existed = try write.withMutableValue(of: key, in: tree) { $0.flip() }
        #expect(existed == (content[tree.name]?[key] != nil))
        if let value = content[tree.name]?[key] { content[tree.name]?[key] = value.map { ~$0 } }
    }

    /// Inverts every bit of the values of ascending keys, which exist, in one walk.
    private mutating func change(_ keys: [[UInt8]], _ tree: Tree<UInt64>, _ write: inout WriteTransaction) throws {
        var visited: [Int] = []
        try write.withMutableValues(of: keys.map { UInt64(bigEndian: $0) }, in: tree) {
            (position: Int, value: inout MutableRawSpan) throws(Failure) -> Bool in
            value.flip()
            visited.append(position)
            return true
        }
        #expect(visited == Array(keys.indices))
        for key in keys {
            if let value = content[tree.name]?[key] { content[tree.name]?[key] = value.map { ~$0 } }
        }
    }

    /// An error of the engine; the closures of walks throw none of their own.
    private struct Failure: StorageFailure {
        let error: StorageError
        init(_ error: StorageError) { self.error = error }
    }

    /// Rewrites a tree: about half of the entries keep their values, and some are removed.
    private mutating func rewrite(_ tree: Tree<UInt64>, _ write: inout WriteTransaction) throws {
        var expected: [[UInt8]: [UInt8]] = [:]
        let values = (0..<8).map { _ in makeValue() }
        var chance = chance
        try write.rewrite(tree) {
            (number: UInt64, value: RawSpan, new: inout [UInt8]) throws(Failure) -> RewrittenEntry in
            let key = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
            switch Int.random(in: 0..<8, using: &chance) {
            case 0: return .removed
            case 1...3:
                let bytes = values.randomElement(using: &chance) ?? []
                expected[key] = bytes
                new = bytes
                return .replaced(byteCount: bytes.count)
            default:
                expected[key] = value.loadBytes(at: 0, count: value.byteCount)
                return .kept
            }
        }
        self.chance = chance
        content[tree.name] = expected
        try expectSame(write)
    }

    private mutating func put(_ value: [UInt8], _ key: [UInt8], _ tree: AnyTree, _ write: inout WriteTransaction) throws
    {
        let replaced = try write.put(value, for: key, in: tree)
        #expect(replaced == (content[tree.name]?.updateValue(value, forKey: key) != nil))
    }

    private mutating func remove(_ key: [UInt8], _ tree: AnyTree, _ write: inout WriteTransaction) throws {
        let existed = try write.remove(key, from: tree)
        #expect(existed == (content[tree.name]?.removeValue(forKey: key) != nil))
    }

    private mutating func removeRange(_ tree: AnyTree, _ write: inout WriteTransaction) throws {
        let (low, high) = (bound(tree.kind), bound(tree.kind))
        let removed = try write.removeAll(KeyRange(from: low, to: high), from: tree)
        let gone = (content[tree.name] ?? [:]).keys.filter { key in
            let isAbove =
                switch low {
                case .unbounded: true
                case .including(let bound): !key.lexicographicallyPrecedes(bound)
                case .excluding(let bound): bound.lexicographicallyPrecedes(key)
                }
            return switch high {
            case .unbounded: isAbove
            case .including(let bound): isAbove && !bound.lexicographicallyPrecedes(key)
            case .excluding(let bound): isAbove && key.lexicographicallyPrecedes(bound)
            }
        }
        for key in gone { content[tree.name]?[key] = nil }
        #expect(removed == UInt64(gone.count))
    }

    private mutating func bound(_ kind: KeyKind) -> KeyBound<[UInt8]> {
        switch number(5) {
        case 0: .unbounded
        case 1, 2: .including(key(kind))
        default: .excluding(key(kind))
        }
    }

    /// Loads sorted entries, sometimes into a tree that has entries, sometimes with two that are not in order.
    private mutating func load(_ tree: AnyTree, _ write: inout WriteTransaction) throws {
        if number(3) > 0 {
            #expect(try write.removeAll(from: tree) == UInt64(content[tree.name]?.count ?? 0))
            content[tree.name] = [:]
        }
        let isEmpty = content[tree.name]?.isEmpty ?? true
        let kind = tree.kind
        var keys = Set((0..<number(300)).map { _ in key(kind) }).sorted { $0.lexicographicallyPrecedes($1) }
        let isSorted = keys.count < 2 || number(4) > 0
        if !isSorted { keys.swapAt(keys.count - 1, keys.count / 2 - 1) }
        let entries = keys.map { ($0, makeValue()) }
        do throws(StorageError) {
            let count = try write.load(entries, into: tree)
            #expect(isEmpty && isSorted && count == UInt64(entries.count))
            for (key, value) in entries { content[tree.name]?[key] = value }
        } catch .argument(.treeNotEmpty(let id)) {
            #expect(!isEmpty && id == tree.id)
        } catch .argument(.keysNotAscending) {
            #expect(isEmpty && !isSorted)
        }
    }

    /// Puts two large values, removes the first, and usually shrinks the store, which moves the second to the front.
    mutating func moveLarge(_ write: inout WriteTransaction) throws {
        let tree = try write.tree(named: "films", orCreate: .integer)
        if content["films"] == nil { content["films"] = [:] }
        for key in UInt64(0)..<2 {
            try put(LargeValues.largest(UInt8(number(256))), (0..<8).map { $0 == 7 ? UInt8(key) : 0 }, tree, &write)
        }
        try remove([UInt8](repeating: 0, count: 8), tree, &write)
        if number(4) > 0 { try write.shrink(movingAtMost: 1 << 20) }
    }

    // MARK: Keys and values

    private mutating func key(_ kind: KeyKind) -> [UInt8] {
        let number = UInt64(number(2000))
        if kind == .bytes { return bytes("\(number % 7) key \(number)") }
        return (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    private mutating func makeValue() -> [UInt8] {
        let byteCount = [0, 10, 100, 100, 400, 400, 900, 9000][number(8)]
        return [UInt8](repeating: UInt8(number(256)), count: byteCount)
    }
}
