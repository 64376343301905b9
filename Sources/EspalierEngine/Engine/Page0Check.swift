// The integrity check of page 0: the superblock, its copy, the slots, and the bytes that are always zero.
//
// Invariants
//   1. A page 0 that the engine wrote has no findings, at whatever moment a crash occurred: the slot that was being
//      written may be torn, if there is a log beside the store or the store is an untouched copy.

/// The check of page 0.
enum Page0Check {
    /// The broken rules of page 0 of the store of `engine`.
    static func findings(_ engine: Engine) throws(StorageError) -> [Corruption] {
        let page = ScratchBytes(byteCount: engine.superblock.pageSize)
        let hasLog = try engine.entry.log.identity(role: .log) != nil
        // Another process may be writing a slot, but will finish soon; in this process the lock keeps slots whole.
        var retry = TornReadRetry(engine.files.store)
        while true {
            let count = try engine.checkpointLock.withLock { () throws(StorageError) in
                try page.read(0..<page.byteCount, from: engine.files.store, at: 0)
            }
            let found = page.with(0..<count) { findings($0, hasLog: hasLog) }
            guard !found.isEmpty, engine.files.mayChangeUnderneath, retry.shouldReadAgain() else { return found }
        }
    }

    private static func findings(_ page: RawSpan, hasLog: Bool) -> [Corruption] {
        guard page.byteCount >= SuperblockLayout.usedByteCount else { return [corruption(.superblockField, at: 0)] }
        var found: [Corruption] = []
        if (try? Superblock(decoding: page)) == nil {
            found.append(corruption(.superblockChecksum, at: 0))
        } else if page.loadBytes(at: 0, count: SuperblockLayout.byteCount)
            != page.loadBytes(at: SuperblockLayout.mirror, count: SuperblockLayout.byteCount)
        {
            found.append(corruption(.superblockMirror, at: SuperblockLayout.mirror))
        }
        let slots = SuperblockLayout.slots.map { place in
            CheckpointSlot(decoding: page, at: place).flatMap { $0.byteOffset == place ? $0 : nil }
        }
        let newest = slots.compactMap(\.self).max { $0.sequence < $1.sequence }
        let mayBeTorn = newest.map { (hasLog || $0.isUntouchedCopy) ? ($0.sequence + 1) % UInt64(slots.count) : .max }
        for (index, place) in SuperblockLayout.slots.enumerated() where slots[index] == nil {
            if UInt64(index) != mayBeTorn { found.append(corruption(.noValidSlot, at: place)) }
        }
        if !page.isZero(in: SuperblockLayout.usedByteCount..<page.byteCount) {
            found.append(corruption(.pageReserved, at: SuperblockLayout.usedByteCount))
        }
        return found
    }

    private static func corruption(_ rule: CorruptionRule, at offset: Int) -> Corruption {
        Corruption(page: FixedPlace.superblock, treeID: 0, byteOffset: UInt32(offset), rule: rule, file: .store)
    }
}
