// Keys in memory of their own: separators that will be inserted into a parent, and keys from arrays.
//
// Invariants
//   1. The key of a buffer is valid as long as the buffer, whatever happens to pages meanwhile.

/// A key in memory of its own, such as a separator that will be inserted into a parent.
struct KeyBuffer: ~Copyable {
    private let memory: ScratchPage
    private var count = 0
    private var integer: UInt64 = 0

    /// A buffer for a key of up to `byteCount` bytes.
    init(byteCount: Int) {
        assert(byteCount >= 0, "a key of \(byteCount) bytes")
        memory = ScratchPage(byteCount: max(byteCount, 8))
    }

    /// The key; valid as long as this buffer.
    var key: TreeKey { count < 0 ? TreeKey(integer) : TreeKey(memory.view.bytes(0, count)) }

    /// Stores an integer key.
    mutating func set(_ key: UInt64) { (integer, count) = (key, -1) }

    /// Stores a bytes key: the bytes of `first` followed by those of `second`.
    mutating func set(_ first: ByteString, _ second: ByteString) {
        assert(first.count + second.count <= memory.view.byteCount, "a key of \(first.count) + \(second.count) bytes")
        memory.view.copy(first, to: 0)
        memory.view.copy(second, to: first.count)
        count = first.count + second.count
    }
}

extension KeyBuffer {
    /// Stores a copy of `key`.
    mutating func copy(_ key: TreeKey, isInteger: Bool) {
        if isInteger { set(key.integer) } else { set(key.bytes, key.bytes.dropping(key.bytes.count)) }
    }

    /// Stores the least key of `kind`.
    mutating func setLeast(_ kind: KeyKind) { copy(TreeKey(0), isInteger: kind == .integer) }
}

/// A bytes key with memory of its own.
package struct OwnedKey: ~Copyable {
    private let memory: ScratchPage
    private let count: Int

    /// Copies `bytes`.
    package init(_ bytes: [UInt8]) {
        memory = ScratchPage(byteCount: max(bytes.count, 1))
        count = bytes.count
        // SAFETY: the array outlives this call.
        unsafe bytes.withUnsafeBytes { unsafe memory.view.copy(ByteString($0), to: 0) }
    }

    /// The key; valid as long as this value.
    package var key: TreeKey { TreeKey(memory.view.bytes(0, count)) }
    /// The XXH3-64 of the bytes.
    package var checksum: UInt64 { Checksum.of(memory.view.bytes(0, count)) }
}
