// FileFormat.md, section 4: the sub-header and fences of a tree page, and the areas of slots and cells. Rules 21 to 24.

/// The parts of a tree page around its cells.
struct TreeFrame {
    static let slotsOffset = 48
    static let levelCountMax = 24

    let pageSize: Int
    let hasIntegerKeys: Bool
    let isLeaf: Bool
    let cellCount: Int
    let fragmentByteCount: Int
    let prefix: [UInt8]
    let fences: KeyInterval
    let contentStart: Int
    let contentEnd: Int

    /// The longest key of a bytes tree, in bytes.
    static func keyByteCountMax(_ pageSize: Int) -> Int { (pageSize - 96) / 4 }
    /// The longest cell together with its slot, in bytes.
    static func cellByteCountMax(_ pageSize: Int) -> Int { pageSize / 4 }

    init(_ page: [UInt8], _ header: PageHeader, hasIntegerKeys: Bool, isLeaf: Bool) throws(Breach) {
        pageSize = page.count
        (self.hasIntegerKeys, self.isLeaf) = (hasIntegerKeys, isLeaf)
        (cellCount, contentStart) = (header.cellCount, header.contentStart)
        fragmentByteCount = page.u16(32)
        let (lowCount, highCount) = (page.u16(40), page.u16(42))
        if header.isRoot, lowCount != 0 || highCount != 0 { throw Breach(22, 40, "a root has a fence") }
        if hasIntegerKeys {
            contentEnd = page.count - 16
            fences = try Self.integerFences(page, lowCount, highCount)
            prefix = []
        } else {
            if max(lowCount, highCount) > Self.keyByteCountMax(page.count) {
                throw Breach(22, lowCount > highCount ? 40 : 42, "a fence is longer than the longest possible key")
            }
            contentEnd = page.count - lowCount - highCount
            let low = page.bytes(contentEnd..<contentEnd + lowCount)
            let high = page.bytes(page.count - highCount..<page.count)
            fences = KeyInterval(
                low: lowCount == 0 ? nil : .bytes(low), high: highCount == 0 ? nil : .bytes(high))
            prefix = Self.commonBeginning(low, high)
        }
        if let low = fences.low, let high = fences.high, !(low < high) {
            throw Breach(23, 40, "the low fence is not below the high one")
        }
        if page.u16(34) != prefix.count {
            throw Breach(24, 34, "the prefix has \(page.u16(34)) bytes, but the fences share \(prefix.count)")
        }
        guard slotsEnd <= contentStart, contentStart <= contentEnd else {
            throw Breach(21, 30, "slots end at \(slotsEnd), but the content is from \(contentStart) to \(contentEnd)")
        }
    }

    private static func integerFences(_ page: [UInt8], _ low: Int, _ high: Int) throws(Breach) -> KeyInterval {
        func fence(_ offset: Int, _ byteCount: Int, _ field: Int) throws(Breach) -> Key? {
            let value = page.u64(offset)
            guard byteCount == 8 || (byteCount == 0 && value == 0) else {
                throw Breach(22, field, "a fence of \(byteCount) bytes cannot have the value \(value)")
            }
            return byteCount == 8 ? .integer(value) : nil
        }
        return KeyInterval(low: try fence(page.count - 16, low, 40), high: try fence(page.count - 8, high, 42))
    }

    /// The common prefix of two fences; empty if the page has no high fence.
    private static func commonBeginning(_ low: [UInt8], _ high: [UInt8]) -> [UInt8] {
        Array(zip(low, high).prefix { $0.0 == $0.1 }.map(\.0))
    }

    /// The bytes of slots per entry.
    var slotByteCount: Int { hasIntegerKeys ? (isLeaf ? 10 : 12) : 8 }
    var slotsEnd: Int { Self.slotsOffset + cellCount * slotByteCount }

    /// The offset of the slot, or of its first part on an integer page.
    func slotOffset(_ index: Int) -> Int { Self.slotsOffset + index * 8 }
    /// The offset of the second part of a slot on an integer page.
    func secondOffset(_ index: Int) -> Int { Self.slotsOffset + cellCount * 8 + index * (isLeaf ? 2 : 4) }
}
