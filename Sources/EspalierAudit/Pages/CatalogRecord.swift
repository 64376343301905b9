// FileFormat.md, section 7: the catalog's record of a tree. Rule 79.

/// A tree as its catalog record describes it.
struct CatalogRecord {
    static let byteCount = 40

    let tree: UInt32
    let root: UInt32
    let hasIntegerKeys: Bool
    let height: Int
    let entryCount: UInt64
    let leafPageCount: UInt64
    let name: [UInt8]

    /// The name as text.
    var title: String { String(decoding: name, as: UTF8.self) }

    init(name: [UInt8], _ bytes: [UInt8], _ state: StoreState) throws(Breach) {
        guard bytes.count == Self.byteCount else { throw Breach(79, 0, "a record of \(bytes.count) bytes") }
        self.name = name
        (tree, root) = (bytes.u32(0), bytes.u32(4))
        hasIntegerKeys = bytes.u8(8) == 1
        height = bytes.u16(10)
        (entryCount, leafPageCount) = (bytes.u64(16), bytes.u64(24))
        guard tree >= 2, tree < state.nextTree else { throw Breach(79, 0, "a tree with the number \(tree)") }
        guard root > 1, root < state.pageCount else { throw Breach(79, 4, "page \(root) as root") }
        guard [1, 2].contains(bytes.u8(8)) else { throw Breach(79, 8, "\(bytes.u8(8)) as kind of keys") }
        guard bytes.u8(9) == 0, bytes.u32(12) == 0 else { throw Breach(79, 9, "flags or reserved bytes not zero") }
        guard (1...TreeFrame.levelCountMax).contains(height) else { throw Breach(79, 10, "a height of \(height)") }
        guard bytes.u64(32) <= state.transaction else {
            throw Breach(79, 32, "transaction \(bytes.u64(32)), which is later than the newest one")
        }
        guard String(validating: name, as: UTF8.self) != nil else { throw Breach(79, 0, "a name that is not UTF-8") }
    }
}
