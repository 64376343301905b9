// Entries of trees of either kind under byte keys: a key of an integer tree is its eight bytes, big-endian.

package import EspalierEngine

extension UInt64 {
    /// The number whose bytes, big-endian, are `bytes`.
    package init(bigEndian bytes: [UInt8]) { self = bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

extension KeyRange<UInt64> {
    /// The interval between the numbers whose bytes are the ends of `range`.
    package init(bigEndian range: KeyRange<[UInt8]>) {
        func number(_ bound: KeyBound<[UInt8]>) -> KeyBound<UInt64> {
            switch bound {
            case .unbounded: .unbounded
            case .including(let key): .including(UInt64(bigEndian: key))
            case .excluding(let key): .excluding(UInt64(bigEndian: key))
            }
        }
        self.init(from: number(range.lower), to: number(range.upper))
    }
}

extension ReadTransaction {
    /// The value of `key`, or `nil`.
    package func get(_ key: [UInt8], from tree: AnyTree) throws(StorageError) -> [UInt8]? {
        switch tree {
        case .integers(let tree): try get(UInt64(bigEndian: key), from: tree)
        case .bytes(let tree): try get(key, from: tree)
        }
    }
}

extension WriteTransaction {
    /// The tree called `name`; this method creates the tree if it does not exist.
    package mutating func tree(named name: String, orCreate kind: KeyKind) throws(StorageError) -> AnyTree {
        if let tree = try tree(named: name) { return tree }
        return try createTree(named: name, kind: kind)
    }

    /// The value of `key`, or `nil`.
    package func get(_ key: [UInt8], from tree: AnyTree) throws(StorageError) -> [UInt8]? {
        switch tree {
        case .integers(let tree): try get(UInt64(bigEndian: key), from: tree)
        case .bytes(let tree): try get(key, from: tree)
        }
    }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    package mutating func put(
        _ value: [UInt8], for key: [UInt8], in tree: AnyTree
    ) throws(StorageError) -> Bool {
        switch tree {
        case .integers(let tree): try put(value, for: UInt64(bigEndian: key), in: tree)
        case .bytes(let tree): try put(value, for: key, in: tree)
        }
    }

    /// Calls `body` with the bytes of the value of `key`; returns whether the key exists.
    @discardableResult
    package mutating func withMutableValue(
        of key: [UInt8], in tree: AnyTree, _ body: (inout MutableRawSpan) -> Void
    ) throws(StorageError) -> Bool {
        switch tree {
        case .integers(let tree): try withMutableValue(of: UInt64(bigEndian: key), in: tree, body)
        case .bytes(let tree): try withMutableValue(of: key, in: tree, body)
        }
    }

    /// Removes `key`; returns whether it existed.
    @discardableResult
    package mutating func remove(_ key: [UInt8], from tree: AnyTree) throws(StorageError) -> Bool {
        switch tree {
        case .integers(let tree): try remove(UInt64(bigEndian: key), from: tree)
        case .bytes(let tree): try remove(key, from: tree)
        }
    }

    /// Removes the entries whose keys are in `keys`; returns how many it removed.
    @discardableResult
    package mutating func removeAll(
        _ keys: KeyRange<[UInt8]>, from tree: AnyTree
    ) throws(StorageError) -> UInt64 {
        switch tree {
        case .integers(let tree): try removeAll(KeyRange(bigEndian: keys), from: tree)
        case .bytes(let tree): try removeAll(keys, from: tree)
        }
    }

    /// Fills an empty tree with entries whose keys ascend; returns how many it wrote.
    @discardableResult
    package mutating func load(
        _ entries: [([UInt8], [UInt8])], into tree: AnyTree
    ) throws(StorageError) -> UInt64 {
        switch tree {
        case .integers(let tree): try load(entries.lazy.map { (UInt64(bigEndian: $0.0), $0.1) }, into: tree)
        case .bytes(let tree): try load(entries, into: tree)
        }
    }
}
