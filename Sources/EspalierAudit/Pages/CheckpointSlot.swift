// FileFormat.md, section 2: the checkpoint slots, and the choice of the valid slot that is newest.

/// The state of the whole store, as the newest commit or a checkpoint records it.
struct StoreState: Equatable {
    var transaction: UInt64
    var pageCount: UInt32
    var freePageCount: UInt32
    var catalogRoot: UInt32
    var nextTree: UInt32

    /// The reason why a store cannot have this state, or `nil`: rule 12 for slots, rule 63 for commit records.
    var impossibility: String? {
        if pageCount < 3 { return "a page count of \(pageCount)" }
        if freePageCount >= pageCount { return "\(freePageCount) free pages of \(pageCount)" }
        if catalogRoot <= 1 || catalogRoot >= pageCount { return "page \(catalogRoot) as root of the catalog" }
        if nextTree < 2 { return "\(nextTree) as the next tree's number" }
        if transaction >= 1 << 62 { return "transaction \(transaction)" }
        return nil
    }
}

/// A valid checkpoint slot.
struct CheckpointSlot {
    static let count = 3

    let sequence: UInt64
    let lsn: UInt64
    let state: StoreState
    let isClosedCleanly: Bool
    let logIdentifier: [UInt8]
    let firstSegment: UInt64
    let chain: UInt64

    static func offset(of index: Int) -> Int { 512 + 512 * index }

    /// Whether the slot belongs to a copy that has not been written to since: it names the original store.
    var isCopy: Bool { isClosedCleanly && firstSegment == 0 && chain == 0 && logIdentifier.contains { $0 != 0 } }

    /// The slot at `index`, if it is valid.
    init?(_ page0: [UInt8], at index: Int) {
        let block = page0.bytes(Self.offset(of: index)..<Self.offset(of: index) + 512)
        guard block.count == 512, XXH3.hash(block, to: 504) == block.u64(504) else { return nil }
        (sequence, lsn) = (block.u64(0), block.u64(8))
        state = StoreState(
            transaction: block.u64(16), pageCount: block.u32(24), freePageCount: block.u32(28),
            catalogRoot: block.u32(32), nextTree: block.u32(72))
        let flags = block.u32(36)
        isClosedCleanly = flags == 1
        logIdentifier = block.bytes(40..<56)
        (firstSegment, chain) = (block.u64(56), block.u64(64))
        guard state.impossibility == nil, flags <= 1, sequence < 1 << 62, lsn < 1 << 62,
            sequence % UInt64(Self.count) == UInt64(index), block.firstNonzero(in: 76..<504) == nil
        else { return nil }
    }

    /// The newest valid slot.
    ///
    /// Reports invalid slots that a crash cannot explain.
    ///
    /// - Parameter hasLog: whether a log is beside the store. Without a log no writer was active, so no slot can be
    ///   torn, except in a copy.
    static func newest(in page0: [UInt8], hasLog: Bool, _ findings: inout AuditFindings) -> CheckpointSlot? {
        let slots = (0..<count).map { CheckpointSlot(page0, at: $0) }
        guard let newest = slots.compactMap(\.self).max(by: { $0.sequence < $1.sequence }) else {
            findings.add(12, .page(0, offset: offset(of: 0)), "no checkpoint slot is valid")
            return nil
        }
        let next = Int((newest.sequence + 1) % UInt64(count))
        let mayBeTorn = hasLog || newest.isCopy
        for index in 0..<count where slots[index] == nil && !(mayBeTorn && index == next) {
            findings.add(12, .page(0, offset: offset(of: index)), "checkpoint slot \(index) is not valid")
        }
        return newest
    }
}
