// Page 0 as bytes: the superblock, its copy and the checkpoint slots, with all problems in them.
//
// Invariants
//   1. A page 0 that the engine has written has no problems, even after a crash at any moment.
//   2. Any flipped bit in it is a problem, unless it is in the one slot that a crash may have torn.

import EspalierEngine

/// The first page of a store.
struct Page0 {
    /// An error in page 0.
    struct Problem {
        /// The place, and the broken rule of the format.
        let corruption: Corruption
        /// A complete sentence.
        let text: String

        fileprivate init(_ rule: CorruptionRule, at byteOffset: Int, _ sentence: String) {
            corruption = Corruption(
                page: 0, treeID: 0, byteOffset: UInt32(byteOffset), rule: rule, file: .store)
            text = "Page 0 is damaged at byte \(byteOffset): \(sentence)."
        }
    }

    /// The superblock, or its copy; `nil` if both are damaged.
    let superblock: Superblock?
    /// The newest valid checkpoint slot; `nil` if none is valid.
    let newestSlot: CheckpointSlot?
    /// The errors in this page.
    private(set) var problems: [Problem] = []

    private let bytes: [UInt8]

    /// Reads the first bytes of a file.
    ///
    /// - Parameters:
    ///   - bytes: as many bytes as the largest page has, or all bytes of a shorter file.
    ///   - hasLog: whether there is a log next to the file, so that a crash may have torn a slot.
    /// - Throws: the reason why the file is not a store, if neither the superblock nor its copy identifies it as one.
    init(_ bytes: [UInt8], hasLog: Bool) throws(StorageError) {
        self.bytes = bytes
        let copy = try? Self.superblock(in: bytes, at: SuperblockLayout.mirror)
        var failure: StorageError?
        do throws(StorageError) {
            superblock = try Self.superblock(in: bytes, at: 0)
        } catch {
            guard copy != nil || error == .opening(.notAStore(.damagedSuperblock)) else { throw error }
            (superblock, failure) = (copy, error)
        }
        newestSlot = Self.newestSlot(in: bytes)
        findSuperblockProblems(failure, hasCopy: copy != nil)
        findSlotProblems(hasLog: hasLog)
        findStrayBytes()
    }

    private mutating func findSuperblockProblems(_ failure: StorageError?, hasCopy: Bool) {
        if failure != nil {
            let rest = hasCopy ? "is intact" : "is damaged too, so the page size is taken to be 4,096"
            problems.append(
                Problem(
                    .superblockChecksum, at: 0,
                    "the superblock does not match its checksum; its copy at byte \(SuperblockLayout.mirror) \(rest)"))
        } else if range(SuperblockLayout.mirror) != range(0) {
            problems.append(
                Problem(.superblockMirror, at: SuperblockLayout.mirror, CorruptionRule.superblockMirror.description))
        }
    }

    /// Adds the slots that are neither valid nor the one that was being written when the machine stopped.
    ///
    /// Without a log no slot was being written, except in a copy that was never opened for writing.
    private mutating func findSlotProblems(hasLog: Bool) {
        let count = SuperblockLayout.slots.count
        let next = newestSlot.map { Int(($0.sequence + 1) % UInt64(count)) }
        for (index, offset) in SuperblockLayout.slots.enumerated() {
            let isTorn = index == next && (hasLog || newestSlot?.isUntouchedCopy == true)
            guard !isTorn, slot(at: offset)?.byteOffset != offset else { continue }
            problems.append(
                Problem(.noValidSlot, at: offset, "checkpoint slot \(Self.name(ofSlot: index)) is not valid"))
        }
        if newestSlot == nil {
            problems.append(
                Problem(.noValidSlot, at: SuperblockLayout.slots[0], CorruptionRule.noValidSlot.description))
        }
    }

    private mutating func findStrayBytes() {
        let rest = bytes.prefix(superblock?.pageSize ?? 0).dropFirst(SuperblockLayout.usedByteCount)
        if let stray = rest.firstIndex(where: { $0 != 0 }) {
            problems.append(Problem(.pageReserved, at: stray, CorruptionRule.pageReserved.description))
        }
    }

    private func range(_ offset: Int) -> ArraySlice<UInt8> {
        ArraySlice([UInt8](bytes.dropFirst(offset).prefix(SuperblockLayout.byteCount)))
    }

    /// The checkpoint slot that begins at `offset`, if it is valid.
    func slot(at offset: Int) -> CheckpointSlot? {
        // SAFETY: reading any initialized bytes is safe; only the span's element type is lost.
        unsafe CheckpointSlot(decoding: bytes.span.bytes, at: offset)
    }

    /// The letter of a slot.
    static func name(ofSlot index: Int) -> String { String("ABCDEFGH".dropFirst(index).prefix(1)) }

    private static func superblock(in bytes: [UInt8], at offset: Int) throws(StorageError) -> Superblock {
        let slice = [UInt8](bytes.dropFirst(offset))
        // SAFETY: reading any initialized bytes is safe; only the span's element type is lost.
        return try unsafe Superblock(decoding: slice.span.bytes)
    }

    private static func newestSlot(in bytes: [UInt8]) -> CheckpointSlot? {
        // SAFETY: reading any initialized bytes is safe; only the span's element type is lost.
        try? unsafe CheckpointSlot.newest(in: bytes.span.bytes)
    }
}
